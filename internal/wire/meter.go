package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

const (
	// stallSteps is how many times in a stall a blocked write looks for room by
	// itself: systems report a socket as writable only once much of its buffer is
	// free, which takes a slow peer long.
	stallSteps = 8
	// tlsRecord is the most that one TLS record holds. A TLS connection cannot go
	// on after a write that timed out, so one record is its unit of progress.
	tlsRecord = 16 << 10
	// waited is the time above which a write is taken to have waited for the peer,
	// whose side then has taken bytes.
	waited = 20 * time.Millisecond
)

// meter is the net.Conn under a WebSocket. It sees bytes, of which messages are
// made too late: those that came in and those that went out after a wait both
// prove that the peer lives. Its writes have no deadline but progress: they fail
// when the peer took nothing for a whole stall.
type meter struct {
	net.Conn
	start time.Time
	unit  int // largest piece to write in one call, 0 for any

	// stall is the time without progress after which a write fails; while it is 0
	// deadlines are the caller's, as the upgrade needs them.
	stall   atomic.Int64
	reading atomic.Bool  // somebody waits in Read
	alive   atomic.Int64 // last sign of life, since start
}

func newMeter(c net.Conn) *meter {
	m := &meter{Conn: c, start: time.Now()}
	if _, ok := c.(*tls.Conn); ok {
		m.unit = tlsRecord
	}
	tuneSocket(c)
	return m
}

// guard begins to measure writes by progress.
func (m *meter) guard(stall time.Duration) { m.stall.Store(int64(stall)) }

func (m *meter) sign() { m.alive.Store(int64(time.Since(m.start))) }

// lastAlive returns the last sign of life. While nobody reads, silence is this
// side's doing and proves nothing about the peer.
func (m *meter) lastAlive() time.Time {
	if !m.reading.Load() {
		return time.Now()
	}
	return m.start.Add(time.Duration(m.alive.Load()))
}

func (m *meter) Read(p []byte) (int, error) {
	m.sign()
	m.reading.Store(true)
	n, err := m.Conn.Read(p)
	if n > 0 {
		m.sign()
	}
	m.reading.Store(false)
	return n, err
}

// SetWriteDeadline leaves writes to the guard once it is on.
func (m *meter) SetWriteDeadline(t time.Time) error {
	if m.stall.Load() != 0 {
		return nil
	}
	return m.Conn.SetWriteDeadline(t)
}

func (m *meter) Write(p []byte) (int, error) {
	stall := time.Duration(m.stall.Load())
	if stall == 0 {
		return m.Conn.Write(p)
	}
	written := 0
	for written < len(p) {
		piece := p[written:]
		if m.unit > 0 && len(piece) > m.unit {
			piece = piece[:m.unit]
		}
		n, err := m.writePiece(piece, stall)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// writePiece writes p as long as the peer goes on taking bytes.
func (m *meter) writePiece(p []byte, stall time.Duration) (int, error) {
	step := stall / stallSteps
	if m.unit > 0 {
		step = stall
	}
	written := 0
	last := time.Now()
	for {
		before := time.Now()
		if err := m.Conn.SetWriteDeadline(before.Add(step)); err != nil {
			return written, err
		}
		n, err := m.Conn.Write(p[written:])
		written += n
		now := time.Now()
		if n > 0 {
			last = now
			if now.Sub(before) >= waited {
				m.sign()
			}
		}
		if err == nil {
			return written, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || m.unit > 0 || now.Sub(last) >= stall {
			return written, err
		}
	}
}

// closeSocket closes the socket at once, without a TLS farewell that a stuck peer
// could hold up.
func (m *meter) closeSocket() {
	c := m.Conn
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	// The connection is over whatever this returns.
	_ = c.Close()
}

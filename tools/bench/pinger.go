package main

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// pinger measures round trips of WebSocket pings on a connection that is busy. It
// stands between Foot and Brain, passes every frame on, and puts pings of its own
// between them: at each tick one to either end. The sum of the two round trips
// stands for a ping from end to end: each of them waits in the queue of the end
// that answers and in the sockets on the way. A round trip begins when the ping
// was due, not when the line had room for it, so that a line that is held up
// cannot hide it.
//
// An end that is busy may answer the last of several pings only (RFC 6455,
// section 5.5.3); that answer counts for those before it.
type pinger struct {
	mu     sync.Mutex
	foot   *pingedEnd
	brain  *pingedEnd
	serial uint64
	trips  []time.Duration // of pings that both ends have answered
	halves map[uint64]time.Duration
}

// pingEvery is far above the time of a ping, so that the pings are no load.
const pingEvery = 20 * time.Millisecond

// pingMark begins the payload of the pinger's pings; the peers' own have other
// payloads.
const pingMark = "bench\x00\x00\x00"

// The opcodes and flags of RFC 6455, section 5.2.
const (
	opcodeBits = 0x0f
	opcodePong = 0x0a
	finalPing  = 0x89
	maskBit    = 0x80
)

// pingedEnd is the line to one end. Frames of the other end and pings take turns.
type pingedEnd struct {
	mu     sync.Mutex
	conn   net.Conn
	masked bool // the end is a server, which takes masked frames only

	unanswered []duePing // in order; guarded by the pinger
}

type duePing struct {
	serial uint64
	due    time.Time
}

// between listens for one Foot and returns the URL for it.
func (p *pinger) between(s *stage, brainURL string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.atEnd(l.Close)
	go func() {
		for {
			foot, err := l.Accept()
			if err != nil {
				return // the stage is over
			}
			brain, err := net.Dial("tcp", strings.TrimPrefix(brainURL, "http://"))
			if err != nil {
				note("the pinger cannot reach the Brain: %v", err)
				_ = foot.Close() // the Foot tells what it thinks of that
				continue
			}
			p.serve(foot, brain)
		}
	}()
	return "http://" + l.Addr().String(), nil
}

// proxyBuffer is what the system may hold for the proxy on each socket, in bytes.
// Without the proxy there is one queue between the ends and not three; the two
// that it adds are kept so small that hardly anything waits in them.
const proxyBuffer = 64 << 10

func (p *pinger) serve(foot, brain net.Conn) {
	for _, c := range []net.Conn{foot, brain} {
		if tcp, ok := c.(*net.TCPConn); ok {
			if err := errors.Join(tcp.SetReadBuffer(proxyBuffer), tcp.SetWriteBuffer(proxyBuffer)); err != nil {
				note("the pinger's buffers keep their size: %v", err)
			}
		}
	}
	toFoot, toBrain := &pingedEnd{conn: foot}, &pingedEnd{conn: brain, masked: true}
	p.mu.Lock()
	p.foot, p.brain = toFoot, toBrain
	p.mu.Unlock()
	pass := func(from, to *pingedEnd) {
		// The end of either way is the end of both, and nobody's error here.
		_ = p.pass(bufio.NewReaderSize(from.conn, proxyBuffer), from, to)
		_ = foot.Close()
		_ = brain.Close()
	}
	go pass(toFoot, toBrain)
	go pass(toBrain, toFoot)
}

// pass passes on the HTTP head of the upgrade, then frame by frame, but for the
// pongs that answer the pinger.
func (p *pinger) pass(in *bufio.Reader, from, to *pingedEnd) error {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if _, err := to.conn.Write(line); err != nil {
			return err
		}
		if len(line) <= len("\r\n") {
			break
		}
	}
	for {
		if err := p.passFrame(in, from, to); err != nil {
			return err
		}
	}
}

func (p *pinger) passFrame(in *bufio.Reader, from, to *pingedEnd) error {
	head, length, err := frameHead(in)
	if err != nil {
		return err
	}
	if head[0]&opcodeBits == opcodePong {
		payload := make([]byte, length)
		if _, err := io.ReadFull(in, payload); err != nil {
			return err
		}
		if serial, ours := pongSerial(head, payload); ours {
			p.answered(from, serial)
			return nil
		}
		return to.write(head, payload)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if _, err := to.conn.Write(head); err != nil {
		return err
	}
	_, err = io.CopyN(to.conn, onlyReader{in}, length)
	return err
}

// onlyReader hides WriteTo, with which a copy would read beyond the frame.
type onlyReader struct{ io.Reader }

// frameHead reads a frame up to its payload and returns it with the payload's
// length (RFC 6455, section 5.2).
func frameHead(from *bufio.Reader) (head []byte, length int64, err error) {
	head = make([]byte, 2, 14)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, 0, err
	}
	extended := map[byte]int{126: 2, 127: 8}[head[1]&^maskBit]
	rest := extended
	if head[1]&maskBit != 0 {
		rest += 4
	}
	head = head[:2+rest]
	if _, err := io.ReadFull(from, head[2:]); err != nil {
		return nil, 0, err
	}
	switch extended {
	case 2:
		length = int64(binary.BigEndian.Uint16(head[2:]))
	case 8:
		length = int64(binary.BigEndian.Uint64(head[2:]))
	default:
		length = int64(head[1] &^ maskBit)
	}
	if length < 0 {
		return nil, 0, errors.New("a frame of a negative length")
	}
	return head, length, nil
}

func (e *pingedEnd) write(parts ...[]byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	buffers := net.Buffers(parts)
	_, err := buffers.WriteTo(e.conn)
	return err
}

// ping sends one ping with that serial.
func (e *pingedEnd) ping(serial uint64) error {
	payload := binary.BigEndian.AppendUint64([]byte(pingMark), serial)
	head := []byte{finalPing, byte(len(payload))}
	if e.masked {
		head[1] |= maskBit
		head = append(head, make([]byte, 4)...)
		rand.Read(head[2:]) // never fails, as of Go 1.24
		mask(payload, head[2:])
	}
	return e.write(head, payload)
}

func mask(payload, key []byte) {
	for i := range payload {
		payload[i] ^= key[i%4]
	}
}

// pongSerial reads the serial of a pong that answers the pinger.
func pongSerial(head, payload []byte) (serial uint64, ours bool) {
	text := payload
	if head[1]&maskBit != 0 {
		text = append([]byte(nil), payload...)
		mask(text, head[2:6])
	}
	digits, ours := strings.CutPrefix(string(text), pingMark)
	if !ours || len(digits) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64([]byte(digits)), true
}

// answered notes that an end answered its pings up to a serial.
func (p *pinger) answered(end *pingedEnd, serial uint64) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(end.unanswered) > 0 && end.unanswered[0].serial <= serial {
		p.half(end.unanswered[0].serial, now.Sub(end.unanswered[0].due))
		end.unanswered = end.unanswered[1:]
	}
}

// half adds the round trip to one of the ends.
func (p *pinger) half(serial uint64, took time.Duration) {
	other, second := p.halves[serial]
	if !second {
		p.halves[serial] = took
		return
	}
	delete(p.halves, serial)
	p.trips = append(p.trips, other+took)
}

// start begins to ping. What it returns ends that.
func (p *pinger) start() (stop func()) {
	p.mu.Lock()
	p.halves, p.trips = map[uint64]time.Duration{}, nil
	p.mu.Unlock()
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(pingEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case due := <-tick.C:
				if p.ping(due) != nil {
					return // the line is gone, and the transfers fail with it
				}
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

func (p *pinger) ping(due time.Time) error {
	p.mu.Lock()
	p.serial++
	next, ends := duePing{p.serial, due}, []*pingedEnd{p.foot, p.brain}
	for _, end := range ends {
		end.unanswered = append(end.unanswered, next)
	}
	p.mu.Unlock()
	return errors.Join(ends[0].ping(next.serial), ends[1].ping(next.serial))
}

// collect waits a moment for late answers and returns all round trips. An answer
// that does not come counts as that moment, so that a lost ping makes the figure
// worse and not better.
func (p *pinger) collect() []time.Duration {
	const patience = 2 * time.Second
	deadline := time.Now().Add(patience)
	for p.waiting() > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	lost := p.waiting()
	p.mu.Lock()
	defer p.mu.Unlock()
	for range lost {
		p.trips = append(p.trips, patience)
	}
	p.foot.unanswered, p.brain.unanswered = nil, nil
	return p.trips
}

// waiting is how many pings at least one end has not answered.
func (p *pinger) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(len(p.foot.unanswered), len(p.brain.unanswered))
}

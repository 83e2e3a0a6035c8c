// Package peer plays one end of a connection by hand: it sends what it is told,
// byte for byte, keeps what the other end sent, and judges each message by the
// schemas. It shares no code with the connections of Brain and Foot, so that a
// mistake there is not made here as well.
package peer

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

// Subprotocol is the WebSocket subprotocol of the frames.
const Subprotocol = "vancetope.v1"

// maxMessage is the largest message that is read, above what any peer may send.
const maxMessage = 80 << 20

// ErrNone says that what was awaited did not come.
var ErrNone = errors.New("none came in time")

// Message is one message of the peer under test.
type Message struct {
	Raw   []byte
	At    time.Time
	Frame frames.Frame // nil where Raw is none that this end may receive
	taken bool
}

// Conn is one connection with the peer under test.
type Conn struct {
	Request  *http.Request   // of a Foot that connected
	Welcome  *frames.Welcome // of a Brain, once awaited
	Hello    *frames.Hello   // of a Foot, once awaited
	Response *http.Response  // of a Brain that was dialed

	// Mute stops answering pings, as a dead peer does.
	Mute atomic.Bool

	ws    *websocket.Conn
	write sync.Mutex

	mu         sync.Mutex
	judge      judge
	inbox      []*Message
	violations []string
	changed    chan struct{} // closed and replaced at each news
	pings      []time.Time
	pongs      int
	probes     int
	hold       func(*Message) bool // reading stops after a message that this accepts
	held       bool
	closeErr   error         // why reading ended
	ended      chan struct{} // closed after closeErr is set
	closing    chan struct{} // closed when this end gives up
	closeOnce  sync.Once
}

func newConn(ws *websocket.Conn, j judge) *Conn {
	c := &Conn{ws: ws, judge: j, changed: make(chan struct{}), ended: make(chan struct{}), closing: make(chan struct{})}
	ws.SetReadLimit(maxMessage)
	ws.SetPingHandler(func(text string) error {
		c.note(func() { c.pings = append(c.pings, time.Now()) })
		if c.Mute.Load() {
			return nil
		}
		c.write.Lock()
		defer c.write.Unlock()
		// A peer that does not take its pong ends the connection by itself.
		_ = ws.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(time.Second))
		return nil
	})
	ws.SetPongHandler(func(string) error {
		c.note(func() { c.pongs++ })
		return nil
	})
	go c.read()
	return c
}

// note changes the state and wakes whoever waits.
func (c *Conn) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Conn) read() {
	defer close(c.ended)
	for {
		kind, raw, err := c.ws.ReadMessage()
		if err != nil {
			c.note(func() { c.closeErr = err })
			_ = c.ws.Close() // nothing more can come or go
			return
		}
		m := &Message{Raw: raw, At: time.Now()}
		c.note(func() {
			if kind != websocket.TextMessage {
				c.violations = append(c.violations, fmt.Sprintf("sent a binary message of %d bytes", len(raw)))
				return
			}
			frame, problem := c.judge.read(raw)
			if problem != "" {
				c.violations = append(c.violations, problem)
			}
			m.Frame = frame
			c.inbox = append(c.inbox, m)
			c.held = c.hold != nil && c.hold(m)
		})
		c.awaitRelease()
	}
}

// HoldAfter stops reading after the next message that match accepts, so that the
// peer cannot send more than the buffers on the way hold. Release goes on.
func (c *Conn) HoldAfter(match func(*Message) bool) { c.note(func() { c.hold = match }) }

// Release goes on reading.
func (c *Conn) Release() { c.note(func() { c.hold, c.held = nil, false }) }

// awaitRelease waits while reading is held. The end of the socket is noticed by the
// next read.
func (c *Conn) awaitRelease() {
	for {
		c.mu.Lock()
		held, changed := c.held, c.changed
		c.mu.Unlock()
		if !held {
			return
		}
		select {
		case <-changed:
		case <-c.closing:
			return
		}
	}
}

// SetFeatures says which extensions are in force from now on.
func (c *Conn) SetFeatures(f frames.FeatureSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.judge.decoder.Features = f
}

// Features are the extensions in force.
func (c *Conn) Features() frames.FeatureSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.judge.decoder.Features
}

// writeTime bounds the sending of one message to a peer that reads nothing.
const writeTime = 20 * time.Second

// SendText sends a text message as it is.
func (c *Conn) SendText(raw []byte) error { return c.send(websocket.TextMessage, raw) }

// SendBinary sends a binary message.
func (c *Conn) SendBinary(raw []byte) error { return c.send(websocket.BinaryMessage, raw) }

func (c *Conn) send(kind int, raw []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	err := c.ws.SetWriteDeadline(time.Now().Add(writeTime))
	if err == nil {
		err = c.ws.WriteMessage(kind, raw)
	}
	if err != nil {
		c.end() // the reader may not have noticed yet
	}
	return err
}

// end closes the socket and waits until the reader is through with what had come.
func (c *Conn) end() {
	c.closeOnce.Do(func() { close(c.closing) })
	_ = c.ws.NetConn().Close() // it is to be broken anyway
	<-c.ended
}

// Send sends a frame, which need not be a valid one.
func (c *Conn) Send(f frames.Frame) error {
	raw, err := f.AppendJSON(nil)
	if err != nil {
		return err
	}
	return c.SendText(raw)
}

// Await takes the first message that match accepts and that was not taken before.
// It fails with ErrNone after limit, or with what ended the connection.
func (c *Conn) Await(limit time.Duration, match func(*Message) bool) (*Message, error) {
	var found *Message
	err := c.until(limit, func() bool {
		for _, m := range c.inbox {
			if !m.taken && match(m) {
				m.taken = true
				found = m
				return true
			}
		}
		return false
	})
	return found, err
}

// until waits until done, which is called with the state locked.
func (c *Conn) until(limit time.Duration, done func() bool) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		c.mu.Lock()
		ok, err, changed := done(), c.closeErr, c.changed
		c.mu.Unlock()
		switch {
		case ok:
			return nil
		case err != nil:
			return fmt.Errorf("the connection ended: %w", err)
		}
		select {
		case <-changed:
		case <-timer.C:
			return ErrNone
		}
	}
}

// Barrier returns once the peer has answered a ping, and so has read all that was
// sent before.
func (c *Conn) Barrier(limit time.Duration) error {
	c.mu.Lock()
	c.probes++
	want := c.probes
	c.mu.Unlock()
	c.write.Lock()
	err := c.ws.WriteControl(websocket.PingMessage, []byte{byte(want)}, time.Now().Add(limit))
	c.write.Unlock()
	if err != nil {
		c.end()
		return err
	}
	return c.until(limit, func() bool { return c.pongs >= want })
}

// AwaitPings returns the times of the peer's first n pings.
func (c *Conn) AwaitPings(limit time.Duration, n int) (at []time.Time, err error) {
	err = c.until(limit, func() bool {
		at = append(at[:0], c.pings...)
		return len(c.pings) >= n
	})
	return at, err
}

// Untaken returns the messages that nobody awaited, news of progress apart, and
// takes them.
func (c *Conn) Untaken() []*Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left []*Message
	for _, m := range c.inbox {
		_, news := m.Frame.(*frames.TransferProgress)
		if !m.taken && !news {
			left = append(left, m)
		}
	}
	c.inbox = nil
	return left
}

// Violations returns what was wrong with the messages since the last call.
func (c *Conn) Violations() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.violations
	c.violations = nil
	return found
}

// Alive reports whether the connection is still there.
func (c *Conn) Alive() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// AwaitEnd waits until the peer has ended the connection and returns its close code
// and reason; code 1006 stands for an end without a close frame.
func (c *Conn) AwaitEnd(limit time.Duration) (code int, reason string, err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
		return 0, "", ErrNone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var closed *websocket.CloseError
	if errors.As(c.closeErr, &closed) {
		return closed.Code, closed.Text, nil
	}
	return websocket.CloseAbnormalClosure, "", nil
}

// Close says goodbye with a code and ends the connection.
func (c *Conn) Close(code int, reason string) {
	c.write.Lock()
	// The peer may be gone already.
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(time.Second))
	c.write.Unlock()
	c.Release()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
		c.Cut()
	}
}

// Cut ends the connection without a word.
func (c *Conn) Cut() { c.end() }

// Of matches frames of one type and transfer.
func Of[F frames.Frame](id common.TransferID) func(*Message) bool {
	return func(m *Message) bool {
		f, ok := m.Frame.(F)
		if !ok {
			return false
		}
		of, named := frames.TransferOf(f)
		return named && of == id
	}
}

// Any matches frames of one type.
func Any[F frames.Frame](m *Message) bool {
	_, ok := m.Frame.(F)
	return ok
}

package wire

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

const (
	// closeGrace bounds the time in which queued control frames and the close
	// frame are written, closeWait the time in which the peer may answer it.
	closeGrace = 2 * time.Second
	closeWait  = 500 * time.Millisecond
	// maxCloseReason is what a close frame has room for.
	maxCloseReason = 123
	// maxErrorText keeps error frames small, whatever went wrong.
	maxErrorText = 1024
)

type role uint8

const (
	roleBrain role = iota
	roleFoot
)

// Conn is one connection after its handshake. Its methods may be called from any
// goroutine; Serve is called once.
type Conn struct {
	cfg   Config
	role  role
	ws    *websocket.Conn
	meter *meter
	out   *outbox

	// decoder and sizeHint belong to the reading goroutine. The hint is the size
	// of recent messages, with which the next one's buffer begins.
	decoder  frames.Decoder
	sizeHint int
	// peerLimit is the largest message the peer accepts, 0 if it did not say.
	peerLimit int64

	done   chan struct{} // closed when frames no longer travel
	gone   chan struct{} // closed when the socket is closed
	hangup sync.Once

	mu     sync.Mutex
	err    error // why, once done is closed
	remote bool  // the peer sent its close frame
	said   bool  // we sent ours
	grace  *time.Timer
	errors errorLimit
}

// newConn takes over an upgraded WebSocket and starts its writer, which ends when the
// connection does.
func newConn(ws *websocket.Conn, m *meter, cfg Config, r role) *Conn {
	c := &Conn{
		cfg:     cfg,
		role:    r,
		ws:      ws,
		meter:   m,
		out:     newOutbox(),
		decoder: frames.Decoder{Buffer: GetBuffer},
		done:    make(chan struct{}),
		gone:    make(chan struct{}),
	}
	m.guard(cfg.stall())
	ws.SetPingHandler(func(payload string) error {
		c.out.putPong(payload)
		return nil
	})
	ws.SetPongHandler(func(string) error { return nil }) // its bytes were seen by the meter
	ws.SetCloseHandler(func(code int, text string) error {
		c.closedByPeer(code, text)
		return nil
	})
	go c.writeLoop()
	return c
}

// SetFeatures sets the extensions in force. It is called before Serve.
func (c *Conn) SetFeatures(f frames.FeatureSet) { c.decoder.Features = f }

// SendControl queues a frame in the control lane. It never waits for the network;
// a full queue closes the connection. A frame that the peer would have to refuse is
// not sent. A transfer_progress takes the place of an unsent one of its transfer.
func (c *Conn) SendControl(f frames.Frame) error {
	if err := f.Validate(); err != nil {
		c.cfg.Log.Error("a frame of our own is invalid", "frame", f.FrameType(), "error", err)
		return fault.Wrap(common.ErrorCodeInternal, err)
	}
	message, err := encode(f)
	if err != nil {
		return err
	}
	if len(message) > MaxControlFrame {
		PutBuffer(message)
		return fault.Newf(common.ErrorCodeInternal, "control frame %s of %d bytes is above %d", f.FrameType(), len(message), MaxControlFrame)
	}
	if news, ok := f.(*frames.TransferProgress); ok {
		err = c.out.putNews(news.TransferID, message)
	} else {
		err = c.out.putControl(message)
	}
	if err == nil {
		return nil
	}
	PutBuffer(message)
	if errors.Is(err, errOverflow) {
		c.cfg.Log.Warn("peer does not read its answers, closing", "frames", maxControlFrames, "bytes", maxControlBytes)
		c.Close(ClosePolicy, "control queue overflow")
	}
	return c.ended()
}

// SendData queues a frame in the data lane. The frame is encoded at once, by the
// caller; then SendData waits until the stream's place in the queue is free, which
// is what holds a sender to the speed of the connection. Frames of one stream
// keep their order, streams take turns. The error is the context's cause,
// ErrDropped, or why the connection ended.
func (c *Conn) SendData(ctx context.Context, stream uuid.UUID, f frames.Frame) error {
	message, err := encode(f)
	if err != nil {
		return err
	}
	if c.peerLimit > 0 && int64(len(message)) > c.peerLimit {
		PutBuffer(message)
		return fault.Newf(common.ErrorCodeInternal, "frame %s of %d bytes is above the peer's limit of %d", f.FrameType(), len(message), c.peerLimit)
	}
	err = c.out.putData(ctx, stream, message)
	if err == nil {
		// While the socket takes frames as fast as they are made, nobody blocks here,
		// and the scheduler would let the same few senders go on for milliseconds.
		runtime.Gosched()
		return nil
	}
	PutBuffer(message)
	if errors.Is(err, errShut) {
		return c.ended()
	}
	return err
}

// DropData forgets what is queued of a stream; a SendData that waits in it returns
// ErrDropped. A frame that is already being written goes out.
func (c *Conn) DropData(stream uuid.UUID) { c.out.drop(stream) }

// SendError tells the peer about a frame that could not be used. At most 50 go out
// in a second; the rest are counted and dropped. Transfer may be nil.
func (c *Conn) SendError(err error, transfer *common.TransferID) {
	f := fault.From(err)
	c.mu.Lock()
	ok, first := c.errors.allow(time.Now())
	c.mu.Unlock()
	if first {
		c.cfg.Log.Warn("too many unusable frames, dropping error frames", "limit", maxErrorsPerSecond, "last", f.Text)
	}
	if !ok {
		return
	}
	// A failure here is the connection's end, which its owner learns from Serve.
	_ = c.SendControl(&frames.ErrorFrame{Code: f.Code, Message: cut(f.Text, maxErrorText), TransferID: transfer})
}

// DroppedErrors returns how many error frames the limit held back.
func (c *Conn) DroppedErrors() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errors.dropped
}

// Close ends the connection in good order: control frames queued before go out,
// then the close frame, then the peer has a moment to answer. It does not wait for
// any of this; Done is closed at once, and Serve returns when it is over. Only the
// first end counts.
func (c *Conn) Close(code int, reason string) {
	reason = cut(reason, maxCloseReason)
	if c.retire(&CloseError{Code: code, Reason: reason}) {
		c.shut(code, reason)
	}
}

// RemoteAddr returns the peer's address, or the proxy's.
func (c *Conn) RemoteAddr() net.Addr { return c.ws.RemoteAddr() }

// Done is closed when the connection stops carrying frames; Err then says why.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Gone is closed when the socket is closed too.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Err returns why the connection ended, nil while it has not: a *CloseError, or a
// fault of code connection_lost.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ended is Err for one who just found the connection shut. The reason is always
// set before the queues are shut.
func (c *Conn) ended() error {
	<-c.done
	return c.Err()
}

// encode returns a frame as a pooled message.
func encode(f frames.Frame) ([]byte, error) {
	room := MaxControlFrame / 64
	if chunk, ok := f.(*frames.TransferChunk); ok {
		room += (len(chunk.Bytes) + 2) / 3 * 4
	}
	buffer := GetBuffer(room)
	message, err := f.AppendJSON(buffer[:0])
	if err != nil {
		PutBuffer(buffer)
		return nil, fault.Wrap(common.ErrorCodeInternal, err)
	}
	return message, nil
}

// retire makes err the reason of the end. Only the first one counts.
func (c *Conn) retire(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.err = err
	close(c.done)
	return true
}

// shut lets the writer say goodbye, for a bounded time.
func (c *Conn) shut(code int, reason string) {
	c.out.end(code, reason)
	c.hangUpAfter(closeGrace)
}

func (c *Conn) hangUpAfter(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.grace != nil {
		c.grace.Stop()
	}
	c.grace = time.AfterFunc(d, c.hangUp)
}

// hangUp closes the socket.
func (c *Conn) hangUp() {
	c.hangup.Do(func() {
		close(c.gone)
		c.out.end(CloseNoStatus, "")
		c.meter.closeSocket()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.grace != nil {
			c.grace.Stop()
		}
	})
}

// lost is the end of the connection by anything but a close frame.
func (c *Conn) lost(err error) {
	c.retire(err)
	c.hangUp()
}

// closedByPeer answers the peer's close frame, or takes it as the answer to ours.
func (c *Conn) closedByPeer(code int, text string) {
	first := c.retire(&CloseError{Code: code, Reason: printable(text), Remote: true})
	c.mu.Lock()
	c.remote = true
	over := c.said
	c.mu.Unlock()
	switch {
	case first:
		c.shut(code, "")
	case over:
		c.hangUp()
	}
}

// closeSent is called by the writer after the close frame.
func (c *Conn) closeSent() {
	c.mu.Lock()
	c.said = true
	over := c.remote
	c.mu.Unlock()
	if over {
		c.hangUp()
		return
	}
	c.hangUpAfter(closeWait)
}

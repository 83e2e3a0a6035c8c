package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// Handler takes what a connection receives. Its methods are called one after the
// other on the reading goroutine and must not wait for disks or people; while they
// run, nothing is read and no ping is answered. Holding one of them is how a
// receiver slows its peer down.
type Handler interface {
	// Handle takes a frame of this role. An error, best a *fault.Error, is
	// answered with an error frame, unless the frame was one itself; it names the
	// transfer that the frame belongs to. The payload of a chunk is the handler's, to be
	// given back with PutBuffer.
	Handle(f frames.Frame) error
	// HandleInvalid takes what is no valid frame for this role. It reports
	// whether it answered the peer itself, as a transfer's failing answer; if
	// not, an error frame goes out.
	HandleInvalid(e *frames.DecodeError) (answered bool)
}

// Serve reads until the connection is over and returns why it ended. When ctx is
// done the connection is closed: a Foot goes away, a Brain restarts.
func (c *Conn) Serve(ctx context.Context, h Handler) error {
	stop := context.AfterFunc(ctx, func() {
		if c.role == roleFoot {
			c.Close(CloseGoingAway, "going away")
		} else {
			c.Close(CloseRestart, "restarting")
		}
	})
	defer stop()
	for c.receive(func(message []byte, kind int) { c.dispatch(h, message, kind) }) {
	}
	<-c.gone
	if n := c.DroppedErrors(); n > 0 {
		c.cfg.Log.Info("error frames dropped on this connection", "count", n)
	}
	return c.Err()
}

// receive reads one message and gives it to use. It reports whether the
// connection can be read further. After the end of the connection messages are
// discarded until the peer has answered the close frame.
func (c *Conn) receive(use func(message []byte, kind int)) bool {
	kind, r, err := c.ws.NextReader()
	if err != nil {
		c.readFailed(err)
		return false
	}
	if c.isDone() {
		return true // NextReader skips the rest
	}
	message, err := c.readAll(r)
	defer PutBuffer(message)
	switch {
	case err == errTooBig:
		c.cfg.Log.Warn("frame above vance.transfer.max-frame-size, closing", "limit", c.cfg.MaxFrameSize)
		c.Close(CloseTooBig, fmt.Sprintf("frame above the limit of %d bytes", c.cfg.MaxFrameSize))
	case err != nil:
		c.readFailed(err)
		return false
	case kind == websocket.TextMessage && !utf8.Valid(message):
		c.Close(CloseInvalidUTF8, "text message is not UTF-8")
	default:
		if c.cfg.Tap != nil && kind == websocket.TextMessage {
			c.cfg.Tap(Received, message)
		}
		use(message, kind)
	}
	return true
}

var errTooBig = errors.New("wire: message above the limit")

// The bounds of the size with which a message's buffer begins.
const (
	minReadBuffer = 4 << 10
	maxReadBuffer = 2 << 20
)

// readAll reads a message into a pooled buffer that grows with what really came,
// whatever the peer announced.
func (c *Conn) readAll(r io.Reader) ([]byte, error) {
	limit := c.cfg.MaxFrameSize
	b := GetBuffer(max(minReadBuffer, min(c.sizeHint, maxReadBuffer)))[:0]
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > limit:
			return b, errTooBig
		case err == io.EOF:
			c.sizeHint = max(len(b)+1, c.sizeHint-c.sizeHint/8)
			return b, nil
		case err != nil:
			return b, err
		case len(b) == cap(b):
			b = growBuffer(b, int(min(2*int64(cap(b)), max(limit, int64(cap(b)))+1)))
		}
	}
}

func (c *Conn) readFailed(err error) {
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
		return // closedByPeer took care of it
	}
	c.lost(lost(err, "reading failed"))
}

func (c *Conn) isDone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// dispatch decodes a message and gives it to the handler.
func (c *Conn) dispatch(h Handler, message []byte, kind int) {
	if kind != websocket.TextMessage {
		c.SendError(fault.Newf(common.ErrorCodeInvalidFrame, "binary message"), nil)
		return
	}
	f, err := c.decode(message)
	if err != nil {
		c.invalid(h, err)
		return
	}
	err = c.handle(h, f)
	if err == nil || f.FrameType() == frames.FrameTypeError {
		return
	}
	if id, ok := frames.TransferOf(f); ok {
		c.SendError(err, &id)
		return
	}
	c.SendError(err, nil)
}

func (c *Conn) decode(message []byte) (frames.Frame, error) {
	if c.role == roleBrain {
		return c.decoder.DecodeForBrain(message)
	}
	return c.decoder.DecodeForFoot(message)
}

// handle keeps a panic of one frame's handler from ending the process and with it
// every other transfer.
func (c *Conn) handle(h Handler, f frames.Frame) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.cfg.Log.Error("handler panicked", "frame", f.FrameType(), "panic", p, "stack", string(debug.Stack()))
			err = fault.New(common.ErrorCodeInternal)
		}
	}()
	return h.Handle(f)
}

// invalid answers what is no valid frame, but never an error frame: two peers that
// misunderstand each other must not do so for ever.
func (c *Conn) invalid(h Handler, err error) {
	var e *frames.DecodeError
	if !errors.As(err, &e) {
		c.SendError(err, nil)
		return
	}
	if e.Type == frames.FrameTypeError || h.HandleInvalid(e) {
		return
	}
	id := e.TransferID
	if e.DuplicateMember {
		id = nil
	}
	c.SendError(decodeFault(e), id)
}

// decodeFault returns a DecodeError as the fault that the peer is told.
func decodeFault(e *frames.DecodeError) *fault.Error {
	detail := e.Reason
	if e.Place != "" {
		detail = e.Place + ": " + e.Reason
	}
	return fault.Newf(e.Code, "%s", detail)
}

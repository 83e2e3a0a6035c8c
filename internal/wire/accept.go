package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/version"
)

const readBufferSize = 16 << 10

// writeBuffers are the buffers in which messages are framed; an idle connection
// holds none.
var writeBuffers sync.Pool

// Refusal is a Brain's answer to a hello it does not want: an error frame and a
// close frame. The zero CloseCode is ClosePolicy, the zero Reason the fault's code.
type Refusal struct {
	Err       *fault.Error
	CloseCode int
	Reason    string
}

// HasSubprotocol reports whether a request offers the subprotocol of the frames.
// Without it a Brain answers 400.
func HasSubprotocol(r *http.Request) bool {
	return slices.Contains(websocket.Subprotocols(r), Subprotocol)
}

// AcceptConn upgrades a request that passed the checks of path, token and
// subprotocol, and shakes hands: hello in, welcome out. Welcome decides about the
// hello; it gets one of this protocol version. An error means that there is no
// connection, that the peer was told why, and that w is used up. It takes at most
// two phase timeouts.
func AcceptConn(ctx context.Context, w http.ResponseWriter, r *http.Request, cfg Config, welcome func(*frames.Hello) (*frames.Welcome, *Refusal)) (*Conn, *frames.Hello, error) {
	cfg = cfg.withDefaults()
	var m *meter
	upgrader := websocket.Upgrader{
		HandshakeTimeout: cfg.PhaseTimeout,
		ReadBufferSize:   readBufferSize,
		WriteBufferSize:  fragmentSize,
		WriteBufferPool:  &writeBuffers,
		Subprotocols:     []string{Subprotocol},
		CheckOrigin:      func(*http.Request) bool { return true }, // the bearer token is no ambient authority
		Error:            refuseUpgrade,
	}
	ws, err := upgrader.Upgrade(hijacker{w, func(c net.Conn) net.Conn { m = newMeter(c); return m }}, r, nil)
	if err != nil {
		return nil, nil, fault.Wrapf(common.ErrorCodeHandshakeFailed, err, "no WebSocket")
	}
	c := newConn(ws, m, cfg, roleBrain)
	hello, err := c.awaitHello(ctx, welcome)
	if err != nil {
		c.farewell()
		return nil, nil, err
	}
	c.keepAlive()
	return c, hello, nil
}

// hijacker gives the upgrader a connection that is measured.
type hijacker struct {
	http.ResponseWriter
	wrap func(net.Conn) net.Conn
}

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return h.wrap(c), rw, nil
}

// refuseUpgrade answers a request that is no WebSocket upgrade in the form of every
// HTTP error.
func refuseUpgrade(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Sec-WebSocket-Version", "13")
	w.WriteHeader(status)
	// A client that does not take its error body has lost nothing.
	_ = json.NewEncoder(w).Encode(map[string]string{
		"error":     reason.Error(),
		"errorCode": string(common.ErrorCodeHandshakeFailed),
	})
}

// awaitHello reads the first message and answers it.
func (c *Conn) awaitHello(ctx context.Context, welcome func(*frames.Hello) (*frames.Welcome, *Refusal)) (*frames.Hello, error) {
	f, err := c.first(ctx, frames.FrameTypeHello)
	if err != nil {
		return nil, err
	}
	hello, ok := f.(*frames.Hello)
	if !ok {
		return nil, c.refuse(&Refusal{Err: broken(frames.FrameTypeHello, "got %s", f.FrameType())})
	}
	answer, refusal := welcome(hello)
	if refusal != nil {
		return nil, c.refuse(refusal)
	}
	if err := c.SendControl(answer); err != nil {
		c.Close(ClosePolicy, string(common.ErrorCodeInternal))
		return nil, err
	}
	return hello, nil
}

// broken is the failure of a handshake in which something else was due.
func broken(want frames.FrameType, format string, args ...any) *fault.Error {
	return fault.Texted(common.ErrorCodeHandshakeFailed, fmt.Sprintf("expected %s: "+format, append([]any{want}, args...)...))
}

// first reads the first message of the handshake, within the phase timeout. A
// message that is no frame at all is refused here.
func (c *Conn) first(ctx context.Context, want frames.FrameType) (frames.Frame, error) {
	var tooLate atomic.Bool
	late := broken(want, "it did not come within %v", c.cfg.PhaseTimeout)
	timer := time.AfterFunc(c.cfg.PhaseTimeout, func() {
		tooLate.Store(true)
		c.refuse(&Refusal{Err: late})
	})
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { c.Close(CloseGoingAway, "going away") })
	defer stop()

	var f frames.Frame
	var refusal *fault.Error
	use := func(message []byte, kind int) {
		if kind != websocket.TextMessage {
			refusal = broken(want, "got a binary message")
			return
		}
		if refusal = checkVersion(message, want); refusal != nil {
			return
		}
		var e *frames.DecodeError
		var err error
		switch f, err = c.decode(message); {
		case err == nil:
		case errors.As(err, &e):
			refusal = broken(want, "%s", decodeFault(e).Text)
		default:
			refusal = fault.Wrap(common.ErrorCodeHandshakeFailed, err)
		}
	}
	for f == nil && refusal == nil && !c.isDone() && c.receive(use) {
	}
	switch {
	case refusal != nil:
		return nil, c.refuse(&Refusal{Err: refusal})
	case tooLate.Load():
		return nil, late
	case c.isDone():
		return nil, c.Err()
	}
	return f, nil
}

// checkVersion looks for another protocol version before anything else is asked of
// a message: a later version's hello may look different in every other respect.
func checkVersion(message []byte, want frames.FrameType) *fault.Error {
	var head map[string]json.RawMessage // a struct would take names in any case
	if err := json.Unmarshal(message, &head); err != nil || string(head["type"]) != strconv.Quote(string(want)) {
		return nil // the decoder says what is wrong with it
	}
	given := string(head["protocolVersion"])
	if given == "" {
		given = "none"
	}
	if v, err := strconv.ParseFloat(given, 64); err != nil || v != version.Protocol {
		return fault.Newf(common.ErrorCodeUnsupportedVersion, "%s, this side speaks %d", printable(cut(given, 64)), version.Protocol)
	}
	return nil
}

// refuse tells the peer why there will be no connection, and returns it.
func (c *Conn) refuse(r *Refusal) error {
	code, reason := r.CloseCode, r.Reason
	if code == 0 {
		code = ClosePolicy
	}
	if reason == "" {
		reason = string(r.Err.Code)
	}
	c.SendError(r.Err, nil)
	c.Close(code, reason)
	return r.Err
}

// farewell reads until the peer has answered the close frame or its time is over.
func (c *Conn) farewell() {
	for c.receive(func([]byte, int) {}) {
	}
	<-c.gone
}

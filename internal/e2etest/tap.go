package e2etest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Direction says who sent a frame.
type Direction string

// The two directions of a connection.
const (
	FromFoot  Direction = "foot"
	FromBrain Direction = "brain"
)

// TappedFrame is one text message as it was on the wire.
type TappedFrame struct {
	From Direction
	Raw  []byte
}

// Type reads the frame's type tag.
func (f TappedFrame) Type() string {
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(f.Raw, &head) != nil {
		return ""
	}
	return head.Type
}

// Tap stands between a Foot and a Brain as a WebSocket peer of both: it records
// every frame and passes on what its Alter function makes of it.
type Tap struct {
	URL string // what the Foot dials

	upstream string
	t        testing.TB

	mu     sync.Mutex
	frames []TappedFrame
	alter  func(TappedFrame) [][]byte
}

// NewTap stands in front of the Brain at an http:// URL.
func NewTap(t testing.TB, upstream string) *Tap {
	t.Helper()
	tap := &Tap{upstream: "ws" + strings.TrimPrefix(upstream, "http"), t: t}
	server := httptest.NewServer(http.HandlerFunc(tap.serve))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	tap.URL = server.URL
	return tap
}

// Alter sets what becomes of each frame from now on: the messages that are
// passed on in its place. nil passes everything on as it is.
func (tap *Tap) Alter(alter func(TappedFrame) [][]byte) {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	tap.alter = alter
}

// Frames returns what was sent so far, as the senders sent it.
func (tap *Tap) Frames() []TappedFrame {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	return append([]TappedFrame(nil), tap.frames...)
}

// Forget lets go of what was recorded so far.
func (tap *Tap) Forget() {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	tap.frames = nil
}

func (tap *Tap) serve(w http.ResponseWriter, r *http.Request) {
	header := http.Header{}
	header.Set("Authorization", r.Header.Get("Authorization"))
	dialer := websocket.Dialer{Subprotocols: websocket.Subprotocols(r), HandshakeTimeout: Patience}
	up, answer, err := dialer.Dial(tap.upstream+r.URL.Path, header)
	if err != nil {
		status := http.StatusBadGateway
		if answer != nil {
			status = answer.StatusCode
		}
		w.WriteHeader(status)
		return
	}
	defer closeQuietly(up)
	upgrader := websocket.Upgrader{Subprotocols: []string{up.Subprotocol()}}
	down, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the Foot went away
	}
	defer closeQuietly(down)
	ended := make(chan struct{}, 2)
	go tap.pump(FromFoot, down, up, ended)
	go tap.pump(FromBrain, up, down, ended)
	<-ended
}

// pump passes on one direction until either side ends.
func (tap *Tap) pump(from Direction, src, dst *websocket.Conn, ended chan<- struct{}) {
	defer func() { ended <- struct{}{} }()
	for {
		kind, message, err := src.ReadMessage()
		if err != nil {
			passClose(err, dst)
			return
		}
		for _, out := range tap.record(TappedFrame{from, message}) {
			if dst.WriteMessage(kind, out) != nil {
				return
			}
		}
	}
}

func (tap *Tap) record(frame TappedFrame) [][]byte {
	tap.mu.Lock()
	tap.frames = append(tap.frames, frame)
	alter := tap.alter
	tap.mu.Unlock()
	if alter == nil {
		return [][]byte{frame.Raw}
	}
	return alter(frame)
}

func passClose(err error, dst *websocket.Conn) {
	code, reason := websocket.CloseAbnormalClosure, ""
	if closed, ok := err.(*websocket.CloseError); ok {
		code, reason = closed.Code, closed.Text
	}
	if code == websocket.CloseAbnormalClosure || code == websocket.CloseNoStatusReceived {
		return // no such close can be sent: the connection just ends
	}
	message := websocket.FormatCloseMessage(code, reason)
	_ = dst.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second)) // the other end may be gone
}

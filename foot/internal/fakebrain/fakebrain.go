// Package fakebrain is a Brain for the tests of a Foot: a real listener and real
// WebSockets, and for the rest a script in the test. It does nothing by itself
// but shake hands, and uses none of package wire, so that a mistake there is not
// made on both sides.
package fakebrain

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

// Patience is how long a test waits for what should come at once.
const Patience = 10 * time.Second

// Brain is the listener.
type Brain struct {
	URL  string
	t    testing.TB
	feet chan *Foot

	mu      sync.Mutex
	welcome *frames.Welcome
	refusal *refusal
	first   frames.Frame // sent in place of welcome
	login   http.HandlerFunc
}

type refusal struct {
	status int
	body   any
}

// New starts a Brain that welcomes every Foot as "laptop" of acme/proj.
func New(t testing.TB) *Brain {
	b := &Brain{t: t, feet: make(chan *Foot, 64), welcome: &frames.Welcome{
		ProtocolVersion: 1,
		ConnectionID:    uuid.Must(uuid.NewV7()),
		Tenant:          "acme",
		ProjectID:       "proj",
		FootID:          "laptop",
		Features:        []string{},
		Settings: frames.WelcomeSettings{
			ChunkSize: 64 << 10, MaxFrameSize: 4 << 20, PhaseTimeoutMs: 30_000, PingIntervalMs: 20_000,
			MaxUploadSize: 100 << 20, MaxDownloadSize: 100 << 20,
		},
	}}
	server := httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	b.URL = server.URL
	return b
}

// Welcome changes what later Feet are welcomed with.
func (b *Brain) Welcome(change func(*frames.Welcome)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := *b.welcome
	change(&w)
	b.welcome = &w
}

// First makes later Feet get a frame in place of the welcome, then a close frame
// as after a broken handshake.
func (b *Brain) First(f frames.Frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first = f
}

// Refuse answers later upgrades with an HTTP status; 0 accepts again.
func (b *Brain) Refuse(status int, code common.ErrorCode, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refusal = nil
	if status != 0 {
		b.refusal = &refusal{status, map[string]any{"error": text, "errorCode": code}}
	}
}

// Login answers later requests for a login.
func (b *Brain) Login(answer http.HandlerFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.login = answer
}

func (b *Brain) serve(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	welcome, refused, first, login := b.welcome, b.refusal, b.first, b.login
	b.mu.Unlock()
	if login != nil && r.URL.Path == "/api/v1/login" {
		login(w, r)
		return
	}
	if refused != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(refused.status)
		_ = json.NewEncoder(w).Encode(refused.body) // the Foot went away
		return
	}
	upgrader := websocket.Upgrader{Subprotocols: []string{"vancetope.v1"}}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // answered by the upgrader
	}
	f := &Foot{Request: r, t: b.t, brainT: b.t, conn: conn, frames: make(chan frames.Frame, 1024), closed: make(chan struct{})}
	f.Hello, _ = f.read().(*frames.Hello)
	if first != nil {
		f.send(first)
		f.Close(websocket.ClosePolicyViolation, "handshake")
		f.readAll()
		return
	}
	f.decoder.Features = frames.ParseFeatures(welcome.Features)
	f.send(welcome)
	b.feet <- f
	f.readAll()
}

// Await returns the next Foot that shook hands.
func (b *Brain) Await(t testing.TB) *Foot {
	t.Helper()
	select {
	case f := <-b.feet:
		f.t = t
		return f
	case <-time.After(Patience):
		t.Fatal("no Foot connects")
		return nil
	}
}

// Foot is one connected Foot.
type Foot struct {
	Request *http.Request
	Hello   *frames.Hello

	t         testing.TB // of the test that awaited it
	brainT    testing.TB // for the reading goroutine
	conn      *websocket.Conn
	decoder   frames.Decoder // the reading goroutine's
	write     sync.Mutex
	frames    chan frames.Frame
	closed    chan struct{}
	closeCode int // once closed: the Foot's close code, 0 without one
}

// read returns the next frame, nil at the end.
func (f *Foot) read() frames.Frame {
	_, message, err := f.conn.ReadMessage()
	if err != nil {
		if e, ok := err.(*websocket.CloseError); ok {
			f.closeCode = e.Code
		}
		return nil
	}
	frame, err := f.decoder.DecodeForBrain(message)
	if err != nil {
		f.brainT.Errorf("the Foot sent %.300q: %v", message, err)
	}
	return frame
}

func (f *Foot) readAll() {
	defer close(f.closed)
	defer close(f.frames)
	for frame := f.read(); frame != nil; frame = f.read() {
		f.frames <- frame
	}
}

func (f *Foot) send(frame frames.Frame) {
	message, err := frame.AppendJSON(nil)
	if err == nil {
		err = f.raw(string(message))
	}
	if err != nil {
		f.t.Errorf("sending %s: %v", frame.FrameType(), err)
	}
}

func (f *Foot) raw(message string) error {
	f.write.Lock()
	defer f.write.Unlock()
	return f.conn.WriteMessage(websocket.TextMessage, []byte(message))
}

// Send sends a frame to the Foot.
func (f *Foot) Send(frame frames.Frame) {
	f.t.Helper()
	f.send(frame)
}

// SendRaw sends a text message that need not be a frame.
func (f *Foot) SendRaw(message string) {
	f.t.Helper()
	if err := f.raw(message); err != nil {
		f.t.Errorf("sending %q: %v", message, err)
	}
}

// Close sends a close frame.
func (f *Foot) Close(code int, reason string) {
	f.write.Lock()
	defer f.write.Unlock()
	// The Foot may be gone already.
	_ = f.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(Patience))
}

// Cut ends the connection without a word.
func (f *Foot) Cut() {
	_ = f.conn.NetConn().Close() // it is to be broken anyway
}

// AwaitClose returns the close code with which the Foot went, 0 for none.
func (f *Foot) AwaitClose() int {
	f.t.Helper()
	select {
	case <-f.closed:
		return f.closeCode
	case <-time.After(Patience):
		f.t.Fatal("the Foot does not close")
		return 0
	}
}

// Next returns the next frame of the Foot.
func (f *Foot) Next() frames.Frame {
	f.t.Helper()
	select {
	case frame, ok := <-f.frames:
		if !ok {
			f.t.Fatal("the Foot closed the connection")
		}
		return frame
	case <-time.After(Patience):
		f.t.Fatal("no frame comes")
		return nil
	}
}

// Expect returns the next frame, which must be of a type.
func Expect[F frames.Frame](f *Foot) F {
	f.t.Helper()
	frame := f.Next()
	typed, ok := frame.(F)
	if !ok {
		f.t.Fatalf("got %T %+v, want %T", frame, frame, typed)
	}
	return typed
}

// Await returns the next frame of a type and passes over everything else.
func Await[F frames.Frame](f *Foot) F {
	f.t.Helper()
	for {
		if typed, ok := f.Next().(F); ok {
			return typed
		}
	}
}

// Offer sends a transfer_init for a content.
func (f *Foot) Offer(id uuid.UUID, target, content string) {
	f.t.Helper()
	hash := Hash(content)
	f.Send(&frames.TransferInit{TransferID: id, Target: target, TotalSize: int64(len(content)), Hash: &hash})
}

// Stream sends a content in chunks of size bytes.
func (f *Foot) Stream(id uuid.UUID, content string, size int) {
	f.t.Helper()
	for seq := int64(0); ; seq++ {
		n := min(size, len(content))
		f.Send(&frames.TransferChunk{TransferID: id, Seq: seq, Bytes: []byte(content[:n]), Last: n == len(content)})
		if content = content[n:]; content == "" {
			return
		}
	}
}

// Receive takes a whole file that the Foot offers, and returns the offer, the
// content and the size of the largest chunk.
func (f *Foot) Receive() (init *frames.TransferInit, content string, largest int) {
	f.t.Helper()
	init = Expect[*frames.TransferInit](f)
	f.Send(&frames.TransferInitResponse{TransferID: init.TransferID, Ok: true})
	var b strings.Builder
	for last := false; !last; {
		chunk := Expect[*frames.TransferChunk](f)
		b.Write(chunk.Bytes)
		largest = max(largest, len(chunk.Bytes))
		last = chunk.Last
	}
	check := frames.HashCheckOk
	f.Send(&frames.TransferComplete{TransferID: init.TransferID, Ok: true, BytesWritten: int64(b.Len()), HashCheck: &check})
	if finish := Expect[*frames.TransferFinish](f); !finish.Ok {
		f.t.Errorf("the Foot ends a good transfer with %+v", finish)
	}
	return init, b.String(), largest
}

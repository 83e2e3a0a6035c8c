package wire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/version"
)

// pipeListener is a listener whose connections are pipes in memory, so that a
// whole server runs in fake time.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	// wrap, if set, stands between the accepting side and the pipe.
	wrap func(net.Conn) net.Conn
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		if l.wrap != nil {
			c = l.wrap(c)
		}
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

func (l *pipeListener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// accepted is one outcome of AcceptConn.
type accepted struct {
	conn  *Conn
	hello *frames.Hello
	err   error
}

// testBrain serves AcceptConn over a listener.
type testBrain struct {
	ln      net.Listener
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	results chan accepted
	server  *http.Server
}

type brainOptions struct {
	cfg     Config
	welcome func(*frames.Hello) (*frames.Welcome, *Refusal)
	tcp     bool
	wrap    func(net.Conn) net.Conn
}

func startBrain(t testing.TB, o brainOptions) *testBrain {
	t.Helper()
	b := &testBrain{results: make(chan accepted, 16)}
	if o.tcp {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		b.ln = ln
		b.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, ln.Addr().String())
		}
	} else {
		ln := newPipeListener()
		ln.wrap = o.wrap
		b.ln, b.dial = ln, ln.DialContext
	}
	if o.welcome == nil {
		o.welcome = func(h *frames.Hello) (*frames.Welcome, *Refusal) { return testWelcome(o.cfg), nil }
	}
	b.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, hello, err := AcceptConn(context.Background(), w, r, o.cfg, o.welcome)
			b.results <- accepted{c, hello, err}
		}),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	var serving sync.WaitGroup
	serving.Go(func() { b.server.Serve(b.ln) })
	t.Cleanup(func() {
		b.server.Close()
		serving.Wait()
	})
	return b
}

// accept returns the next outcome.
func (b *testBrain) accept(t testing.TB) accepted {
	t.Helper()
	select {
	case a := <-b.results:
		return a
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing was accepted")
		return accepted{}
	}
}

// raw dials as a peer that speaks WebSocket and nothing else by itself.
func (b *testBrain) raw(t testing.TB) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{NetDialContext: b.dial, Subprotocols: []string{Subprotocol}}
	ws, _, err := d.Dial("ws://brain.test/brain/acme/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws
}

func testWelcome(cfg Config) *frames.Welcome {
	cfg = cfg.withDefaults()
	return &frames.Welcome{
		ProtocolVersion: version.Protocol,
		ConnectionID:    uuid.New(),
		Tenant:          "acme",
		ProjectID:       "proj",
		FootID:          "laptop",
		Features:        []string{},
		Settings: frames.WelcomeSettings{
			ChunkSize:       64 << 10,
			MaxFrameSize:    cfg.MaxFrameSize,
			PhaseTimeoutMs:  cfg.PhaseTimeout.Milliseconds(),
			PingIntervalMs:  cfg.PingInterval.Milliseconds(),
			MaxUploadSize:   100 << 20,
			MaxDownloadSize: 100 << 20,
		},
	}
}

func testHello() *frames.Hello {
	return &frames.Hello{
		ProtocolVersion: version.Protocol,
		FootID:          "laptop",
		ClientVersion:   "test",
		Os:              common.OsLinux,
		Access:          common.AccessEdit,
		Grants:          []common.Grant{},
		Features:        []string{},
	}
}

func encoded(t testing.TB, f frames.Frame) []byte {
	t.Helper()
	b, err := f.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// foot dials a testBrain.
func (b *testBrain) foot(t testing.TB, cfg Config) *Conn {
	t.Helper()
	c, _, err := Dial(t.Context(), DialConfig{
		Config: cfg, URL: "http://brain.test", Tenant: "acme", Token: "secret",
		Hello: testHello(), NetDialContext: b.dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.lost(errors.New("test over")) })
	return c
}

// pair connects a Foot to a Brain.
func pair(t testing.TB, o brainOptions, footCfg Config) (brain, foot *Conn) {
	t.Helper()
	b := startBrain(t, o)
	foot = b.foot(t, footCfg)
	a := b.accept(t)
	if a.err != nil {
		t.Fatal(a.err)
	}
	t.Cleanup(func() { a.conn.lost(errors.New("test over")) })
	return a.conn, foot
}

// rawFoot connects a raw peer to a Brain and shakes hands.
func rawFoot(t testing.TB, o brainOptions) (*Conn, *websocket.Conn) {
	t.Helper()
	b := startBrain(t, o)
	ws := b.raw(t)
	if err := ws.WriteMessage(websocket.TextMessage, encoded(t, testHello())); err != nil {
		t.Fatal(err)
	}
	if f := readFrame(t, ws); f.FrameType() != frames.FrameTypeWelcome {
		t.Fatalf("got %s, want welcome", f.FrameType())
	}
	a := b.accept(t)
	if a.err != nil {
		t.Fatal(a.err)
	}
	t.Cleanup(func() { a.conn.lost(errors.New("test over")) })
	return a.conn, ws
}

// readFrame reads one frame as a Foot would.
func readFrame(t testing.TB, ws *websocket.Conn) frames.Frame {
	t.Helper()
	_, message, err := ws.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	f, err := new(frames.Decoder).DecodeForFoot(message)
	if err != nil {
		t.Fatalf("%v in %s", err, message)
	}
	return f
}

// closeOf reads until the peer's close frame.
func closeOf(t testing.TB, ws *websocket.Conn) (code int, reason string) {
	t.Helper()
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) {
				t.Fatalf("ended without a close frame: %v", err)
			}
			return closed.Code, closed.Text
		}
	}
}

// collector is a Handler that keeps what it gets.
type collector struct {
	frames  chan frames.Frame
	invalid chan *frames.DecodeError
	answer  bool
	err     func(frames.Frame) error
}

func newCollector() *collector {
	return &collector{frames: make(chan frames.Frame, 1024), invalid: make(chan *frames.DecodeError, 1024)}
}

func (h *collector) Handle(f frames.Frame) error {
	select {
	case h.frames <- f:
	default:
	}
	if h.err != nil {
		return h.err(f)
	}
	return nil
}

func (h *collector) HandleInvalid(e *frames.DecodeError) bool {
	select {
	case h.invalid <- e:
	default:
	}
	return h.answer
}

func (h *collector) next(t testing.TB) frames.Frame {
	t.Helper()
	select {
	case f := <-h.frames:
		return f
	case <-time.After(time.Minute):
		t.Fatal("no frame came")
		return nil
	}
}

// serve runs Serve and returns a channel with its result.
func serve(c *Conn, h Handler) <-chan error {
	result := make(chan error, 1)
	go func() { result <- c.Serve(context.Background(), h) }()
	return result
}

func await[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s did not happen", what)
		panic("unreachable")
	}
}

func finish(id uuid.UUID) *frames.TransferFinish {
	return &frames.TransferFinish{TransferID: id, Ok: true}
}

func chunk(id uuid.UUID, seq int64, n int) *frames.TransferChunk {
	return &frames.TransferChunk{TransferID: id, Seq: seq, Bytes: make([]byte, n)}
}

// drain reads a raw peer's messages in the background until the test ends, so that
// pings are answered.
func drain(t testing.TB, ws *websocket.Conn) {
	background(t, func() { ws.Close() }, func() { readAway(ws) })
}

func readAway(ws *websocket.Conn) {
	for {
		_, r, err := ws.NextReader()
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			return
		}
	}
}

// background runs f beside the test, which at its end calls stop and waits for f.
func background(t testing.TB, stop, f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	t.Cleanup(func() { stop(); <-done })
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

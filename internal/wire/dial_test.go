package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

func TestBrainURLTakesEverySchemeAndAPathInFront(t *testing.T) {
	for in, want := range map[string]string{
		"ws://h:1":                  "ws://h:1/brain/acme/ws",
		"wss://h":                   "wss://h/brain/acme/ws",
		"http://h:9990/":            "ws://h:9990/brain/acme/ws",
		"https://h/behind/a/proxy/": "wss://h/behind/a/proxy/brain/acme/ws",
		"http://[::1]:9990":         "ws://[::1]:9990/brain/acme/ws",
		" http://h ":                "ws://h/brain/acme/ws",
	} {
		u, err := BrainURL(in, "acme")
		if err != nil || u.String() != want {
			t.Errorf("%q: %v %v, want %s", in, u, err, want)
		}
	}
	for _, in := range []string{"", "h:1", "ftp://h", "http://", "http:h", "http://u:p@h", "http://h/?a=1", "http://h/#a", "http://h:x", "\x00"} {
		if u, err := BrainURL(in, "acme"); err == nil {
			t.Errorf("%q is taken as %s", in, u)
		}
	}
}

func TestPlainTextOffLoopbackIsSeen(t *testing.T) {
	for in, want := range map[string]bool{
		"ws://127.0.0.1:1": false, "ws://127.9.9.9": false, "ws://[::1]": false, "ws://localhost:1": false,
		"ws://LOCALHOST.": false, "ws://a.localhost": false,
		"wss://example.com": false, "https://10.0.0.1": false,
		"ws://example.com": true, "http://10.0.0.1": true, "ws://0.0.0.0": true, "ws://localhost.evil.com": true, "ws://127.0.0.1.evil.com": true,
	} {
		u, err := BrainURL(in, "acme")
		if err != nil {
			t.Fatal(err)
		}
		if PlainOffLoopback(u) != want {
			t.Errorf("%s: want %v", in, want)
		}
	}
}

// Each row is what answers the upgrade, and what the Foot makes of it.
func TestFailuresOfTheUpgradeAreSorted(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	rows := []struct {
		name   string
		answer http.HandlerFunc
		kind   DialKind
		code   common.ErrorCode
		text   string
	}{
		{"401", answer(401, `{"error":"token revoked","errorCode":"unauthorized"}`), DialRefused, common.ErrorCodeUnauthorized, "token revoked"},
		{"401 of a proxy", answer(401, `<html>`), DialRefused, common.ErrorCodeUnauthorized, "missing, unknown"},
		{"403", answer(403, `{"error":"token of another tenant","errorCode":"access_denied"}`), DialRefused, common.ErrorCodeAccessDenied, "another tenant"},
		{"503", answer(503, `{"error":"draining","errorCode":"draining"}`), DialUnavailable, common.ErrorCodeDraining, "draining"},
		{"502 of a proxy", answer(502, ``), DialUnavailable, common.ErrorCodeDraining, "Bad Gateway"},
		{"404", answer(404, `{"error":"not found"}`), DialNotBrain, common.ErrorCodeHandshakeFailed, "404"},
		{"400", answer(400, `{"error":"no subprotocol"}`), DialNotBrain, common.ErrorCodeHandshakeFailed, "no subprotocol"},
		{"clear text to a server with TLS", answer(400, "Client sent an HTTP request to an HTTPS server.\n"), DialNotBrain, common.ErrorCodeHandshakeFailed, "use https://"},
		{"200", answer(200, `hello`), DialNotBrain, common.ErrorCodeHandshakeFailed, "200"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }, DialNotBrain, common.ErrorCodeHandshakeFailed, "302"},
		{"a text for terminals", answer(403, `{"error":"\u001b[31mred\n"}`), DialRefused, common.ErrorCodeAccessDenied, "[31mred"},
		{"another WebSocket", func(w http.ResponseWriter, r *http.Request) {
			u := websocket.Upgrader{}
			if ws, err := u.Upgrade(w, r, nil); err == nil {
				ws.Close()
			}
		}, DialNotBrain, common.ErrorCodeHandshakeFailed, Subprotocol},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var authorization string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				authorization = r.Header.Get("Authorization")
				if r.URL.Path != "/brain/acme/ws" || !HasSubprotocol(r) {
					t.Errorf("dialed %s", r.URL.Path)
				}
				row.answer(w, r)
			}))
			defer server.Close()
			_, _, err := Dial(t.Context(), DialConfig{URL: server.URL, Tenant: "acme", Token: "hush", Hello: testHello()})
			var failed *DialError
			if !errors.As(err, &failed) || failed.Kind != row.kind || failed.Fault.Code != row.code {
				t.Fatalf("%#v: %v", failed, err)
			}
			if !strings.Contains(err.Error(), row.text) || strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Fatalf("text %q", err)
			}
			if strings.Contains(err.Error(), "hush") || authorization != "Bearer hush" {
				t.Fatal("the token is in the text, or was not sent")
			}
		})
	}
}

func TestHostThatDoesNotListenIsUnreachable(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	_, _, err = Dial(t.Context(), DialConfig{URL: "ws://" + address, Tenant: "acme", Token: "hush", Hello: testHello()})
	var failed *DialError
	var below *net.OpError
	if !errors.As(err, &failed) || failed.Kind != DialUnreachable || !errors.As(err, &below) {
		t.Fatal(err)
	}
	if !strings.HasPrefix(err.Error(), "cannot reach the Brain") || strings.Contains(err.Error(), "hush") {
		t.Fatal(err)
	}
}

func TestServerThatDoesNotAnswerIsToldAsThat(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() // accepts by itself, and nobody reads
	_, _, err = Dial(t.Context(), DialConfig{URL: "ws://" + ln.Addr().String(), Tenant: "acme", Hello: testHello(),
		Config: Config{PhaseTimeout: 100 * time.Millisecond}})
	var failed *DialError
	if !errors.As(err, &failed) || failed.Kind != DialUnreachable || !strings.Contains(err.Error(), "no answer within 100ms") {
		t.Errorf("%v", err)
	}
}

func TestPortThatSpeaksNoHTTPIsNoBrain(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	background(t, func() { ln.Close() }, func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "SSH-2.0-OpenSSH_9.9\r\n")
			b := make([]byte, 4096)
			c.Read(b)
			c.Close()
		}
	})
	for _, scheme := range []string{"ws", "wss"} {
		_, _, err = Dial(t.Context(), DialConfig{URL: scheme + "://" + ln.Addr().String(), Tenant: "acme", Hello: testHello()})
		var failed *DialError
		if !errors.As(err, &failed) || failed.Kind != DialNotBrain {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// tlsBrain serves AcceptConn over TLS.
func tlsBrain(t *testing.T, cfg Config) (*httptest.Server, chan accepted) {
	t.Helper()
	results := make(chan accepted, 4)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, hello, err := AcceptConn(context.Background(), w, r, cfg, func(*frames.Hello) (*frames.Welcome, *Refusal) { return testWelcome(cfg), nil })
		results <- accepted{c, hello, err}
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, results
}

func TestFramesTravelOverTLSBothWays(t *testing.T) {
	server, results := tlsBrain(t, Config{})
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	foot, _, err := Dial(t.Context(), DialConfig{URL: server.URL, Tenant: "acme", Hello: testHello(), TLS: &tls.Config{RootCAs: roots}})
	if err != nil {
		t.Fatal(err)
	}
	brain := (<-results).conn
	bh, fh := newCollector(), newCollector()
	brainEnded, footEnded := serve(brain, bh), serve(foot, fh)
	id := newID()
	const size = 300_000
	for seq := range int64(4) {
		if err := foot.SendData(t.Context(), id, chunk(id, seq, size)); err != nil {
			t.Fatal(err)
		}
		if err := brain.SendData(t.Context(), id, chunk(id, seq, size)); err != nil {
			t.Fatal(err)
		}
	}
	for seq := range int64(4) {
		for _, h := range []*collector{bh, fh} {
			if f := h.next(t).(*frames.TransferChunk); f.Seq != seq || len(f.Bytes) != size {
				t.Fatalf("got %d with %d bytes", f.Seq, len(f.Bytes))
			}
		}
	}
	brain.Close(CloseRestart, "restarting")
	var closed *CloseError
	if err := await(t, "the Foot's end", footEnded); !errors.As(err, &closed) || closed.Code != CloseRestart {
		t.Fatal(err)
	}
	await(t, "the Brain's end", brainEnded)
}

func TestCertificateThatNobodyKnowsIsSaidToBeOne(t *testing.T) {
	server, _ := tlsBrain(t, Config{})
	_, _, err := Dial(t.Context(), DialConfig{URL: server.URL, Tenant: "acme", Hello: testHello()})
	var failed *DialError
	if !errors.As(err, &failed) || failed.Kind != DialUnreachable || !strings.Contains(err.Error(), "certificate") {
		t.Fatal(err)
	}
}

func TestPeerOverTLSThatTakesNothingIsDead(t *testing.T) {
	cfg := Config{PingInterval: 100 * time.Millisecond, PhaseTimeout: 300 * time.Millisecond}
	server, results := tlsBrain(t, cfg)
	d := websocket.Dialer{Subprotocols: []string{Subprotocol}, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	ws, _, err := d.Dial("wss"+strings.TrimPrefix(server.URL, "https")+"/brain/acme/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if err := ws.WriteMessage(websocket.TextMessage, encoded(t, testHello())); err != nil {
		t.Fatal(err)
	}
	brain := (<-results).conn
	ended := serve(brain, newCollector())
	background(t, func() { ws.Close() }, func() {
		for ws.WriteMessage(websocket.TextMessage, encoded(t, finish(newID()))) == nil {
			time.Sleep(20 * time.Millisecond)
		}
	})
	id := newID()
	for seq := int64(0); brain.SendData(t.Context(), id, chunk(id, seq, 1<<20)) == nil; seq++ {
	}
	if err := await(t, "Serve's end", ended); !strings.Contains(err.Error(), "writing failed") {
		t.Fatal(err)
	}
}

// A Brain that restarts is found again by the same Foot, by its back-off.
func TestFootFindsARestartedBrainAgain(t *testing.T) {
	var server *http.Server
	results := make(chan accepted, 4)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	start := func(ln net.Listener) {
		server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, hello, err := AcceptConn(context.Background(), w, r, Config{}, func(*frames.Hello) (*frames.Welcome, *Refusal) { return testWelcome(Config{}), nil })
			results <- accepted{c, hello, err}
		})}
		go server.Serve(ln)
	}
	start(ln)
	ctx, cancel := context.WithCancel(t.Context())
	causes := make(chan error, 1000)
	background(t, cancel, func() {
		backoff := Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond}
		for ctx.Err() == nil {
			foot, _, err := Dial(ctx, DialConfig{URL: "ws://" + address, Tenant: "acme", Hello: testHello()})
			if err == nil {
				err = foot.Serve(ctx, newCollector())
			}
			causes <- err
			select {
			case <-time.After(backoff.Next(err)):
			case <-ctx.Done():
			}
		}
	})
	first := await(t, "the first connection", results).conn
	ended := serve(first, newCollector())
	server.Close() // hijacked connections live on
	first.Close(CloseRestart, "restarting")
	await(t, "the Brain's end", ended)
	var closed *CloseError
	if err := await(t, "the Foot's end", causes); !errors.As(err, &closed) || !closed.Later() {
		t.Fatal(err)
	}
	var failed *DialError
	if err := await(t, "a failed attempt", causes); !errors.As(err, &failed) || failed.Kind != DialUnreachable {
		t.Fatal(err)
	}
	if ln, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	start(ln)
	second := await(t, "the second connection", results).conn
	t.Cleanup(func() { server.Close(); second.Close(CloseNormal, ""); <-second.Gone() })
	serve(second, newCollector())
}

func TestTLSToAServerWithoutItSaysSo(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, _, err := Dial(t.Context(), DialConfig{URL: strings.Replace(server.URL, "http:", "https:", 1), Tenant: "acme", Token: "secret", Hello: testHello()})
	var failed *DialError
	if !errors.As(err, &failed) || failed.Kind != DialNotBrain || !strings.Contains(err.Error(), "use http:// or ws://") {
		t.Errorf("the error is %v", err)
	}
}

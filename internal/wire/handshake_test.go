package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

func TestHelloAndWelcomeOpenAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, foot := pair(t, brainOptions{}, Config{})
		h := newCollector()
		ended := serve(brain, h)
		footEnded := serve(foot, newCollector())
		id := newID()
		if err := foot.SendControl(finish(id)); err != nil {
			t.Fatal(err)
		}
		if f, ok := h.next(t).(*frames.TransferFinish); !ok || f.TransferID != id {
			t.Fatalf("got %#v", f)
		}
		foot.Close(CloseGoingAway, "bye")
		var closed *CloseError
		if err := await(t, "the Brain's end", ended); !errors.As(err, &closed) || closed.Code != CloseGoingAway || closed.Reason != "bye" || !closed.Remote {
			t.Fatalf("the Brain saw %v", err)
		}
		if err := await(t, "the Foot's end", footEnded); !errors.As(err, &closed) || closed.Remote {
			t.Fatalf("the Foot saw %v", err)
		}
		if fault.CodeOf(brain.Err()) != common.ErrorCodeConnectionLost {
			t.Fatalf("code %s", fault.CodeOf(brain.Err()))
		}
	})
}

// Each row is what a peer sends first, and how a Brain answers.
func TestBrainRefusesABrokenHandshake(t *testing.T) {
	hello := func(edit func(map[string]any)) string {
		var m map[string]any
		if err := json.Unmarshal(encoded(t, testHello()), &m); err != nil {
			t.Fatal(err)
		}
		edit(m)
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	rows := []struct {
		name   string
		kind   int
		send   string
		code   common.ErrorCode
		closes int
	}{
		{"a binary message", websocket.BinaryMessage, `{"type":"hello"}`, common.ErrorCodeHandshakeFailed, ClosePolicy},
		{"no JSON", websocket.TextMessage, `hello`, common.ErrorCodeHandshakeFailed, ClosePolicy},
		{"an empty message", websocket.TextMessage, ``, common.ErrorCodeHandshakeFailed, ClosePolicy},
		{"JSON cut short", websocket.TextMessage, `{"type":"hello","protocolVersion":1`, common.ErrorCodeHandshakeFailed, ClosePolicy},
		{"another frame", websocket.TextMessage, string(encoded(t, finish(newID()))), common.ErrorCodeHandshakeFailed, ClosePolicy},
		{"an unknown type", websocket.TextMessage, `{"type":"hullo"}`, common.ErrorCodeHandshakeFailed, ClosePolicy},
		{"a frame of Brain's", websocket.TextMessage, string(encoded(t, testWelcome(Config{}))), common.ErrorCodeHandshakeFailed, ClosePolicy},
		{"no version", websocket.TextMessage, hello(func(m map[string]any) { delete(m, "protocolVersion") }), common.ErrorCodeUnsupportedVersion, ClosePolicy},
		{"a version by another name", websocket.TextMessage, hello(func(m map[string]any) { delete(m, "protocolVersion"); m["ProtocolVersion"] = 1 }), common.ErrorCodeUnsupportedVersion, ClosePolicy},
		{"a hello that lacks a field", websocket.TextMessage, hello(func(m map[string]any) { delete(m, "os") }), common.ErrorCodeHandshakeFailed, ClosePolicy},
		{"a hello with a member twice", websocket.TextMessage, strings.Replace(hello(func(map[string]any) {}), "{", `{"footId":"x",`, 1), common.ErrorCodeHandshakeFailed, ClosePolicy},
		{"a null version", websocket.TextMessage, hello(func(m map[string]any) { m["protocolVersion"] = nil }), common.ErrorCodeUnsupportedVersion, ClosePolicy},
		{"a later version", websocket.TextMessage, hello(func(m map[string]any) { m["protocolVersion"] = 2 }), common.ErrorCodeUnsupportedVersion, ClosePolicy},
		{"a later version of other shape", websocket.TextMessage, `{"type":"hello","protocolVersion":2,"footId":{"a":1}}`, common.ErrorCodeUnsupportedVersion, ClosePolicy},
		{"a version that is text", websocket.TextMessage, hello(func(m map[string]any) { m["protocolVersion"] = "1" }), common.ErrorCodeUnsupportedVersion, ClosePolicy},
		{"text that is not UTF-8", websocket.TextMessage, "{\"type\":\"hello\xff\"}", "", CloseInvalidUTF8},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := startBrain(t, brainOptions{welcome: func(*frames.Hello) (*frames.Welcome, *Refusal) {
					t.Error("the hello reached the Brain")
					return nil, &Refusal{Err: fault.New(common.ErrorCodeInternal)}
				}})
				ws := b.raw(t)
				if err := ws.WriteMessage(row.kind, []byte(row.send)); err != nil {
					t.Fatal(err)
				}
				if row.code != "" {
					expectError(t, readFrame(t, ws), row.code)
				}
				if code, _ := closeOf(t, ws); code != row.closes {
					t.Fatalf("closed with %d, want %d", code, row.closes)
				}
				a := b.accept(t)
				if a.err == nil || a.conn != nil {
					t.Fatal("accepted")
				}
				if row.code != "" && fault.CodeOf(a.err) != row.code {
					t.Fatalf("AcceptConn says %v", a.err)
				}
			})
		})
	}
}

func TestVersionMayBeSpeltInAnyWayThatIsOne(t *testing.T) {
	for _, version := range []string{"1", "1.0", "1e0", "10e-1"} {
		message := []byte(`{"type":"hello","protocolVersion":` + version + `}`)
		if err := checkVersion(message, frames.FrameTypeHello); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestHandshakeThatDoesNotComeEndsAfterThePhaseTimeout(t *testing.T) {
	for name, trickle := range map[string]bool{"silence": false, "a hello that trickles": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				b := startBrain(t, brainOptions{})
				ws := b.raw(t)
				var trickling sync.WaitGroup
				if trickle {
					trickling.Go(func() {
						// A text frame of 100 bytes, one a second, unmasked by a zero key.
						raw := append([]byte{0x81, 0x80 | 100, 0, 0, 0, 0}, strings.Repeat("{", 100)...)
						for i := range raw {
							if _, err := ws.NetConn().Write(raw[i : i+1]); err != nil {
								return
							}
							time.Sleep(time.Second)
						}
					})
				}
				expectError(t, readFrame(t, ws), common.ErrorCodeHandshakeFailed)
				if code, _ := closeOf(t, ws); code != ClosePolicy {
					t.Fatalf("closed with %d", code)
				}
				if took := time.Since(began); took < DefaultPhaseTimeout || took > DefaultPhaseTimeout+time.Second {
					t.Fatalf("after %v", took)
				}
				ws.Close()
				trickling.Wait()
				if a := b.accept(t); fault.CodeOf(a.err) != common.ErrorCodeHandshakeFailed {
					t.Fatalf("AcceptConn says %v", a.err)
				}
			})
		})
	}
}

func TestBrainThatRefusesTheHelloIsUnderstoodByTheFoot(t *testing.T) {
	rows := []struct {
		name    string
		refusal *Refusal
		kind    DialKind
		code    common.ErrorCode
	}{
		{"another name", &Refusal{Err: fault.New(common.ErrorCodeIdentityMismatch)}, DialHandshake, common.ErrorCodeIdentityMismatch},
		{"draining", &Refusal{Err: fault.New(common.ErrorCodeDraining), CloseCode: CloseRestart}, DialHandshake, common.ErrorCodeDraining},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := startBrain(t, brainOptions{welcome: func(*frames.Hello) (*frames.Welcome, *Refusal) { return nil, row.refusal }})
				err := dialError(t, b, DialConfig{})
				if err.Kind != row.kind || err.Fault.Code != row.code {
					t.Fatalf("got %d %v", err.Kind, err)
				}
				if a := b.accept(t); fault.CodeOf(a.err) != row.code {
					t.Fatalf("AcceptConn says %v", a.err)
				}
			})
		})
	}
}

// Each row is what a Brain sends first, and what the Foot makes of it.
func TestFootRefusesABrokenWelcome(t *testing.T) {
	version2 := testWelcome(Config{})
	version2.ProtocolVersion = 2
	rows := []struct {
		name string
		kind int
		send string
		code common.ErrorCode
	}{
		{"a binary message", websocket.BinaryMessage, "x", common.ErrorCodeHandshakeFailed},
		{"no JSON", websocket.TextMessage, "welcome", common.ErrorCodeHandshakeFailed},
		{"another frame", websocket.TextMessage, string(encoded(t, finish(newID()))), common.ErrorCodeHandshakeFailed},
		{"a later version", websocket.TextMessage, string(encoded(t, version2)), common.ErrorCodeUnsupportedVersion},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, peers := startRawBrain(t)
				result := make(chan *DialError, 1)
				go func() { result <- dialError(t, b, DialConfig{}) }()
				ws := <-peers
				if _, _, err := ws.ReadMessage(); err != nil { // hello
					t.Fatal(err)
				}
				if err := ws.WriteMessage(row.kind, []byte(row.send)); err != nil {
					t.Fatal(err)
				}
				_, message, err := ws.ReadMessage()
				if err != nil {
					t.Fatal(err)
				}
				f, err := new(frames.Decoder).DecodeForBrain(message)
				if err != nil {
					t.Fatal(err)
				}
				expectError(t, f, row.code)
				if code, _ := closeOf(t, ws); code != ClosePolicy {
					t.Fatalf("closed with %d", code)
				}
				if err := <-result; err.Kind != DialHandshake || err.Fault.Code != row.code {
					t.Fatalf("got %d %v", err.Kind, err)
				}
			})
		})
	}
}

func TestBrainThatNeverWelcomesEndsAfterThePhaseTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, peers := startRawBrain(t)
		go func() { readAway(<-peers) }()
		began := time.Now()
		err := dialError(t, b, DialConfig{Config: Config{PhaseTimeout: 5 * time.Second}})
		if err.Fault.Code != common.ErrorCodeHandshakeFailed || !strings.Contains(err.Error(), "expected welcome") {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 5*time.Second || took > 7*time.Second {
			t.Fatalf("after %v", took)
		}
	})
}

func TestServerThatNeverAnswersTheUpgradeIsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				b := make([]byte, 4096)
				for {
					if _, err := far.Read(b); err != nil {
						return
					}
				}
			}()
			return near, nil
		}
		began := time.Now()
		_, _, err := Dial(t.Context(), DialConfig{URL: "ws://brain.test", Tenant: "acme", Hello: testHello(), NetDialContext: dial})
		var failed *DialError
		if !errors.As(err, &failed) || failed.Kind != DialUnreachable {
			t.Fatal(err)
		}
		if took := time.Since(began); took != DefaultPhaseTimeout {
			t.Fatalf("after %v", took)
		}
	})
}

func TestDialEndsWithItsContextWhereverItIs(t *testing.T) {
	stuck := errors.New("enough")
	t.Run("before the upgrade is answered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(stuck) })
			dial := func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					b := make([]byte, 4096)
					for {
						if _, err := far.Read(b); err != nil {
							return
						}
					}
				}()
				return near, nil
			}
			if _, _, err := Dial(ctx, DialConfig{URL: "ws://brain.test", Tenant: "acme", Hello: testHello(), NetDialContext: dial}); !errors.Is(err, stuck) {
				t.Fatal(err)
			}
		})
	})
	t.Run("before welcome", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(stuck) })
			b, peers := startRawBrain(t)
			go func() { readAway(<-peers) }()
			if _, _, err := Dial(ctx, DialConfig{URL: "ws://brain.test", Tenant: "acme", Hello: testHello(), NetDialContext: b.dial}); !errors.Is(err, stuck) {
				t.Fatal(err)
			}
		})
	})
}

func TestRequestThatIsNoUpgradeIsAnsweredInTheFormOfEveryError(t *testing.T) {
	b := startBrain(t, brainOptions{tcp: true})
	response, err := http.Get("http://" + b.ln.Addr().String() + "/brain/acme/ws")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var body struct{ Error, ErrorCode string }
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusBadRequest || body.Error == "" || body.ErrorCode != "handshake_failed" {
		t.Fatalf("%d %+v", response.StatusCode, body)
	}
	if a := b.accept(t); fault.CodeOf(a.err) != common.ErrorCodeHandshakeFailed {
		t.Fatal(a.err)
	}
}

func TestSubprotocolIsFoundAmongOthers(t *testing.T) {
	for header, want := range map[string]bool{
		"":                      false,
		"chat":                  false,
		"vancetope.v1":          true,
		"chat, vancetope.v1":    true,
		"vancetope.v2":          false,
		"vancetope.v1.1, other": false,
	} {
		r := &http.Request{Header: http.Header{}}
		if header != "" {
			r.Header.Set("Sec-WebSocket-Protocol", header)
		}
		if HasSubprotocol(r) != want {
			t.Errorf("%q: want %v", header, want)
		}
	}
}

func expectError(t *testing.T, f frames.Frame, code common.ErrorCode) {
	t.Helper()
	e, ok := f.(*frames.ErrorFrame)
	if !ok {
		t.Fatalf("got %s, want an error frame", f.FrameType())
	}
	if e.Code != code || e.Message == "" {
		t.Fatalf("error frame %s %q, want %s", e.Code, e.Message, code)
	}
}

// dialError dials and wants a *DialError.
func dialError(t *testing.T, b *testBrain, cfg DialConfig) *DialError {
	t.Helper()
	cfg.URL, cfg.Tenant, cfg.Hello, cfg.NetDialContext = "ws://brain.test", "acme", testHello(), b.dial
	_, _, err := Dial(t.Context(), cfg)
	var failed *DialError
	if !errors.As(err, &failed) {
		t.Errorf("got %v, want a *DialError", err)
		return &DialError{Fault: fault.New(common.ErrorCodeInternal)}
	}
	return failed
}

// startRawBrain serves upgraded WebSockets of a peer that does nothing by itself.
func startRawBrain(t *testing.T) (*testBrain, <-chan *websocket.Conn) {
	t.Helper()
	ln := newPipeListener()
	b := &testBrain{ln: ln, dial: ln.DialContext}
	peers := make(chan *websocket.Conn, 4)
	upgrader := websocket.Upgrader{Subprotocols: []string{Subprotocol}}
	b.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { ws.Close() })
		peers <- ws
	})}
	served := make(chan struct{})
	go func() { defer close(served); b.server.Serve(ln) }()
	t.Cleanup(func() { b.server.Close(); <-served })
	return b, peers
}

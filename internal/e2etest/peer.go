package e2etest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Peer is a scripted end of a connection: it sends what the test says, byte
// for byte, and hands over what the other side sent.
type Peer struct {
	*websocket.Conn
	t testing.TB
}

// Subprotocol is the name that both ends ask for.
const Subprotocol = "vancetope.v1"

// Message is a frame as plain JSON, on purpose not of the generated types.
type Message map[string]any

// Str returns a member that is a string, "" otherwise.
func (m Message) Str(name string) string {
	s, ok := m[name].(string)
	if !ok {
		return ""
	}
	return s
}

// DialAsFoot connects to a Brain as a Foot of the given token would and
// finishes the handshake.
func DialAsFoot(t testing.TB, brainURL, tenant, tokenFile string) *Peer {
	t.Helper()
	p, answer, err := TryDialAsFoot(t, brainURL, tenant, tokenFile)
	if err != nil {
		t.Fatalf("dialing as a Foot: %v (%v)", err, answer)
	}
	p.Send(Message{"type": "hello", "protocolVersion": 1, "footId": "", "clientVersion": "scripted",
		"os": "linux", "access": "edit", "grants": []any{}, "features": []any{}})
	p.Expect("welcome")
	return p
}

// TryDialAsFoot only dials: no frame is sent.
func TryDialAsFoot(t testing.TB, brainURL, tenant, tokenFile string) (*Peer, *http.Response, error) {
	t.Helper()
	header := http.Header{}
	if tokenFile != "" {
		header.Set("Authorization", "Bearer "+readToken(t, tokenFile))
	}
	dialer := websocket.Dialer{Subprotocols: []string{Subprotocol}, HandshakeTimeout: Patience}
	conn, answer, err := dialer.Dial("ws"+strings.TrimPrefix(brainURL, "http")+"/brain/"+tenant+"/ws", header)
	if err != nil {
		return nil, answer, err
	}
	t.Cleanup(func() { closeQuietly(conn) })
	return &Peer{conn, t}, answer, nil
}

// FakeBrain is a Brain that only has the socket: each Foot that connects and
// said hello is handed to the test.
type FakeBrain struct {
	URL   string
	Feet  chan *Peer
	Hello chan Message
}

// NewFakeBrain starts one. settings override those told in welcome.
func NewFakeBrain(t testing.TB, settings Message) *FakeBrain {
	t.Helper()
	b := &FakeBrain{Feet: make(chan *Peer, 16), Hello: make(chan Message, 16)}
	welcome := Message{"chunkSize": 65536, "maxFrameSize": 4 << 20, "phaseTimeoutMs": 30000,
		"pingIntervalMs": 20000, "maxUploadSize": 100 << 20, "maxDownloadSize": 100 << 20}
	for name, value := range settings {
		welcome[name] = value
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{Subprotocols: []string{Subprotocol}}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return // the Foot went away
		}
		p := &Peer{conn, t}
		var hello Message
		if conn.ReadJSON(&hello) != nil {
			return
		}
		b.Hello <- hello
		tenant := strings.Split(r.URL.Path, "/")[2]
		p.Send(Message{"type": "welcome", "protocolVersion": 1, "connectionId": "0198c0de-0000-7000-8000-000000000001",
			"tenant": tenant, "projectId": "proj-research", "footId": "laptop", "features": []any{}, "settings": welcome})
		b.Feet <- p
	}))
	t.Cleanup(server.Close)
	b.URL = server.URL
	return b
}

// AwaitFoot returns the next Foot that connected.
func (b *FakeBrain) AwaitFoot(t testing.TB) *Peer {
	t.Helper()
	select {
	case p := <-b.Feet:
		t.Cleanup(func() { closeQuietly(p) })
		return p
	case <-time.After(Patience):
		t.Fatal("no Foot connects")
		return nil
	}
}

// Send sends a frame.
func (p *Peer) Send(m Message) {
	p.t.Helper()
	if err := p.WriteJSON(m); err != nil {
		p.t.Errorf("sending %s: %v", m.Str("type"), err)
	}
}

// SendRaw sends a text message as it is.
func (p *Peer) SendRaw(message string) {
	p.t.Helper()
	if err := p.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		p.t.Errorf("sending %.80s: %v", message, err)
	}
}

// Receive returns the next frame.
func (p *Peer) Receive() Message {
	p.t.Helper()
	if err := p.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		p.t.Fatal(err)
	}
	_, raw, err := p.ReadMessage()
	if err != nil {
		p.t.Fatalf("waiting for a frame: %v", err)
	}
	var m Message
	if err := json.Unmarshal(raw, &m); err != nil {
		p.t.Fatalf("frame %.200q: %v", raw, err)
	}
	return m
}

// Expect returns the next frame, which must be of that type.
func (p *Peer) Expect(frameType string) Message {
	p.t.Helper()
	m := p.Receive()
	if m.Str("type") != frameType {
		p.t.Fatalf("got %v, want a %s", m, frameType)
	}
	return m
}

// ExpectOf is Expect for a frame of one transfer.
func (p *Peer) ExpectOf(transferID, frameType string) Message {
	p.t.Helper()
	m := p.Expect(frameType)
	if m.Str("transferId") != transferID {
		p.t.Fatalf("got %v, want a %s of %s", m, frameType, transferID)
	}
	return m
}

// AwaitOf passes frames by until the wanted one comes.
func (p *Peer) AwaitOf(transferID, frameType string) Message {
	p.t.Helper()
	for {
		m := p.Receive()
		if m.Str("transferId") == transferID && m.Str("type") == frameType {
			return m
		}
	}
}

// closeCode is the close code that an error of reading tells, 0 for another.
func closeCode(err error) int {
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		return closed.Code
	}
	return 0
}

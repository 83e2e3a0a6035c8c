// Package broken makes a peer that breaks the protocol in one way: a proxy in front
// of a sound Brain or Foot which changes what that says or hears. The checker's own
// tests hold every rule against the fault that it is there to find.
package broken

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Message is one message on its way. Members is nil for what is no JSON object.
type Message struct {
	Raw     []byte
	Binary  bool
	Members map[string]any
}

// Type is the type of a frame, "" for another message.
func (m *Message) Type() string { return m.Text("type") }

// Text is a member that is a string, "" otherwise.
func (m *Message) Text(name string) string {
	text, _ := m.Members[name].(string)
	return text
}

// With is a copy of a message with members set; nil takes one away.
func (m *Message) With(changes map[string]any) *Message {
	members := map[string]any{}
	for name, value := range m.Members {
		members[name] = value
	}
	for name, value := range changes {
		members[name] = value
		if value == nil {
			delete(members, name)
		}
	}
	return Frame(members)
}

// null is a member that is null, where nil would take it away.
var null = json.RawMessage("null")

// Frame is a message of these members, its type first.
func Frame(members map[string]any) *Message {
	raw, err := json.Marshal(members)
	if err != nil {
		panic(err) // they are plain values
	}
	return &Message{Raw: raw, Members: members}
}

// Fault is one way to break the protocol.
type Fault struct {
	Name    string
	Says    func(*Link, *Message) []*Message // what the peer says becomes these
	Hears   func(*Link, *Message) []*Message // what the peer is told becomes these
	Refusal func(*http.Response)             // changes the answer to an upgrade that was refused
	Result  func(text string) string         // changes the answers of a Brain's MCP
	Asked   func(text string) string         // changes the requests to a Brain's MCP

	NoSubprotocol bool // the upgrade does not name the subprotocol
	NoPings       bool // the peer's pings go missing
	NoPongs       bool // the peer's pongs go missing
	Pongs         bool // the peer's pings are answered for whoever is silent
	CloseCode     int  // every close code of the peer becomes this
	Shy           bool // a Foot stays away after its first connection
	KnocksWrongly bool // a Foot asks with a wrong token before it asks with the right one
	HoldsResults  bool // results of tools wait for a transfer_finish
}

// Proxy stands between the checker and a sound peer.
type Proxy struct {
	URL string

	upstream *url.URL
	brain    bool // the peer is a Brain, which the checker calls through this proxy
	server   *http.Server
	forward  *httputil.ReverseProxy

	mu       sync.Mutex
	fault    *Fault
	links    map[*Link]bool
	served   int           // connections that got a welcome since the fault was set
	finished chan struct{} // closed once a transfer_finish was heard
}

// NewProxy begins to listen in front of a Brain at an upstream URL, or in front of a
// Foot, whose upstream is the checker.
func NewProxy(upstream string, brain bool) (*Proxy, error) {
	u, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{URL: "http://" + socket.Addr().String(), upstream: u, brain: brain, fault: &Fault{},
		links: map[*Link]bool{}, finished: make(chan struct{})}
	p.forward = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(u) },
		FlushInterval:  -1,
		ModifyResponse: p.changeResult,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: 10 * time.Second}
	go p.server.Serve(socket) // ends with Close
	return p, nil
}

// Set changes the fault, and ends the connections of the one before.
func (p *Proxy) Set(f *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.served, p.finished = f, 0, make(chan struct{})
	for l := range p.links {
		l.cut()
	}
}

// Close ends everything.
func (p *Proxy) Close() {
	p.Set(&Fault{})
	_ = p.server.Close() // nothing is lost with it
}

func (p *Proxy) now() (*Fault, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault, p.served
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/brain/") {
		p.link(w, r)
		return
	}
	if f, _ := p.now(); f.Asked != nil && r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		body = []byte(f.Asked(string(body)))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	p.forward.ServeHTTP(w, r)
}

// changeResult changes what a Brain's MCP answers.
func (p *Proxy) changeResult(r *http.Response) error {
	f, _ := p.now()
	p.mu.Lock()
	finished := p.finished
	p.mu.Unlock()
	if f.Result == nil && !f.HoldsResults {
		return nil
	}
	r.Header.Del("Content-Length")
	r.ContentLength = -1
	body := r.Body
	out, in := io.Pipe()
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := body.Read(buffer)
			text := string(buffer[:n])
			if f.Result != nil {
				text = f.Result(text)
			}
			if f.HoldsResults && strings.Contains(text, `"structuredContent"`) && strings.Contains(text, "bytesWritten") {
				select {
				case <-finished:
				case <-time.After(5 * time.Second):
				}
			}
			if _, werr := in.Write([]byte(text)); err == nil {
				err = werr
			}
			if err != nil {
				in.CloseWithError(err)
				_ = body.Close() // it was read
				return
			}
		}
	}()
	r.Body = struct {
		io.Reader
		io.Closer
	}{out, closers{out, body}}
	return nil
}

type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, one := range c {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// Link is one connection through the proxy.
type Link struct {
	Nth    int            // 0 until a connection got its welcome since the fault was set
	Memory map[string]any // the fault's own

	proxy *Proxy
	fault *Fault
	work  sync.Mutex // one message at a time
	ends  map[bool]*end
}

// end is one side of a link.
type end struct {
	ws    *websocket.Conn
	write sync.Mutex
}

func (e *end) send(m *Message) {
	kind := websocket.TextMessage
	if m.Binary {
		kind = websocket.BinaryMessage
	}
	e.write.Lock()
	defer e.write.Unlock()
	_ = e.ws.WriteMessage(kind, m.Raw) // its reader notices the end
}

func (e *end) control(kind int, data string) error {
	e.write.Lock()
	defer e.write.Unlock()
	_ = e.ws.WriteControl(kind, []byte(data), time.Now().Add(time.Second))
	return nil
}

func (l *Link) cut() {
	for _, e := range l.ends {
		_ = e.ws.NetConn().Close()
	}
}

// Say sends the checker something in the peer's name.
func (l *Link) Say(members map[string]any) { l.ends[false].send(Frame(members)) }

// Tell sends the peer something in the checker's name.
func (l *Link) Tell(members map[string]any) { l.ends[true].send(Frame(members)) }

// link joins two WebSockets.
func (p *Proxy) link(w http.ResponseWriter, r *http.Request) {
	f, nth := p.now()
	if f.Shy && nth > 0 {
		http.Error(w, `{"error":"away","errorCode":"draining"}`, http.StatusServiceUnavailable)
		return
	}
	header := http.Header{}
	for _, name := range []string{"Authorization", "Sec-WebSocket-Protocol"} {
		if value := r.Header.Get(name); value != "" {
			header.Set(name, value)
		}
	}
	target := "ws://" + p.upstream.Host + r.URL.Path
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	dialer := websocket.Dialer{}
	if f.KnocksWrongly {
		wrong := header.Clone()
		wrong.Set("Authorization", "Basic x")
		if ws, _, err := dialer.DialContext(ctx, target, wrong); err == nil {
			_ = ws.Close() // it should have been refused
		}
	}
	up, answer, err := dialer.DialContext(ctx, target, header)
	if err != nil {
		refuse(w, f, answer)
		return
	}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	if protocol := up.Subprotocol(); protocol != "" && !f.NoSubprotocol {
		upgrader.Subprotocols = []string{protocol}
	}
	down, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		_ = up.Close() // nobody wants it any more
		return
	}
	l := &Link{Nth: nth, Memory: map[string]any{}, proxy: p, fault: f}
	l.ends = map[bool]*end{p.brain: {ws: up}, !p.brain: {ws: down}}
	p.mu.Lock()
	current := p.fault == f
	if current {
		p.links[l] = true
	}
	p.mu.Unlock()
	if !current {
		l.cut()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.pump(true) })
	both.Go(func() { l.pump(false) })
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// refuse passes on an upgrade that was refused.
func refuse(w http.ResponseWriter, f *Fault, answer *http.Response) {
	if answer == nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if f.Refusal != nil {
		f.Refusal(answer)
	}
	for _, name := range []string{"Content-Type", "Www-Authenticate"} {
		if value := answer.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body) // the client may have gone
}

// pump carries what comes from one end to the other: from the peer under test, or
// to it.
func (l *Link) pump(fromPeer bool) {
	from, to := l.ends[fromPeer], l.ends[!fromPeer]
	f := l.fault
	from.ws.SetPingHandler(func(data string) error {
		if fromPeer && f.Pongs {
			return from.control(websocket.PongMessage, data)
		}
		if fromPeer && f.NoPings {
			return nil
		}
		return to.control(websocket.PingMessage, data)
	})
	from.ws.SetPongHandler(func(data string) error {
		if fromPeer && f.NoPongs {
			return nil
		}
		return to.control(websocket.PongMessage, data)
	})
	from.ws.SetCloseHandler(func(code int, text string) error {
		if fromPeer && f.CloseCode != 0 {
			code = f.CloseCode
		}
		message := websocket.FormatCloseMessage(code, text)
		return to.control(websocket.CloseMessage, string(message))
	})
	hook := f.Hears
	if fromPeer {
		hook = f.Says
	}
	for {
		kind, raw, err := from.ws.ReadMessage()
		if err != nil {
			break
		}
		m := &Message{Raw: raw, Binary: kind == websocket.BinaryMessage}
		l.noteWelcome(raw)
		if !fromPeer {
			l.noteFinish(raw)
		}
		if hook == nil {
			to.send(m)
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if decoder.Decode(&m.Members) != nil {
			m.Members = nil
		}
		l.work.Lock()
		for _, changed := range hook(l, m) {
			to.send(changed)
		}
		l.work.Unlock()
	}
	// What the other end still has to say, such as a close frame, may go out.
	time.AfterFunc(100*time.Millisecond, func() { _ = to.ws.NetConn().Close() })
}

// noteWelcome counts the connections that became one.
func (l *Link) noteWelcome(raw []byte) {
	if !bytes.Contains(raw, []byte(`"type":"welcome"`)) {
		return
	}
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.proxy.fault == l.fault {
		l.proxy.served++
	}
}

// noteFinish tells results that wait for one of a transfer_finish.
func (l *Link) noteFinish(raw []byte) {
	if !l.fault.HoldsResults || !bytes.Contains(raw, []byte(`"transfer_finish"`)) {
		return
	}
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	select {
	case <-l.proxy.finished:
	default:
		close(l.proxy.finished)
	}
}

package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/frames"
)

// Listener takes the connections of a Foot as a Brain would.
type Listener struct {
	URL    string // http://host:port
	Tenant string
	Token  string

	server  *http.Server
	arrived chan *Conn
	closing chan struct{}
	once    sync.Once

	mu       sync.Mutex
	problems []string // of requests that did not become a connection
}

// Listen begins to listen. Feet must show the token.
func Listen(address, tenant, token string) (*Listener, error) {
	socket, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	l := &Listener{URL: "http://" + socket.Addr().String(), Tenant: tenant, Token: token,
		arrived: make(chan *Conn), closing: make(chan struct{})}
	l.server = &http.Server{Handler: http.HandlerFunc(l.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := l.server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			l.problem("the listener ended: %v", err)
		}
	}()
	return l, nil
}

func (l *Listener) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// Problems returns what was wrong with requests since the last call.
func (l *Listener) Problems() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.problems
	l.problems = nil
	return found
}

func (l *Listener) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/brain/"+l.Tenant+"/ws":
		l.problem("asked for %q, the WebSocket is at /brain/%s/ws", r.URL.Path, l.Tenant)
		http.Error(w, `{"error":"file not found","errorCode":"not_found"}`, http.StatusNotFound)
		return
	case r.Header.Get("Authorization") != "Bearer "+l.Token:
		l.problem("the Authorization header is not Bearer and the token")
		http.Error(w, `{"error":"missing, unknown, revoked or expired token","errorCode":"unauthorized"}`, http.StatusUnauthorized)
		return
	case !slices.Contains(websocket.Subprotocols(r), Subprotocol):
		l.problem("the subprotocol %s is not offered, but %q", Subprotocol, strings.Join(websocket.Subprotocols(r), ", "))
		http.Error(w, `{"error":"expected hello","errorCode":"handshake_failed"}`, http.StatusBadRequest)
		return
	}
	upgrader := websocket.Upgrader{Subprotocols: []string{Subprotocol}, CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		l.problem("the upgrade failed: %v", err)
		return
	}
	c := newConn(ws, judge{})
	c.Request = r
	select {
	case l.arrived <- c:
	case <-c.ended: // it went before anybody wanted it
	case <-l.closing:
		c.Cut()
	}
}

// Accept takes the next connection of the Foot. No frame was sent on it yet.
func (l *Listener) Accept(ctx context.Context) (*Conn, error) {
	for {
		select {
		case c := <-l.arrived:
			if c.Alive() {
				return c, nil
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("no Foot connected: %w", context.Cause(ctx))
		}
	}
}

// Close ends the listener.
func (l *Listener) Close() {
	l.once.Do(func() { close(l.closing) })
	_ = l.server.Close() // nothing is lost with it
}

// AwaitHello takes the Foot's hello.
func (c *Conn) AwaitHello(limit time.Duration) (*frames.Hello, error) {
	m, err := c.Await(limit, func(*Message) bool { return true })
	if err != nil {
		return nil, fmt.Errorf("no hello: %w", err)
	}
	h, ok := m.Frame.(*frames.Hello)
	if !ok {
		return nil, fmt.Errorf("the first message is no hello: %s", Brief(m.Raw))
	}
	c.Hello = h
	return h, nil
}

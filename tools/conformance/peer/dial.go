package peer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

// Request says how a WebSocket is asked for.
type Request struct {
	URL            string // ws:// or wss://, of the WebSocket itself
	Token          string // "" sends none
	NoSubprotocol  bool
	OtherAuthority string // an Authorization header in place of the token's
}

// RefusedError is an upgrade that was answered with an HTTP status.
type RefusedError struct {
	Status int
	Header http.Header
	Body   []byte
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("HTTP %d: %s", e.Status, Brief(e.Body))
}

// Dial opens a WebSocket at a Brain. No frame is sent yet.
func Dial(ctx context.Context, r Request) (*Conn, error) {
	dialer := websocket.Dialer{HandshakeTimeout: 20 * time.Second}
	if !r.NoSubprotocol {
		dialer.Subprotocols = []string{Subprotocol}
	}
	header := http.Header{}
	switch {
	case r.OtherAuthority != "":
		header.Set("Authorization", r.OtherAuthority)
	case r.Token != "":
		header.Set("Authorization", "Bearer "+r.Token)
	}
	ws, response, err := dialer.DialContext(ctx, r.URL, header)
	if err != nil && response != nil && response.StatusCode != http.StatusSwitchingProtocols {
		// The body that the dialer hands over is short and in memory.
		body, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
		return nil, &RefusedError{Status: response.StatusCode, Header: response.Header, Body: body}
	}
	if err != nil {
		return nil, err
	}
	c := newConn(ws, judge{asFoot: true})
	c.Response = response
	return c, nil
}

// NewHello is what a Foot of this checker says of itself.
func NewHello(features []string) *frames.Hello {
	if features == nil {
		features = []string{}
	}
	return &frames.Hello{ProtocolVersion: 1, ClientVersion: "conformance", Os: common.OsLinux,
		Access: common.AccessEdit, Grants: []common.Grant{}, Features: features}
}

// AwaitWelcome takes the Brain's welcome, from which the features in force count.
func (c *Conn) AwaitWelcome(limit time.Duration) (*frames.Welcome, error) {
	m, err := c.Await(limit, func(*Message) bool { return true })
	if err != nil {
		return nil, fmt.Errorf("no welcome: %w", err)
	}
	w, ok := m.Frame.(*frames.Welcome)
	if !ok {
		return nil, fmt.Errorf("the answer to hello is no welcome: %s", Brief(m.Raw))
	}
	c.Welcome = w
	c.SetFeatures(frames.ParseFeatures(w.Features))
	return w, nil
}

// WebSocketURL is the address of a tenant's WebSocket, from an http or https URL of
// the tenant at a Brain, as in http://127.0.0.1:9990/brain/acme.
func WebSocketURL(tenantURL string) string {
	return "ws" + strings.TrimPrefix(tenantURL, "http") + "/ws"
}

package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// DialConfig is what a Foot needs to reach its Brain.
type DialConfig struct {
	Config
	// URL of the Brain, see BrainURL.
	URL    string
	Tenant string
	Token  string
	// Hello is sent first.
	Hello *frames.Hello
	// TLS configures wss; nil means the system's roots.
	TLS *tls.Config
	// Proxy says which proxy is on the way; nil means EnvironmentProxy. It is not
	// asked where NetDialContext is set.
	Proxy func(*http.Request) (*url.URL, error)
	// NetDialContext opens the connection below; nil means TCP.
	NetDialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dial connects a Foot to its Brain and shakes hands. Its error is a *DialError, or
// ctx's cause. It takes at most two phase timeouts.
func Dial(ctx context.Context, cfg DialConfig) (*Conn, *frames.Welcome, error) {
	cfg.Config = cfg.Config.withDefaults()
	u, err := BrainURL(cfg.URL, cfg.Tenant)
	if err != nil {
		return nil, nil, &DialError{Kind: DialUnreachable, Fault: fault.Texted(common.ErrorCodeInvalidRequest, err.Error()), Cause: err}
	}
	ws, m, err := cfg.upgrade(ctx, u.String())
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		return nil, nil, err
	}
	c := newConn(ws, m, cfg.Config, roleFoot)
	welcome, err := c.awaitWelcome(ctx, cfg.Hello)
	if err != nil {
		c.farewell()
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		return nil, nil, err
	}
	c.keepAlive()
	return c, welcome, nil
}

// upgrade opens the WebSocket.
func (cfg *DialConfig) upgrade(ctx context.Context, address string) (*websocket.Conn, *meter, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.PhaseTimeout)
	defer cancel()
	dial := cfg.NetDialContext
	var proxy *url.URL // on which a tunnel is asked for
	dialer := websocket.Dialer{
		ReadBufferSize:  readBufferSize,
		WriteBufferSize: fragmentSize,
		WriteBufferPool: &writeBuffers,
		Subprotocols:    []string{Subprotocol},
		TLSClientConfig: cfg.TLS,
	}
	if dial == nil {
		dial = new(net.Dialer).DialContext
		found, err := cfg.proxyFor(address)
		if err != nil {
			return nil, nil, unreachable(err)
		}
		if found != nil && !tunnels(found) {
			dialer.Proxy = http.ProxyURL(found)
		} else {
			proxy = found
		}
	}
	var m *meter
	var stop func() bool
	dialer.NetDialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		below := address
		if proxy != nil {
			below = proxyAddress(proxy)
		}
		c, err := dial(ctx, network, below)
		if err != nil {
			if proxy != nil {
				err = throughProxy(proxy, err)
			}
			return nil, err
		}
		m = newMeter(c)
		// The dialer knows the context's deadline only, not its end.
		stop = context.AfterFunc(ctx, m.closeSocket)
		if proxy == nil {
			return m, nil
		}
		way, err := tunnel(ctx, m, proxy, address)
		if err != nil {
			m.closeSocket()
		}
		return way, err
	}
	ws, response, err := dialer.DialContext(ctx, address, http.Header{"Authorization": {"Bearer " + cfg.Token}})
	interrupted := stop != nil && !stop()
	if err != nil && response == nil && (ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded)) {
		// The socket was closed under it, or its deadline came a moment before the
		// context's: that would be all that err says.
		return nil, nil, unreachable(noAnswer{cfg.PhaseTimeout, errors.Join(ctx.Err(), err)})
	}
	if err != nil {
		return nil, nil, dialFailed(err, response)
	}
	if interrupted {
		m.closeSocket()
		return nil, nil, unreachable(noAnswer{cfg.PhaseTimeout, ctx.Err()})
	}
	if ws.Subprotocol() != Subprotocol {
		m.closeSocket()
		return nil, nil, &DialError{
			Kind:   DialNotBrain,
			Status: response.StatusCode,
			Fault:  fault.Texted(common.ErrorCodeHandshakeFailed, "no Brain answers there: the server does not speak "+Subprotocol),
		}
	}
	return ws, m, nil
}

// noAnswer is a server that took too long.
type noAnswer struct {
	limit time.Duration
	cause error
}

func (e noAnswer) Error() string { return "no answer within " + e.limit.String() }
func (e noAnswer) Unwrap() error { return e.cause }

func unreachable(err error) *DialError {
	return &DialError{
		Kind:  DialUnreachable,
		Fault: fault.Texted(common.ErrorCodeConnectionLost, "cannot reach the Brain: "+printable(err.Error())),
		Cause: err,
	}
}

// dialFailed sorts the failures of an upgrade.
func dialFailed(err error, response *http.Response) *DialError {
	if response == nil {
		var noTLS tls.RecordHeaderError
		if errors.As(err, &noTLS) && bytes.HasPrefix(noTLS.RecordHeader[:], []byte("HTTP/")) {
			return &DialError{Kind: DialNotBrain, Cause: err,
				Fault: fault.Texted(common.ErrorCodeHandshakeFailed, "the server there speaks no TLS: use http:// or ws://")}
		}
		if errors.As(err, &noTLS) || strings.Contains(err.Error(), "malformed HTTP") {
			return &DialError{
				Kind:  DialNotBrain,
				Fault: fault.Texted(common.ErrorCodeHandshakeFailed, "no Brain answers there: "+printable(err.Error())),
				Cause: err,
			}
		}
		failed := unreachable(err)
		var unknown x509.UnknownAuthorityError
		if errors.As(err, &unknown) {
			failed.Fault = fault.Texted(failed.Fault.Code, failed.Fault.Text+" (if it is an authority of your own, name its file with --ca-file)")
		}
		return failed
	}
	status := response.StatusCode
	body, said := errorBody(response.Body)
	if status == http.StatusBadRequest && strings.Contains(body, "HTTP request to an HTTPS server") {
		return &DialError{Kind: DialNotBrain, Status: status,
			Fault: fault.Texted(common.ErrorCodeHandshakeFailed, "the Brain is reached with TLS only: use https:// or wss://")}
	}
	refuse := func(kind DialKind, code common.ErrorCode, otherwise string) *DialError {
		if said == "" {
			said = otherwise
		}
		return &DialError{Kind: kind, Status: status, Fault: fault.Texted(code, said)}
	}
	switch status {
	case http.StatusUnauthorized:
		return refuse(DialRefused, common.ErrorCodeUnauthorized, fault.New(common.ErrorCodeUnauthorized).Text)
	case http.StatusForbidden:
		return refuse(DialRefused, common.ErrorCodeAccessDenied, fault.New(common.ErrorCodeAccessDenied).Text)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return refuse(DialUnavailable, common.ErrorCodeDraining, "the Brain is not available: "+http.StatusText(status))
	default:
		e := refuse(DialNotBrain, common.ErrorCodeHandshakeFailed, "no Brain at this address and tenant")
		e.Fault = fault.Texted(e.Fault.Code, e.Fault.Text+" (HTTP "+response.Status+")")
		return e
	}
}

// errorBody returns the beginning of an HTTP body, and the text of its error, "" if
// it has none.
func errorBody(r io.Reader) (body, said string) {
	var answer struct {
		Error string `json:"error"`
	}
	b, err := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil || json.Unmarshal(bytes.TrimSpace(b), &answer) != nil {
		return string(b), ""
	}
	return string(b), printable(answer.Error)
}

// awaitWelcome sends hello and reads the answer.
func (c *Conn) awaitWelcome(ctx context.Context, hello *frames.Hello) (*frames.Welcome, error) {
	if err := c.SendControl(hello); err != nil {
		c.Close(ClosePolicy, string(common.ErrorCodeInternal))
		return nil, err
	}
	f, err := c.first(ctx, frames.FrameTypeWelcome)
	if err != nil {
		return nil, handshakeFailed(err)
	}
	switch f := f.(type) {
	case *frames.Welcome:
		c.peerLimit = f.Settings.MaxFrameSize
		c.cfg.PingInterval = pingsOf(c.cfg.PingInterval, time.Duration(f.Settings.PingIntervalMs)*time.Millisecond)
		return f, nil
	case *frames.ErrorFrame:
		c.Close(CloseNormal, "")
		return nil, &DialError{Kind: DialHandshake, Fault: fault.Texted(f.Code, printable(f.Message))}
	default:
		return nil, handshakeFailed(c.refuse(&Refusal{Err: broken(frames.FrameTypeWelcome, "got %s", f.FrameType())}))
	}
}

// handshakeFailed sorts the failures between the upgrade and welcome: a Brain that
// closed to come back later is unavailable, the rest is a broken handshake.
func handshakeFailed(err error) *DialError {
	e := &DialError{Kind: DialHandshake, Fault: fault.From(err), Cause: err}
	var closed *CloseError
	switch {
	case errors.As(err, &closed) && closed.Later():
		e.Kind = DialUnavailable
	case errors.As(err, &closed) && closed.TokenGone():
		e.Kind = DialRefused
	case errors.As(err, &closed):
	case e.Fault.Code == common.ErrorCodeConnectionLost:
		e.Kind = DialUnreachable
	}
	return e
}

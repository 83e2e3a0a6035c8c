package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/internal/safetext"
)

// refusedError means that the Brain does not accept the token.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return fmt.Sprintf("refused (%d): %s", e.status, e.text) }

// unreachableError means that no Brain answered, or that it takes no work.
type unreachableError struct {
	err      error
	answered bool // with an HTTP status: nothing was begun
}

func (e *unreachableError) Error() string { return "the Brain cannot be reached: " + e.err.Error() }
func (e *unreachableError) Unwrap() error { return e.err }

// brokenOffError is a Brain that went away while it had a call.
type brokenOffError struct{ err error }

func (e *brokenOffError) Error() string {
	return "the connection to the Brain broke off during the call: whether it succeeded is not known, the tool transfer_status and brain transfers tell: " + e.err.Error()
}
func (e *brokenOffError) Unwrap() error { return e.err }

// toolClient calls tools as any MCP client would.
type toolClient struct {
	endpoint  string
	token     string
	transport http.RoundTripper
	version   string
	log       *slog.Logger
}

// call calls a tool and returns its structured result. An error is a
// *refusedError, an *unreachableError, a *jsonrpc.Error, or says that the answer
// is no tool's result.
func (c *toolClient) call(ctx context.Context, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	session, road, err := c.connect(ctx, "brain-call", c.progress)
	if err != nil {
		return nil, err
	}
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken("call")
	answer, err := session.CallTool(ctx, params)
	if err != nil {
		return nil, c.callFailed(ctx, session, tool, road.explain(err))
	}
	c.close(session)
	return structured(answer)
}

// callFailed says more of a call that had no result: what there would have been to
// call, or that nobody knows what came of it.
func (c *toolClient) callFailed(ctx context.Context, session *mcp.ClientSession, tool string, err error) error {
	var answered *jsonrpc.Error
	var gone *unreachableError
	var socket *net.OpError
	switch {
	case errors.As(err, &answered) && answered.Code == jsonrpc.CodeInvalidParams:
		return c.withTools(ctx, session, tool, err)
	case errors.As(err, &gone) && !gone.answered && !(errors.As(err, &socket) && socket.Op == "dial"):
		return &brokenOffError{gone.err}
	}
	return err
}

// withTools adds the tools there are to the error of a call of one there is not.
func (c *toolClient) withTools(ctx context.Context, session *mcp.ClientSession, tool string, err error) error {
	list, lerr := session.ListTools(ctx, nil)
	if lerr != nil {
		c.log.Debug("listing the tools", "err", lerr)
		return err
	}
	var names []string
	for _, t := range list.Tools {
		if t.Name == tool {
			return err // it is there: something else is wrong
		}
		names = append(names, t.Name)
	}
	return fmt.Errorf("%w (this token's tools: %s)", err, strings.Join(names, ", "))
}

// connect opens a session, by the road that explains its errors.
func (c *toolClient) connect(ctx context.Context, name string, progress func(context.Context, *mcp.ProgressNotificationClientRequest)) (*mcp.ClientSession, *road, error) {
	road := &road{token: c.token, below: c.transport}
	client := mcp.NewClient(
		&mcp.Implementation{Name: name, Version: c.version},
		&mcp.ClientOptions{
			Capabilities:                &mcp.ClientCapabilities{},
			ProgressNotificationHandler: progress,
		})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:             c.endpoint,
		HTTPClient:           road.client(),
		MaxRetries:           -1,
		DisableStandaloneSSE: true, // progress comes with the call's own answer
	}, nil)
	if err != nil {
		return nil, nil, road.explain(err)
	}
	return session, road, nil
}

func (c *toolClient) close(session *mcp.ClientSession) {
	if err := session.Close(); err != nil {
		c.log.Debug("closing the session", "err", err)
	}
}

// progress logs how far the tool has come.
func (c *toolClient) progress(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	// The number is of no use to people: reading for the digest counts in it too.
	c.log.Info("progress", "state", safetext.Escape(r.Params.Message))
}

// structured returns the result's structured content as JSON: an object that
// says whether the tool succeeded.
func structured(answer *mcp.CallToolResult) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer.StructuredContent); err != nil {
		return nil, err
	}
	var status struct {
		OK *bool `json:"ok"`
	}
	if json.Unmarshal(b.Bytes(), &status) != nil || status.OK == nil {
		return nil, errors.New("the tool's answer does not say whether it succeeded")
	}
	return b.Bytes(), nil
}

// road is the way to a Brain. It adds the token to each request and remembers
// what went wrong on HTTP's level, which the SDK reports as text only.
type road struct {
	token string
	below http.RoundTripper

	mu      sync.Mutex
	trouble error
}

func (r *road) client() *http.Client {
	return &http.Client{
		Transport: r,
		// A redirect would carry the token somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RoundTrip implements http.RoundTripper.
func (r *road) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+r.token)
	response, err := r.below.RoundTrip(request)
	switch {
	case err != nil:
		r.note(&unreachableError{err: withRemedy(err)})
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden:
		r.note(&refusedError{response.StatusCode, reason(response)})
	case response.StatusCode == http.StatusServiceUnavailable, response.StatusCode == http.StatusBadGateway:
		r.note(&unreachableError{err: errors.New(reason(response)), answered: true})
	case response.StatusCode == http.StatusBadRequest && request.URL.Scheme == "http" && speaksTLS(response):
		r.note(&unreachableError{err: errors.New("it is reached with TLS only: use https:// in --url"), answered: true})
	case response.StatusCode == http.StatusNotFound && request.Header.Get(sessionHeader) == "":
		r.note(&unreachableError{err: fmt.Errorf("there is no Brain at this address: %s", reason(response)), answered: true})
	}
	return response, err
}

// withRemedy adds to an error what most likely mends it.
func withRemedy(err error) error {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w (if it is an authority of your own, name its file with --ca-file)", err)
	}
	var noTLS tls.RecordHeaderError
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") || errors.As(err, &noTLS) {
		return fmt.Errorf("%w (the server there speaks no TLS: use http:// in --url)", err)
	}
	return err
}

// speaksTLS reports whether the answer is that of a server which expected TLS:
// the library has a fixed text for it.
func speaksTLS(response *http.Response) bool {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReason))
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), response.Body), response.Body}
	return err == nil && bytes.Contains(text, []byte("HTTP request to an HTTPS server"))
}

// note keeps the first trouble: later ones follow from it.
func (r *road) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trouble == nil {
		r.trouble = err
	}
}

// explain returns the trouble behind an error of the SDK. An error that is no
// answer of the Brain's means that the way to it broke off, or never led to one.
func (r *road) explain(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var answered *jsonrpc.Error
	switch {
	case r.trouble != nil:
		return r.trouble
	case errors.As(err, &answered):
		return err
	}
	return &unreachableError{err: err}
}

// sessionHeader is sent within a session: a 404 then means that the session is
// gone, not the Brain.
const sessionHeader = "Mcp-Session-Id"

// maxReason bounds how much of an error's body is read.
const maxReason = 8 << 10

// reason takes the text out of an error's body and leaves the body readable.
func reason(response *http.Response) string {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReason))
	rest := response.Body
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), rest), rest}
	var body struct {
		Error string `json:"error"`
	}
	if err != nil || json.Unmarshal(text, &body) != nil || body.Error == "" {
		return response.Status
	}
	return safetext.Escape(body.Error)
}

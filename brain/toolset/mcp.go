package toolset

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/brain/refuse"
	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

const (
	// firstStateless is the first protocol version without sessions.
	firstStateless = "2026-07-28"

	versionHeader = "MCP-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"

	// ScopeMeta is the key in a call's _meta under which brain mcp names the scope
	// that owns what the call makes, as the argument scope of
	// workspace_create_ephemeral_dir does.
	ScopeMeta = "io.github.vancetope/scope"

	// maxRequest bounds the body of a request. The largest legal arguments are the
	// 700,000 characters that workspace_write_file takes, each of up to twelve
	// bytes when a client escapes all of them.
	maxRequest = 10 << 20

	instructions = `These tools move files between a person's machine (a "Foot") and this server's workspace. ` +
		`Paths on the person's machine are relative to one folder there, or begin with @NAME/ for a folder that the person granted by that name; paths in the workspace are relative to a RootDir, named by dirName. ` +
		`Create a RootDir with workspace_create_ephemeral_dir first, then client_file_upload copies a file from the person's machine into it and client_file_download copies one out of it. ` +
		`client_list tells which machines are connected, and what may be done there.`
)

// MCPOptions say who may call the tools over HTTP.
type MCPOptions struct {
	// Authenticate returns who sends a request: unauthorized when its token is
	// missing or no good, access_denied when it is of a role other than agent.
	Authenticate func(*http.Request) (Caller, error)
	// Follow has end called once a token is no longer good, with the reason.
	// Nil: tokens are good for ever.
	Follow         func(tokenID string, end func(reason string)) (release func())
	SessionTimeout time.Duration // of the protocol generation that has sessions
	Version        string
	Log            *slog.Logger
}

// MCP serves a tool set by the Model Context Protocol over Streamable HTTP. It
// is two handlers of the SDK over one set: since 2026-07-28 the protocol has no
// sessions and the end of a request cancels its call; before, it has both
// sessions and a message that cancels. The version header tells them apart.
type MCP struct {
	handler   http.Handler
	stateless http.Handler
	stateful  http.Handler
	server    *mcp.Server
	auth      func(*http.Request) (Caller, error)
	follow    func(tokenID string, end func(reason string)) (release func())
	calls     *calls
	posts     posts
	rooms     *workspace.Manager
	log       *slog.Logger
	draining  atomic.Bool
}

// NewMCP returns the handler for /mcp.
func NewMCP(tools *Tools, o MCPOptions) *MCP {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Follow == nil {
		o.Follow = func(string, func(string)) func() { return func() {} }
	}
	m := &MCP{auth: o.Authenticate, follow: o.Follow, calls: newCalls(), rooms: tools.Workspace, log: o.Log}
	m.server = mcp.NewServer(
		&mcp.Implementation{Name: "vancetope-transfer", Title: "Vancetope File Transfer", Version: o.Version},
		&mcp.ServerOptions{
			Instructions: instructions,
			Logger:       o.Log,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		})
	for _, t := range table {
		m.server.AddTool(t.definition(), m.handlerFor(tools, t.name))
	}
	m.server.AddReceivingMiddleware(m.allowedTools, m.sessions)
	server := func(*http.Request) *mcp.Server { return m.server }
	m.stateless = mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true,
		MaxRequestBodyBytes:          maxRequest,
		DisableLocalhostProtection:   true, // see guarded
		Logger:                       o.Log,
	})
	m.stateful = mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		SessionTimeout:             o.SessionTimeout,
		MaxRequestBodyBytes:        maxRequest,
		DisableLocalhostProtection: true, // see guarded
		Logger:                     o.Log,
	})
	m.handler = m.guarded(m.whileGood(refuse.Plain(http.HandlerFunc(m.route))))
	return m
}

func (m *MCP) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// route gives a request to the handler of its protocol generation.
func (m *MCP) route(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(versionHeader) >= firstStateless {
		m.stateless.ServeHTTP(w, r)
		return
	}
	session := r.Header.Get(sessionHeader)
	switch {
	case session == "":
	case r.Method == http.MethodPost:
		defer m.posts.begin(session)()
	case r.Method == http.MethodDelete:
		// The SDK waits for the session's calls before it ends the session, but not
		// for their answers.
		if m.calls.cancel(session, callerOf(auth.TokenInfoFromContext(r.Context()))) {
			m.posts.wait(session, lastAnswers)
		}
	}
	m.stateful.ServeHTTP(w, r)
}

// Drain refuses new requests with 503; those under way go on.
func (m *MCP) Drain() { m.draining.Store(true) }

// Close ends all sessions and the calls in them.
func (m *MCP) Close() {
	m.Drain()
	m.calls.cancelAll()
	for s := range m.server.Sessions() {
		_ = s.Close() // its error is that of a connection which is gone anyway
	}
}

// sessionEnded closes the scope of a session that is over.
func (m *MCP) sessionEnded(p workspace.Project, session string) {
	closed, err := m.rooms.CloseScope(context.Background(), p, workspace.SessionScope(session))
	if err != nil {
		m.log.Error("the scope of a session cannot be closed", "err", err)
	}
	if len(closed) > 0 {
		m.log.Info("RootDirs closed with their session", "dirs", closed)
	}
}

// handlerFor makes a tool callable by the SDK, which hands over the arguments
// as they came.
func (m *MCP) handlerFor(tools *Tools, name string) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		caller := callerOf(r.Extra.TokenInfo)
		session := r.Session.ID()
		if session != "" {
			caller.Scope = workspace.SessionScope(session)
		}
		if name, ok := r.Params.Meta[ScopeMeta].(string); ok && rootfs.CheckSegment("scope", name) == nil {
			caller.Scope = workspace.NamedScope(caller.TokenID, name)
		}
		ctx, done := m.calls.begin(ctx, session, caller)
		defer done()
		news := m.newsFor(ctx, r)
		caller.Watch = news.watch()
		result := tools.Call(ctx, caller, name, r.Params.Arguments)
		news.close()
		return &mcp.CallToolResult{
			StructuredContent: result.Output,
			Content:           []mcp.Content{&mcp.TextContent{Text: result.Text}},
			IsError:           result.Failed,
		}, nil
	}
}

// guarded lets only requests of an agent's token through that no foreign web
// page made. The SDK's own guard, which wants a loopback listener to be called
// by a loopback name, would shut out the clients of a proxy in front; what it
// guards against, a page that reaches this machine by a name of its own, has no
// token to show.
func (m *MCP) guarded(next http.Handler) http.Handler {
	// The SDK takes a caller only from its own middleware, which has no JSON
	// errors: so the token is checked before it, and it only passes it on.
	passOn := auth.RequireBearerToken(
		func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
			caller, ok := r.Context().Value(callerKey{}).(Caller)
			if !ok {
				return nil, auth.ErrInvalidToken
			}
			return &auth.TokenInfo{UserID: caller.TokenID, Extra: map[string]any{callerExtra: caller}}, nil
		},
		&auth.RequireBearerTokenOptions{AllowMissingExpiration: true},
	)(next)
	checked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := m.auth(r)
		switch {
		case err != nil:
			refuse.With(w, err)
		case m.draining.Load():
			refuse.With(w, fault.New(common.ErrorCodeDraining))
		default:
			passOn.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
		}
	})
	return refuse.Foreign(checked)
}

type callerKey struct{}

// callerExtra is the key under which the SDK carries our caller.
const callerExtra = "caller"

// callerOf returns who is behind a request that the middleware let through; the
// zero Caller owns nothing.
func callerOf(info *auth.TokenInfo) Caller {
	if info == nil {
		return Caller{}
	}
	caller, _ := info.Extra[callerExtra].(Caller)
	return caller
}

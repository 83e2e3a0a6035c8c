// Package bridge lets an MCP client that only starts programs use a Brain that
// runs elsewhere: it speaks MCP on two streams and hands each request on. It owns
// the streams and the scope to which everything belongs that is made through it,
// and it closes that scope at its end. What the tools are and do is the Brain's
// affair: nothing of it is known, kept or judged here.
package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/tools"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

const (
	closeScope = "workspace_close_scope"

	// closePatience bounds the closing of the scope: MCP clients kill a program
	// that does not end within some seconds.
	closePatience = 3 * time.Second
)

// Brain is the way to the running Brain. Its failures are *jsonrpc.Error when
// the Brain refused the request itself, and otherwise carry a code.
type Brain interface {
	Tools(ctx context.Context, cursor string) (*mcp.ListToolsResult, error)
	// Call calls a tool for a scope. The end of ctx cancels it; progress, unless
	// nil, is told how far it has come.
	Call(ctx context.Context, c Call) (*mcp.CallToolResult, error)
}

// Call is a tool call on its way to the Brain.
type Call struct {
	Tool      string
	Arguments json.RawMessage
	Scope     string
	Progress  func(*mcp.ProgressNotificationParams)
}

// Options say what a bridge connects.
type Options struct {
	Brain        Brain
	In           io.Reader
	Out          io.Writer
	Server       mcp.Implementation // what the Brain calls itself
	Instructions string
	Log          *slog.Logger
}

type bridge struct {
	Options
	scope string
	used  atomic.Bool // something may belong to the scope
}

// Run serves until the input ends or ctx does, then closes the scope. It fails
// when the output broke or the scope could not be closed.
func Run(ctx context.Context, o Options) error {
	b := &bridge{Options: o, scope: "bridge-" + strings.ToLower(rand.Text()[:16])}
	streams := newLines(o.In, o.Out)
	// The calls end with their client.
	calls, end := context.WithCancel(context.Background())
	defer end()
	server := mcp.NewServer(&o.Server, &mcp.ServerOptions{
		Instructions: o.Instructions,
		Logger:       o.Log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	server.AddTool(&mcp.Tool{Name: anyTool, InputSchema: json.RawMessage(`{"type":"object"}`)}, b.call)
	server.AddReceivingMiddleware(b.handOn(calls))
	session, err := server.Connect(ctx, &ending{streams, end}, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		end()
		_ = session.Close() // its error is that of streams which are given up anyway
	})
	defer stop()
	_ = session.Wait() // however it ended: what matters is whether the output broke
	end()
	return errors.Join(streams.broken(), b.close(context.WithoutCancel(ctx)))
}

// ending is a transport that tells of the end of its input: the SDK itself would
// wait for the calls that are under way.
type ending struct {
	*lines
	end func()
}

// Connect implements mcp.Transport.
func (e *ending) Connect(ctx context.Context) (mcp.Connection, error) {
	if _, err := e.lines.Connect(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Read implements mcp.Connection.
func (e *ending) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := e.lines.Read(ctx)
	if err != nil {
		e.end()
	}
	return m, err
}

// handOn answers what concerns tools with the Brain's own answers.
func (b *bridge) handOn(calls context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(calls, cancel)()
			switch asked := r.(type) {
			case *mcp.ListToolsRequest:
				return b.list(ctx, asked.Params)
			case *mcp.CallToolRequest:
				call, params := *asked, *asked.Params
				ctx = context.WithValue(ctx, toolKey{}, params.Name)
				params.Name, call.Params = anyTool, &params
				return next(ctx, method, &call)
			}
			return next(ctx, method, r)
		}
	}
}

func (b *bridge) list(ctx context.Context, params *mcp.ListToolsParams) (mcp.Result, error) {
	cursor := ""
	if params != nil {
		cursor = params.Cursor
	}
	told, err := b.Brain.Tools(ctx, cursor)
	if err != nil {
		return nil, asProtocolError(err)
	}
	return &mcp.ListToolsResult{Tools: told.Tools, NextCursor: told.NextCursor, Cacheable: told.Cacheable}, nil
}

// anyTool stands for all tools of the Brain in the SDK's eyes, which gives the
// answers of its own tools what each protocol generation wants in them. The list
// does not have it, and a call of that name goes to the Brain as any other.
const anyTool = "any"

// toolKey is the context's key of the name of the tool that was called.
type toolKey struct{}

func (b *bridge) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	b.used.Store(true)
	tool, _ := ctx.Value(toolKey{}).(string)
	news := newsFor(ctx, r)
	answer, err := b.Brain.Call(ctx, Call{Tool: tool, Arguments: r.Params.Arguments, Scope: b.scope, Progress: news.pass()})
	news.stop()
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		return nil, refused
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err() // nobody waits for the answer
	case err != nil:
		b.Log.Warn("a call did not reach its end", "tool", safetext.Escape(tool), "err", safetext.Escape(err.Error()))
		return failure(tool, fault.From(err)), nil
	}
	return &mcp.CallToolResult{Content: answer.Content, StructuredContent: answer.StructuredContent, IsError: answer.IsError}, nil
}

func asProtocolError(err error) error {
	var refused *jsonrpc.Error
	if errors.As(err, &refused) {
		return refused
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: safetext.Escape(err.Error())}
}

// failure is the answer of a tool whose own answer did not arrive; it fits the
// schema of each.
func failure(tool string, f *fault.Error) *mcp.CallToolResult {
	var output any = tools.ClientListOutput{Error: &f.Text, ErrorCode: &f.Code}
	if strings.HasPrefix(tool, "client_file_") {
		none := int64(0)
		output = tools.ClientFileUploadOutput{Error: &f.Text, ErrorCode: &f.Code, BytesWritten: &none}
	}
	return &mcp.CallToolResult{
		StructuredContent: output,
		Content:           []mcp.Content{&mcp.TextContent{Text: strings.Join(strings.Fields(fmt.Sprintf("Failed: %s (%s).", f.Text, f.Code)), " ")}},
		IsError:           true,
	}
}

// close closes the scope, with all RootDirs that were made in it.
func (b *bridge) close(ctx context.Context) error {
	if !b.used.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	arguments, err := json.Marshal(tools.WorkspaceCloseScopeInput{Scope: b.scope})
	if err != nil {
		return err
	}
	answer, err := b.Brain.Call(ctx, Call{Tool: closeScope, Arguments: arguments, Scope: b.scope})
	if err != nil {
		return fmt.Errorf("the RootDirs that were made here stay until they expire: %w", err)
	}
	raw, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		return err
	}
	var told struct {
		Error     string           `json:"error"`
		ErrorCode common.ErrorCode `json:"errorCode"`
		Closed    []string         `json:"closed"`
	}
	if err := json.Unmarshal(raw, &told); err != nil {
		return fmt.Errorf("the Brain's answer is not understood: %w", err)
	}
	switch {
	case told.ErrorCode == common.ErrorCodeAccessDenied:
		return nil // a token that may make nothing has nothing to close
	case answer.IsError:
		return fmt.Errorf("the RootDirs that were made here stay until they expire: %s", safetext.Escape(told.Error))
	}
	b.Log.Info("the scope is closed", "scope", b.scope, "dirs", told.Closed)
	return nil
}

// news passes the progress of one call on, and nothing after its end.
type news struct {
	mu   sync.Mutex
	over bool
	send func(*mcp.ProgressNotificationParams)
}

// newsFor returns the news for a request, nil when its client asked for none.
func newsFor(ctx context.Context, r *mcp.CallToolRequest) *news {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return &news{send: func(p *mcp.ProgressNotificationParams) {
		passed := &mcp.ProgressNotificationParams{ProgressToken: token, Message: p.Message, Progress: p.Progress, Total: p.Total}
		_ = r.Session.NotifyProgress(ctx, passed) // the client is gone: the call's end comes from elsewhere
	}}
}

func (n *news) pass() func(*mcp.ProgressNotificationParams) {
	if n == nil {
		return nil
	}
	return func(p *mcp.ProgressNotificationParams) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if !n.over {
			n.send(p)
		}
	}
}

func (n *news) stop() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = true
}

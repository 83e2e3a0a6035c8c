package toolset

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// lastAnswers is how long requests and sessions whose token is gone may go on, so
// that their calls, which end at once, can still be answered.
const lastAnswers = 400 * time.Millisecond

// whileGood ends a request with its token: the calls in it first, then the
// request.
func (m *MCP) whileGood(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, _ := r.Context().Value(callerKey{}).(Caller)
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer m.follow(caller.TokenID, func(reason string) {
			m.calls.cancelToken(caller.TokenID, reason)
			time.AfterFunc(lastAnswers, cancel)
		})()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// sessions ends a session of the protocol generation that has them with the
// token it was opened with.
func (m *MCP) sessions(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		session, ok := r.GetSession().(*mcp.ServerSession)
		if method != "initialize" || err != nil || !ok || session.ID() == "" {
			return result, err
		}
		caller := callerOf(r.GetExtra().TokenInfo)
		release := m.follow(caller.TokenID, func(reason string) {
			m.calls.cancelToken(caller.TokenID, reason)
			time.AfterFunc(lastAnswers, func() {
				_ = session.Close() // its error is that of a connection which is gone anyway
			})
		})
		go func() {
			_ = session.Wait() // however it ended
			release()
			if !m.draining.Load() { // a restart of Brain closes no scope
				m.sessionEnded(caller.Project, session.ID())
			}
		}()
		return result, nil
	}
}

// allowedTools leaves out of the list what the token does not allow.
func (m *MCP) allowedTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		list, ok := result.(*mcp.ListToolsResult)
		if !ok || err != nil {
			return result, err
		}
		caller := callerOf(r.GetExtra().TokenInfo)
		allowed := *list
		allowed.CacheScope = "private" // what one token may call, no other has to know
		allowed.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *mcp.Tool) bool {
			return byName[t.Name].refusedTo(caller)
		})
		return &allowed, nil
	}
}

// refusedTo reports whether a caller's token does not allow a tool.
func (t tool) refusedTo(c Caller) bool { return t.edits && !c.mayEdit() }

func notAllowed() *fault.Error {
	return fault.Newf(common.ErrorCodeAccessDenied, "the token may only read the workspace")
}

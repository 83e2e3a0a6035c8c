package toolset

import (
	"context"
	"sync"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// calls knows the running calls of each MCP session, so that the end of the
// session ends them.
type calls struct {
	mu   sync.Mutex
	next uint64
	all  map[uint64]call
}

type call struct {
	session string
	tokenID string
	cancel  context.CancelCauseFunc
}

func newCalls() *calls { return &calls{all: make(map[uint64]call)} }

// begin enters a call; done must be called at its end.
func (c *calls) begin(parent context.Context, session string, who Caller) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(parent)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	id := c.next
	c.all[id] = call{session: session, tokenID: who.TokenID, cancel: cancel}
	return ctx, func() {
		c.mu.Lock()
		delete(c.all, id)
		c.mu.Unlock()
		cancel(nil)
	}
}

// cancel ends the calls that a session's own token made in it, and reports whether
// there are any.
func (c *calls) cancel(session string, who Caller) bool {
	return c.cancelWhere(sessionEnded, func(k call) bool { return k.session == session && k.tokenID == who.TokenID })
}

func (c *calls) cancelAll() { c.cancelWhere(stopping, func(call) bool { return true }) }

// cancelToken ends the calls of a token that is no longer good.
func (c *calls) cancelToken(tokenID, reason string) {
	c.cancelWhere(fault.Newf(common.ErrorCodeAccessDenied, "%s", reason), func(k call) bool { return k.tokenID == tokenID })
}

var (
	sessionEnded = fault.Newf(common.ErrorCodeCancelled, "the session ended")
	stopping     = fault.Newf(common.ErrorCodeCancelled, "the Brain is stopping")
)

func (c *calls) cancelWhere(why *fault.Error, match func(call) bool) (found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.all {
		if match(k) {
			k.cancel(why)
			found = true
		}
	}
	return found
}

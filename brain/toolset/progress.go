package toolset

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/gen/common"
)

// news sends the progress notifications of one call, in their order. Those who
// post never wait: what a slow client has not been sent yet is overtaken by newer
// news of the same state.
type news struct {
	send func(*mcp.ProgressNotificationParams) error
	log  *slog.Logger
	over chan struct{} // closed when the sending has ended

	mu     sync.Mutex
	posted *sync.Cond
	queue  []common.TransferStatus
	closed bool
}

// newsFor returns the news for a request, nil when its client asked for none.
func (m *MCP) newsFor(ctx context.Context, r *mcp.CallToolRequest) *news {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	n := &news{log: m.log, over: make(chan struct{}), send: func(p *mcp.ProgressNotificationParams) error {
		p.ProgressToken = token
		return r.Session.NotifyProgress(ctx, p)
	}}
	n.posted = sync.NewCond(&n.mu)
	go n.run()
	return n
}

// watch is what a call's transfer reports to, nil if nobody listens.
func (n *news) watch() func(common.TransferStatus) {
	if n == nil {
		return nil
	}
	return n.post
}

func (n *news) post(s common.TransferStatus) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if last := len(n.queue) - 1; last >= 0 && n.queue[last].State == s.State {
		n.queue[last] = s
		return
	}
	n.queue = append(n.queue, s)
	n.posted.Signal()
}

// close sends what is still to be told and returns when nothing more is sent:
// notifications must not come after the answer.
func (n *news) close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	n.closed = true
	n.posted.Signal()
	n.mu.Unlock()
	<-n.over
}

func (n *news) run() {
	defer close(n.over)
	told, state := -1.0, common.TransferState("")
	for {
		s, ok := n.next()
		if !ok {
			return
		}
		p := progressOf(s)
		if p == nil || s.State == state && p.Progress <= told {
			continue
		}
		// It has to increase, and a Foot may well ask its people only after it
		// has begun.
		p.Progress = max(p.Progress, math.Nextafter(told, math.Inf(1)))
		told, state = p.Progress, s.State
		if err := n.send(p); err != nil {
			// The client is gone, or its request is over: the call's own end
			// comes from elsewhere.
			n.log.Debug("a progress notification was not sent", "err", err)
		}
	}
}

func (n *news) next() (common.TransferStatus, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) == 0 && !n.closed {
		n.posted.Wait()
	}
	if len(n.queue) == 0 {
		return common.TransferStatus{}, false
	}
	s := n.queue[0]
	n.queue = n.queue[1:]
	return s, true
}

// progressOf turns a transfer's standing into one number that only grows: a file
// is gone through twice, once for its hash and once for its bytes, and each state
// counts for one more than the one before. The message tells it in words.
func progressOf(s common.TransferStatus) *mcp.ProgressNotificationParams {
	bytes, size := float64(s.Bytes), float64(s.TotalBytes)
	p := &mcp.ProgressNotificationParams{Message: string(s.State)}
	if size > 0 {
		p.Total = 4 + 2*size
	}
	switch s.State {
	case common.TransferStateQueued:
		p.Progress = 0
		return p
	case common.TransferStateWaitingForApproval:
		p.Progress = 1
		return p
	case common.TransferStateHashing:
		p.Progress = 2 + bytes
	case common.TransferStateStreaming:
		p.Progress = 3 + size + bytes
	case common.TransferStateVerifying:
		p.Progress = 4 + 2*size
		return p
	default:
		return nil // the answer says it
	}
	if size > 0 {
		p.Message = fmt.Sprintf("%s: %d of %d bytes", s.State, s.Bytes, s.TotalBytes)
	}
	return p
}

package toolset

import (
	"sync"
	"time"
)

// posts counts the requests under way in each MCP session, so that the session
// ends only after they are answered.
type posts struct {
	mu  sync.Mutex
	all map[string]*underway
}

type underway struct {
	requests int
	none     chan struct{} // closed when there is none any more
}

// begin enters a request; done must be called when it is answered.
func (p *posts) begin(session string) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]*underway{}
	}
	u := p.all[session]
	if u == nil {
		u = &underway{none: make(chan struct{})}
		p.all[session] = u
	}
	u.requests++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if u.requests--; u.requests == 0 {
			delete(p.all, session)
			close(u.none)
		}
	}
}

// wait waits until no request of a session is under way, at most for a while.
func (p *posts) wait(session string, patience time.Duration) {
	p.mu.Lock()
	u := p.all[session]
	p.mu.Unlock()
	if u == nil {
		return
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-u.none:
	case <-limit.C:
	}
}

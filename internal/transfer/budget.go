package transfer

import (
	"sync"
	"time"
)

const (
	// unwrittenLimit bounds the received bytes of a connection that are not on
	// disk yet. Above it the connection is not read.
	unwrittenLimit = 8 << 20
	// chunkOverhead is what a queued chunk counts beside its memory, so that
	// many tiny ones are bounded too.
	chunkOverhead = 256
)

// budget is the memory of a session's received chunks that are not written yet.
type budget struct {
	mu    sync.Mutex
	freed *sync.Cond
	limit int64
	held  int64
	// waited is the time the reading goroutine spent here, waitingSince the
	// beginning of a wait that is not over.
	waited       time.Duration
	waitingSince time.Time
}

// share is one transfer's part of the budget; under the budget's lock.
type share struct {
	held    int64
	dropped bool
}

func newBudget(limit int64) *budget {
	b := &budget{limit: limit}
	b.freed = sync.NewCond(&b.mu)
	return b
}

// take counts n bytes of a transfer, and waits until they fit. A transfer that
// ended takes nothing and does not wait. A chunk always fits when nothing is held.
func (b *budget) take(s *share, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := func() bool { return !s.dropped && b.held > 0 && b.held+n > b.limit }
	if full() {
		b.waitingSince = time.Now()
		for full() {
			b.freed.Wait()
		}
		b.waited += time.Since(b.waitingSince)
		b.waitingSince = time.Time{}
	}
	if !s.dropped {
		s.held += n
		b.held += n
	}
}

// give gives back n bytes of a transfer.
func (b *budget) give(s *share, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !s.dropped {
		s.held -= n
		b.held -= n
		b.freed.Broadcast()
	}
}

// drop gives back all that a transfer has, for good.
func (b *budget) drop(s *share) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= s.held
	s.held, s.dropped = 0, true
	b.freed.Broadcast()
}

// blocked returns how long the reading goroutine has waited in all.
func (b *budget) blocked() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waitingSince.IsZero() {
		return b.waited
	}
	return b.waited + time.Since(b.waitingSince)
}

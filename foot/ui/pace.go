package ui

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// pace lets every change of state through and thins what lies between, so
// that a fast transfer does not flood its reader.
type pace struct {
	interval time.Duration
	mu       *sync.Mutex
	last     map[uuid.UUID]paced
}

type paced struct {
	state State
	at    time.Time
}

func newPace(interval time.Duration) pace {
	return pace{interval: interval, mu: new(sync.Mutex), last: make(map[uuid.UUID]paced)}
}

// due reports whether t is to be shown. It forgets a transfer that ended.
func (p pace) due(t Transfer, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.State.Ended() {
		delete(p.last, t.ID)
		return true
	}
	before, known := p.last[t.ID]
	if known && before.state == t.State && now.Sub(before.at) < p.interval {
		return false
	}
	p.last[t.ID] = paced{t.State, now}
	return true
}

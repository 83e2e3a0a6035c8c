package hub

import (
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
)

// Ended is a transfer that is over, for those who count and write it down.
type Ended struct {
	TransferID uuid.UUID
	Project    workspace.Project
	Owner      string // the token of the call
	Direction  common.Direction
	Foot       string
	DirName    string
	Path       string // in the RootDir
	Bytes      int64  // published; 0 unless it succeeded
	Hash       string // "" unless it succeeded
	Took       time.Duration
	// Phases are how long it was in each state but the last.
	Phases map[common.TransferState]time.Duration
	Err    error // nil when it succeeded
}

// Load is how much a hub has to do at a moment.
type Load struct {
	Feet    int // connected
	Running int // transfers that have their turn
	Queued  int // transfers that wait for it
}

// Load tells how much there is to do now.
func (h *Hub) Load() Load {
	h.mu.Lock()
	var l Load
	feet := make([]*foot, 0, len(h.all))
	for _, byName := range h.feet {
		l.Feet += len(byName)
	}
	for f := range h.all {
		feet = append(feet, f)
	}
	h.mu.Unlock()
	for _, f := range feet {
		l.Queued += f.slots.waits()
	}
	l.Running = max(h.ledger.count()-l.Queued, 0)
	return l
}

// FootOf returns the name of the Foot at the other end of a transfer that runs or
// ended a short while ago, or nothing.
func (h *Hub) FootOf(p workspace.Project, id uuid.UUID) string {
	e := h.ledger.find(p, id)
	if e == nil {
		return ""
	}
	return e.told.Foot // which never changes
}

// waits is how many wait for their turn.
func (s *slots) waits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// count is how many transfers are begun and not over.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.running)
}

// enters notes that a transfer came into a state at now, and counts the time in
// the one before.
func (e *entry) enters(s common.TransferState, now time.Time) {
	if e.told.State == s {
		return
	}
	e.leaves(now)
	e.told.State = s
}

// leaves counts the time in the state that ends.
func (e *entry) leaves(now time.Time) {
	if e.phases == nil {
		e.phases = make(map[common.TransferState]time.Duration)
	}
	e.phases[e.told.State] += now.Sub(e.since)
	e.since = now
}

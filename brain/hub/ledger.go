package hub

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/transfer"
)

const (
	endedKept    = 10 * time.Minute // how long an ended transfer is still told
	endedKeptMax = 1000             // a project's ended transfers; the oldest go first
)

// ledger remembers the transfers of all projects: the running ones, and those
// that ended within the last ten minutes.
type ledger struct {
	now func() time.Time

	mu       sync.Mutex
	projects map[workspace.Project][]*entry // in the order of their start
	running  map[uuid.UUID]*entry
}

type entry struct {
	told    common.TransferStatus
	started time.Time
	ended   time.Time // zero while it runs
}

func newLedger() *ledger {
	return &ledger{
		now:      time.Now,
		projects: make(map[workspace.Project][]*entry),
		running:  make(map[uuid.UUID]*entry),
	}
}

// begin enters a transfer.
func (l *ledger) begin(p workspace.Project, t common.TransferStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &entry{told: t, started: l.now()}
	e.told.StartedAt = e.started.UTC()
	e.told.State = common.TransferStateQueued
	l.projects[p] = append(l.pruned(p), e)
	l.running[t.TransferID] = e
}

// note takes what a session tells about its transfers.
func (l *ledger) note(ev transfer.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.running[ev.ID]
	switch ev.State {
	case transfer.StateComplete, transfer.StateFailed, transfer.StateCancelled:
		return // the call that began it also ends it
	}
	if e != nil {
		e.told.State = common.TransferState(ev.State)
		e.told.Bytes, e.told.TotalBytes = ev.Bytes, ev.TotalBytes
	}
}

// end notes the outcome of a transfer; bytes is what was published.
func (l *ledger) end(id uuid.UUID, bytes int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.running[id]
	if e == nil {
		return
	}
	delete(l.running, id)
	e.ended = l.now()
	if err == nil {
		e.told.State, e.told.Bytes, e.told.TotalBytes = common.TransferStateComplete, bytes, bytes
		return
	}
	f := fault.From(err)
	e.told.Error, e.told.ErrorCode = &f.Text, &f.Code
	e.told.State = common.TransferStateFailed
	if f.Code == common.ErrorCodeCancelled {
		e.told.State = common.TransferStateCancelled
	}
}

// list returns a project's transfers, the latest first.
func (l *ledger) list(p workspace.Project) []common.TransferStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := l.pruned(p)
	if l.projects[p] = entries; len(entries) == 0 {
		delete(l.projects, p)
	}
	told := make([]common.TransferStatus, 0, len(entries))
	for _, e := range slices.Backward(entries) {
		t := e.told
		t.BytesPerSecond = e.rate(l.now())
		told = append(told, t)
	}
	return told
}

// rate is the speed over the whole transfer.
func (e *entry) rate(now time.Time) int64 {
	if !e.ended.IsZero() {
		now = e.ended
	}
	elapsed := now.Sub(e.started)
	if elapsed <= 0 {
		return 0
	}
	return int64(float64(e.told.Bytes) / elapsed.Seconds())
}

// pruned returns a project's entries without those that ended too long ago or
// are too many. The caller stores the result.
func (l *ledger) pruned(p workspace.Project) []*entry {
	now, ended := l.now(), 0
	for _, e := range l.projects[p] {
		if !e.ended.IsZero() {
			ended++
		}
	}
	return slices.DeleteFunc(l.projects[p], func(e *entry) bool {
		if e.ended.IsZero() || now.Sub(e.ended) < endedKept && ended <= endedKeptMax {
			return false
		}
		ended--
		return true
	})
}

package hub

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/transfer"
)

const (
	endedKept    = 10 * time.Minute // how long an ended transfer is still told
	endedKeptMax = 1000             // a project's ended transfers; the oldest go first
	toldMax      = 1000             // a project's transfers in one list, by the schema
	longestText  = 4096             // of an error, by the schema
	maxRate      = 1 << 50          // bytes per second; what the schema can hold is more
)

// ledger remembers the transfers of all projects: the running ones, and those
// that ended within the last ten minutes.
type ledger struct {
	now func() time.Time

	mu      sync.Mutex
	begun   uint64
	running map[uuid.UUID]*entry
	ended   map[workspace.Project][]*entry // in the order of their ends
}

type entry struct {
	project workspace.Project
	owner   string // the token of the call
	// cancel asks the transfer to end; over is closed when it has.
	cancel  func()
	over    chan struct{}
	watch   func(common.TransferStatus) // may be nil
	number  uint64                      // in the order of the beginnings
	told    common.TransferStatus
	started time.Time
	ended   time.Time // zero while it runs
	since   time.Time // when it came into its state
	phases  map[common.TransferState]time.Duration
}

func newLedger() *ledger {
	return &ledger{
		now:     time.Now,
		running: make(map[uuid.UUID]*entry),
		ended:   make(map[workspace.Project][]*entry),
	}
}

// begin enters a transfer that a token's call asks for.
func (l *ledger) begin(p workspace.Project, owner string, t common.TransferStatus, watch func(common.TransferStatus), cancel func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun++
	e := &entry{project: p, owner: owner, number: l.begun, told: t, started: l.now(),
		cancel: cancel, over: make(chan struct{}), watch: watch}
	e.since = e.started
	e.told.StartedAt = e.started.UTC()
	e.told.State = common.TransferStateQueued
	l.running[t.TransferID] = e
}

// note takes what a session tells about its transfers. The end of one is not
// taken from it: the call that began it ends it.
func (l *ledger) note(ev transfer.Event) {
	switch ev.State {
	case transfer.StateComplete, transfer.StateFailed, transfer.StateCancelled:
		return
	}
	l.mu.Lock()
	if e := l.running[ev.ID]; e != nil {
		e.enters(common.TransferState(ev.State), l.now())
		e.told.Bytes, e.told.TotalBytes = ev.Bytes, ev.TotalBytes
	}
	l.mu.Unlock()
	l.tell(ev.ID)
}

// tell tells the one who watches a running transfer where it stands.
func (l *ledger) tell(id uuid.UUID) {
	l.mu.Lock()
	var watch func(common.TransferStatus)
	var told common.TransferStatus
	if e := l.running[id]; e != nil {
		watch, told = e.watch, e.told
	}
	l.mu.Unlock()
	if watch != nil {
		watch(told)
	}
}

// published notes under which name a file came to the RootDir.
func (l *ledger) published(id uuid.UUID, path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.running[id]; e != nil {
		e.told.Path = path
	}
}

// end notes the outcome of a transfer, bytes being what was published, and
// returns its entry, which does not change any more.
func (l *ledger) end(id uuid.UUID, bytes int64, err error) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.running[id]
	if e == nil {
		return nil
	}
	delete(l.running, id)
	e.ended = l.now()
	e.leaves(e.ended)
	e.conclude(bytes, err)
	close(e.over)
	l.ended[e.project] = append(l.ended[e.project], e)
	l.prune(e.project)
	return e
}

func (e *entry) conclude(bytes int64, err error) {
	if err == nil {
		e.told.State, e.told.Bytes, e.told.TotalBytes = common.TransferStateComplete, bytes, bytes
		return
	}
	f := fault.From(err)
	text := harmless(f.Text)
	e.told.Error, e.told.ErrorCode = &text, &f.Code
	e.told.State = common.TransferStateFailed
	if f.Code == common.ErrorCodeCancelled {
		e.told.State = common.TransferStateCancelled
	}
}

// find returns a project's transfer that is still told.
func (l *ledger) find(p workspace.Project, id uuid.UUID) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.running[id]; e != nil && e.project == p {
		return e
	}
	l.prune(p)
	for _, e := range l.ended[p] {
		if e.told.TransferID == id {
			return e
		}
	}
	return nil
}

// state is where a transfer stands now.
func (l *ledger) state(e *entry) common.TransferState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.told.State
}

// list returns a project's transfers, the latest first.
func (l *ledger) list(p workspace.Project) []common.TransferStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prune(p)
	entries := slices.Clone(l.ended[p])
	for e := range maps.Values(l.running) {
		if e.project == p {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int { return cmp.Compare(b.number, a.number) })
	entries = entries[:min(len(entries), toldMax)]
	told := make([]common.TransferStatus, len(entries))
	for i, e := range entries {
		told[i] = e.told
		told[i].BytesPerSecond = e.rate(l.now())
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
	return int64(min(float64(e.told.Bytes)/elapsed.Seconds(), maxRate))
}

// harmless prepares a failure's text, which may be a peer's, for its readers.
func harmless(s string) string {
	text := []rune(safetext.Escape(s))
	if len(text) > longestText {
		text = append(text[:longestText-1], '…')
	}
	return string(text)
}

// prune forgets a project's transfers that ended too long ago or are too many.
func (l *ledger) prune(p workspace.Project) {
	entries, now := l.ended[p], l.now()
	for len(entries) > 0 && (len(entries) > endedKeptMax || now.Sub(entries[0].ended) >= endedKept) {
		entries[0] = nil // the array behind outlives this
		entries = entries[1:]
	}
	if len(entries) == 0 {
		delete(l.ended, p)
		return
	}
	l.ended[p] = entries
}

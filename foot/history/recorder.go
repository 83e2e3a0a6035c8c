package history

import (
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/foot/ui"
)

// Recorder is a UI that writes the history. Its methods write to the disk: they
// are called through ui.Async.
type Recorder struct {
	log   *slog.Logger
	clock func() time.Time

	mu      sync.Mutex
	dir     string
	file    *file // nil while there is none that can be written
	started map[uuid.UUID]time.Time
}

var _ ui.UI = (*Recorder)(nil)

// NewRecorder returns a recorder that has no folder yet.
func NewRecorder(log *slog.Logger) *Recorder {
	return &Recorder{log: log, clock: time.Now, started: map[uuid.UUID]time.Time{}}
}

// Open writes to the history of a state folder that this process holds from now
// on. What goes wrong is logged: a Foot can do its work without.
func (r *Recorder) Open(dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if dir == r.dir {
		return
	}
	r.leave()
	r.dir = dir
	f, err := open(dir)
	if err != nil {
		r.log.Warn("no history is kept", "folder", dir, "error", err)
		return
	}
	r.file = f
}

// leave runs with mu held.
func (r *Recorder) leave() {
	if r.file == nil {
		return
	}
	if err := r.file.close(); err != nil {
		r.log.Warn("the history did not close", "error", err)
	}
	r.file = nil
}

func (r *Recorder) Transfer(t ui.Transfer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock().UTC()
	started, known := r.started[t.ID]
	if !known {
		started = now
		r.started[t.ID] = now
	}
	if !t.State.Ended() {
		return
	}
	delete(r.started, t.ID)
	if r.file == nil {
		return
	}
	e := Entry{EndedAt: now, StartedAt: started, TransferID: t.ID, Direction: t.Direction, Path: t.Path,
		State: t.State, Bytes: t.Bytes, TotalBytes: t.TotalBytes}
	if t.Fault != nil {
		e.Error, e.ErrorCode = t.Fault.Text, t.Fault.Code
	}
	if err := r.file.add(e); err != nil {
		r.log.Warn("a transfer is not in the history", "transfer", t.ID, "error", err)
	}
}

// Close ends the writing.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
	return nil
}

func (r *Recorder) Connecting(string)                  {}
func (r *Recorder) Connected(ui.Connected)             {}
func (r *Recorder) Disconnected(string)                {}
func (r *Recorder) Reconnecting(time.Duration, string) {}
func (r *Recorder) Refused(string, string)             {}
func (r *Recorder) Stopping(int)                       {}
func (r *Recorder) Approval(ui.Approval)               {}

package sandbox

import (
	"time"

	"github.com/google/uuid"
)

// live are the transfers of this process whose staging files may be there.
// They are entered before the file is made, so that the sweep, which looks at
// them after it saw the file, never takes one of them.
type live map[uuid.UUID]struct{}

// closeWait is how long closing waits for a sweef. One that takes longer ends
// with the process; the next one finishes its work.
const closeWait = time.Second

// startSweep removes what an earlier process left behind. The folder may be
// large, so no transfer waits for it.
func (f *folder) startSweep() {
	go func() {
		defer close(f.swept)
		removed, err := f.root.SweepStaging(f.isLive)
		if removed > 0 {
			f.log.Info("removed staging files of an earlier run", "folder", f.names[0], "files", removed)
		}
		if err != nil {
			f.log.Warn("sweeping staging files", "folder", f.names[0], "error", err)
		}
	}()
}

func (f *folder) isLive(id uuid.UUID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.live[id]
	return ok
}

// enter makes a transfer live. The returned function ends that.
func (f *folder) enter(id uuid.UUID) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[id] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.live, id)
	}
}

func (f *folder) close() error {
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-f.swept:
	case <-timer.C:
	}
	return f.root.Close()
}

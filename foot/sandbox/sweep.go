package sandbox

import (
	"time"

	"github.com/google/uuid"
)

// live are the transfers of this process whose staging files may be there.
// They are entered before the file is made, so that the sweep, which looks at
// them after it saw the file, never takes one of them.
type live map[uuid.UUID]struct{}

// closeWait is how long closing waits for a sweep. One that takes longer ends
// with the process; the next one finishes its work.
const closeWait = time.Second

// startSweep removes what an earlier process left behind. The folder may be
// large, so no transfer waits for it.
func (p *Project) startSweep() {
	p.swept = make(chan struct{})
	go func() {
		defer close(p.swept)
		removed, err := p.root.SweepStaging(p.isLive)
		if removed > 0 {
			p.log.Info("removed staging files of an earlier run", "folder", p.Folder(), "files", removed)
		}
		if err != nil {
			p.log.Warn("sweeping staging files", "folder", p.Folder(), "error", err)
		}
	}()
}

func (p *Project) isLive(id uuid.UUID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.live[id]
	return ok
}

// enter makes a transfer live. The returned function ends that.
func (p *Project) enter(id uuid.UUID) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live[id] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.live, id)
	}
}

func (p *Project) close() error {
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-p.swept:
	case <-timer.C:
	}
	return p.root.Close()
}

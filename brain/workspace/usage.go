package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// remeasure is how old a measured size may be before it is measured again, and
// remeasureFull that where a file would not fit.
const (
	remeasure     = 10 * time.Minute
	remeasureFull = time.Second
)

// usage keeps the files of each project below the quota. What it counts is at
// least what is there: a file that replaces another counts with it until the
// next measurement, which comes before anything is refused.
type usage struct {
	limit   int64 // 0: none
	measure func(Project) (int64, error)
	now     func() time.Time

	mu       sync.Mutex
	projects map[Project]*projectUsage
}

type projectUsage struct {
	bytes    int64 // measured, and published since
	reserved int64 // by files that are being written
	at       time.Time
}

func newUsage(limit int64, measure func(Project) (int64, error), now func() time.Time) *usage {
	return &usage{limit: limit, measure: measure, now: now, projects: make(map[Project]*projectUsage)}
}

// reserve sets n bytes aside for a file, or fails with quota.
func (u *usage) reserve(p Project, n int64) error {
	if u.limit == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.projects[p]
	if q == nil {
		q = &projectUsage{}
		u.projects[p] = q
	}
	age := u.now().Sub(q.at)
	if age >= remeasure || age >= remeasureFull && q.bytes+q.reserved+n > u.limit {
		bytes, err := u.measure(p)
		if err != nil {
			return err
		}
		q.bytes, q.at = bytes, u.now()
	}
	if n > u.limit-q.bytes-q.reserved {
		return fault.Newf(common.ErrorCodeQuota, "%d bytes do not fit: the project has %d of %d (vance.workspace.max-bytes); close RootDirs that are not needed any more", n, q.bytes+q.reserved, u.limit)
	}
	q.reserved += n
	return nil
}

// settle ends a reservation: the file is there, or it is not.
func (u *usage) settle(p Project, n int64, there bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.projects[p]
	if q == nil {
		return
	}
	q.reserved -= n
	if there {
		q.bytes += n
	}
}

// forget has a project measured anew.
func (u *usage) forget(p Project) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if q := u.projects[p]; q != nil {
		q.at = time.Time{}
	}
}

// measure adds up the files of a project.
func (m *Manager) measure(p Project) (int64, error) {
	return sizeOf(filepath.Join(m.root, p.Tenant, p.ProjectID))
}

// Size adds up the files of a RootDir.
func (m *Manager) Size(d Descriptor) (int64, error) {
	return sizeOf(m.place(d.project(), d.DirName).path())
}

// sizeOf adds up the regular files below a folder. It follows no link and opens
// no file; what vanishes meanwhile counts nothing, and our own staging files are
// counted by their reservations.
func sizeOf(folder string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil || !e.Type().IsRegular() || rootfs.Reserved(e.Name()) {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// Staging is a staging file whose bytes count against the quota.
type Staging struct {
	*rootfs.Staging
	settle func(there bool)
}

// Stage opens the place of a file in the RootDir; quota when it does not fit.
func (d *Dir) Stage(p rootfs.Path, id uuid.UUID, o rootfs.StageOptions) (*Staging, error) {
	u, project := d.manager.usage, d.project()
	if err := u.reserve(project, o.Size); err != nil {
		return nil, err
	}
	var once sync.Once
	forget := d.manager.note(d.Root.Leftover(p, id))
	settle := func(there bool) {
		once.Do(func() {
			u.settle(project, o.Size, there)
			forget()
		})
	}
	st, err := d.Root.Stage(p, id, o)
	if err != nil {
		settle(false)
		return nil, err
	}
	return &Staging{Staging: st, settle: settle}, nil
}

// Publish makes the written bytes the target.
func (st *Staging) Publish(ctx context.Context) (rootfs.Published, error) {
	published, err := st.Staging.Publish(ctx)
	if err == nil {
		st.settle(true)
	}
	return published, err
}

// Discard gives the bytes back unless they were published.
func (st *Staging) Discard() error {
	err := st.Staging.Discard()
	st.settle(false)
	return err
}

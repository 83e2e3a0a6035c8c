package workspace

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// Dir is a RootDir in use. All its users share one open root and one lock
// table; it must be released.
type Dir struct {
	Descriptor
	Root  *rootfs.Root
	Holds *rootfs.Holds

	key     siteKey
	site    *site
	manager *Manager
	release func()
}

// Context ends, with a cancelled fault as its cause, when the RootDir is closed.
func (d *Dir) Context() context.Context { return d.site.ctx }

// Again counts one more user of the same RootDir, also when it is being closed.
func (d *Dir) Again() *Dir {
	d.manager.mu.Lock()
	defer d.manager.mu.Unlock()
	d.site.users++
	again := *d
	again.release = sync.OnceFunc(func() { again.manager.leave(again.key, again.site) })
	return &again
}

// Release says that the caller is done with the RootDir. Later calls do nothing.
func (d *Dir) Release() { d.release() }

// Use returns a RootDir for reading and writing, or dir_not_found.
func (m *Manager) Use(ctx context.Context, p Project, dirName string) (*Dir, error) {
	if p.Check() != nil || checkDirName(dirName) != nil {
		return nil, fault.New(common.ErrorCodeDirNotFound)
	}
	key := siteKey{p, dirName}
	s, err := m.enter(key)
	if err != nil {
		return nil, errors.Join(m.Active(p), err)
	}
	release := sync.OnceFunc(func() { m.leave(key, s) })
	// Asked only now: a suspension either is seen here or empties the site of us.
	if err := m.Active(p); err != nil {
		release()
		return nil, err
	}
	// The descriptor is read only now: from here on a closing waits for us.
	d, err := m.descriptors.get(ctx, p, dirName)
	if err != nil {
		release()
		return nil, err
	}
	if m.expiredBut(d.Descriptor, 1) {
		release()
		return nil, fault.Newf(common.ErrorCodeDirNotFound, "it expired")
	}
	root, err := s.open(m.place(p, dirName), m.mask)
	if err != nil {
		release()
		return nil, err
	}
	m.noteUse(ctx, d)
	begun := m.now()
	used := sync.OnceFunc(func() {
		if m.now().Sub(begun) >= m.exactness() {
			m.noteLongUse(context.WithoutCancel(ctx), p, dirName)
		}
		release()
	})
	return &Dir{Descriptor: d.Descriptor, Root: root, Holds: s.holds, key: key, site: s, manager: m, release: used}, nil
}

// site is what the users of one RootDir share while there are any.
type site struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	// guarded by Manager.mu
	users   int
	closing bool
	unused  chan struct{} // closed when a closing site has no users left

	opening sync.Mutex // guards what follows; held while the root is opened
	root    *rootfs.Root
	holds   *rootfs.Holds
}

func newSite() *site {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &site{ctx: ctx, cancel: cancel, unused: make(chan struct{})}
}

// open opens the site's root for its first user.
func (s *site) open(p place, mask fs.FileMode) (*rootfs.Root, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.root != nil {
		return s.root, nil
	}
	root, err := rootfs.Open(p.path(), rootfs.Options{Mask: mask})
	if fault.CodeOf(err) == common.ErrorCodeNotFound {
		return nil, fault.Wrapf(common.ErrorCodeDirNotFound, err, "its folder is gone")
	}
	if err != nil {
		return nil, err
	}
	s.root, s.holds = root, rootfs.NewHolds(root.FoldsCase())
	return root, nil
}

// waitUnused waits until a closing site has no users, at most d.
func (s *site) waitUnused(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.unused:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// enter counts one more user of a RootDir.
func (m *Manager) enter(key siteKey) (*site, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sites[key]
	if s == nil {
		s = newSite()
		m.sites[key] = s
	}
	if s.closing {
		return nil, fault.New(common.ErrorCodeDirNotFound)
	}
	s.users++
	return s, nil
}

// leave counts one user less; the last one closes the open root.
func (m *Manager) leave(key siteKey, s *site) {
	m.mu.Lock()
	s.users--
	last := s.users == 0
	if last && s.closing {
		close(s.unused)
	}
	if last && !s.closing {
		delete(m.sites, key)
	}
	m.mu.Unlock()
	if last {
		m.shut(key, s)
	}
}

// shut ends a site that nobody uses any more.
func (m *Manager) shut(key siteKey, s *site) {
	s.cancel(nil)
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.root == nil {
		return
	}
	if err := s.root.Close(); err != nil {
		m.log.Warn("cannot close a RootDir's descriptor", "dir", key.name, "err", err)
	}
	s.root = nil
}

// beginClosing bars new users. first is false when another closing is under way.
func (m *Manager) beginClosing(key siteKey) (s *site, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s = m.sites[key]
	if s == nil {
		s = newSite()
		m.sites[key] = s
	}
	if s.closing {
		return s, false
	}
	s.closing = true
	if s.users == 0 {
		close(s.unused)
	}
	return s, true
}

// keepOpen takes a closing back that did not come about.
func (m *Manager) keepOpen(key siteKey, s *site) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.closing = false
	s.unused = make(chan struct{})
	if s.users == 0 {
		delete(m.sites, key)
		s.cancel(nil)
	}
}

// forget drops a site whose RootDir is closed, or marked as such.
func (m *Manager) forget(key siteKey, s *site) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sites, key)
}

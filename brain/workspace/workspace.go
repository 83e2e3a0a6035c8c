// Package workspace owns the RootDirs: the folders of a project in which an
// agent's files lie, at <root>/<tenant>/<projectId>/<dirName>/. It creates and
// closes them, says which exist, and hands out each one together with the lock
// table and the life time that all its users share.
//
// It refuses every name that is not a single path segment, a name that is
// taken (also by one that differs in case only, where the file system folds),
// and to follow a link: neither opening a file in a RootDir nor deleting one
// ever leaves its folder. What a RootDir is stands in the state store, never in
// a place that an agent can write.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// closeWait is how long closing a RootDir waits for the transfers inside, which
// it has cancelled, before it removes the folder under them.
const closeWait = 5 * time.Second

// Options say where the RootDirs lie and by which rules files are written.
type Options struct {
	Root     string      // vance.workspace.root; made when missing
	Store    state.Store // where the descriptors are kept
	ModeMask fs.FileMode // vance.transfer.brain-mode-mask
	// Notes is a folder outside Root for notes of what is half-way; "" keeps none.
	Notes string
	// EphemeralTTL is how long a RootDir lives without use, MaxBytes how much the
	// files of a project may take. 0: for ever, any amount.
	EphemeralTTL time.Duration
	MaxBytes     int64
	// TokenGood reports whether a token still is; RootDirs of one that is not go
	// with it. Nil: all are.
	TokenGood func(ctx context.Context, id string) (bool, error)
	Log       *slog.Logger
}

// Project names the owner of RootDirs. Equal project ids of two tenants have
// nothing in common.
type Project struct {
	Tenant    string
	ProjectID string
}

// Manager knows all RootDirs of one Brain.
type Manager struct {
	root        string
	notes       rootfs.Notes
	mask        fs.FileMode
	ttl         time.Duration
	tokenGood   func(ctx context.Context, id string) (bool, error)
	descriptors descriptors
	projects    projects
	usage       *usage
	now         func() time.Time
	since       time.Time // when it was opened: nobody could use a RootDir before
	log         *slog.Logger

	tempMaking sync.Mutex // held while a scope's temp RootDir is looked for and made

	mu      sync.Mutex
	sites   map[siteKey]*site // RootDirs in use or being closed
	resting map[Project]State // projects that are not active
}

type siteKey struct {
	Project
	name string
}

// Open returns the manager of the RootDirs below o.Root. It first puts right
// what a killed process left: closings that were under way are finished, lost
// folders are made again empty, staging files of transfers are removed, and with
// them the empty folders that were made for them.
func Open(ctx context.Context, o Options) (*Manager, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(o.Root, 0o700); err != nil {
		return nil, fmt.Errorf("make the workspace root: %w", err)
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("find the workspace root: %w", err)
	}
	m := &Manager{
		root:        root,
		notes:       rootfs.Notes(o.Notes),
		mask:        o.ModeMask,
		ttl:         o.EphemeralTTL,
		tokenGood:   o.TokenGood,
		descriptors: descriptors{o.Store},
		projects:    projects{o.Store},
		now:         time.Now,
		since:       time.Now(),
		log:         o.Log,
		sites:       make(map[siteKey]*site),
		resting:     make(map[Project]State),
	}
	if m.tokenGood == nil {
		m.tokenGood = func(context.Context, string) (bool, error) { return true, nil }
	}
	m.usage = newUsage(o.MaxBytes, m.measure, func() time.Time { return m.now() })
	if err := m.repair(ctx); err != nil {
		return nil, err
	}
	return m, m.Obey(ctx)
}

// CreateRequest is what the creator of a RootDir may choose.
type CreateRequest struct {
	Type    Type
	DirName string // empty: one is generated
	Creator string // the scope that asks
	Label   string
	// Metadata is kept for the creator and told again.
	Metadata             []string
	DeleteOnCreatorClose bool
}

// maxDirs is how many RootDirs a project may have.
const maxDirs = 1000

// Create makes a RootDir and returns its descriptor.
func (m *Manager) Create(ctx context.Context, p Project, r CreateRequest) (Descriptor, error) {
	if err := p.Check(); err != nil {
		return Descriptor{}, err
	}
	if _, ok := handlers[r.Type]; !ok {
		return Descriptor{}, fault.Newf(common.ErrorCodeInvalidRequest, "unknown RootDir type %q", r.Type)
	}
	if err := m.Active(p); err != nil {
		return Descriptor{}, err
	}
	if all, err := m.descriptors.list(ctx, p); err != nil {
		return Descriptor{}, err
	} else if len(all) >= maxDirs {
		return Descriptor{}, fault.Newf(common.ErrorCodeQuota, "the project has %d RootDirs: close some with workspace_close_dir", len(all))
	}
	if r.DirName != "" {
		if err := checkDirName(r.DirName); err != nil {
			return Descriptor{}, err
		}
		return m.create(ctx, p, r)
	}
	for range generateTries {
		r.DirName = generateName(r.Type)
		d, err := m.create(ctx, p, r)
		if fault.CodeOf(err) != common.ErrorCodeAlreadyExists {
			return d, err
		}
	}
	return Descriptor{}, fault.Newf(common.ErrorCodeAlreadyExists, "no free name was found, choose one")
}

// create makes the folder first: the file system's exclusive mkdir alone knows
// which names are equal to it, and so decides between two creators.
func (m *Manager) create(ctx context.Context, p Project, r CreateRequest) (Descriptor, error) {
	d := Descriptor{
		Tenant:    p.Tenant,
		ProjectID: p.ProjectID,
		DirName:   r.DirName,
		Type:      r.Type,
		Creator:   r.Creator,
		CreatedAt: m.now().UTC(),
		Label:     r.Label,
		Metadata:  r.Metadata,

		DeleteOnCreatorClose: r.DeleteOnCreatorClose,
	}
	d.UsedAt = d.CreatedAt
	place := m.place(p, r.DirName)
	if err := handlers[d.Type].init(place); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return Descriptor{}, fault.Newf(common.ErrorCodeAlreadyExists, "a RootDir %q (names may differ in case only) is there; use it or choose another dirName", r.DirName)
		}
		return Descriptor{}, diskFault(err)
	}
	if err := m.descriptors.create(ctx, d); err != nil {
		if rm := os.Remove(place.path()); rm != nil {
			m.log.Error("cannot remove the folder of a RootDir that was not created", "dir", r.DirName, "err", rm)
		}
		return Descriptor{}, err
	}
	// A suspension that came meanwhile may have missed it.
	if err := m.Active(p); err != nil {
		return Descriptor{}, errors.Join(err, m.CloseDir(ctx, p, d.DirName))
	}
	m.log.Info("RootDir created", "tenant", d.Tenant, "project", d.ProjectID, "dir", d.DirName, "type", d.Type)
	return d, nil
}

// List returns the RootDirs of a project in the order of their names. Those
// being closed are not among them.
func (m *Manager) List(ctx context.Context, p Project) ([]Descriptor, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	all, err := m.descriptors.list(ctx, p)
	if err != nil {
		return nil, err
	}
	open := make([]Descriptor, 0, len(all))
	for _, d := range all {
		if !d.Closing && !m.expired(d.Descriptor) {
			open = append(open, d.Descriptor)
		}
	}
	return open, nil
}

// Tell describes the RootDirs of a project, in the order of their names.
func (m *Manager) Tell(ctx context.Context, p Project) ([]common.RootDir, error) {
	all, err := m.List(ctx, p)
	if err != nil {
		return nil, err
	}
	dirs := make([]common.RootDir, len(all))
	for i, d := range all {
		bytes, err := m.Size(d)
		if err != nil {
			return nil, diskFault(err)
		}
		dirs[i] = common.RootDir{DirName: d.DirName, Type: common.RootDirType(d.Type), Creator: d.Creator, CreatedAt: d.CreatedAt,
			DeleteOnCreatorClose: d.DeleteOnCreatorClose, Bytes: bytes, Metadata: d.Metadata}
		if d.Label != "" {
			dirs[i].Label = &d.Label
		}
		if at := m.ExpiresAt(d).UTC(); m.ttl != 0 {
			dirs[i].ExpiresAt = &at
		}
	}
	return dirs, nil
}

// CloseDir ends a RootDir: what is transferred into or out of it is cancelled,
// then its folder is deleted with everything in it.
func (m *Manager) CloseDir(ctx context.Context, p Project, dirName string) error {
	if p.Check() != nil || checkDirName(dirName) != nil {
		return fault.New(common.ErrorCodeDirNotFound)
	}
	key := siteKey{p, dirName}
	s, first := m.beginClosing(key)
	if !first {
		return fault.New(common.ErrorCodeDirNotFound) // another caller is closing it already
	}
	d, err := m.descriptors.markClosing(ctx, p, dirName)
	if err != nil && fault.CodeOf(err) != common.ErrorCodeDiskFull {
		m.keepOpen(key, s)
		return err
	}
	defer m.forget(key, s)
	m.empty(ctx, key, s, "the RootDir was closed")
	defer m.usage.forget(p)
	if err != nil {
		d, err = m.makeRoom(ctx, p, dirName)
	}
	if err != nil {
		return err
	}
	return m.remove(ctx, d)
}

// makeRoom marks a RootDir as closing on a disk that has no room for the mark: the
// files go first. Where there is still none, an empty RootDir is left.
func (m *Manager) makeRoom(ctx context.Context, p Project, dirName string) (stored, error) {
	d, err := m.descriptors.get(ctx, p, dirName)
	if err != nil {
		return d, err
	}
	if err := handlers[d.Type].close(m.place(p, dirName)); err != nil {
		return d, err
	}
	marked, err := m.descriptors.markClosing(ctx, p, dirName)
	if err != nil {
		return d, errors.Join(err, handlers[d.Type].init(m.place(p, dirName)))
	}
	return marked, nil
}

// empty cancels what is transferred into or out of a RootDir that bars new users,
// and waits for its end.
func (m *Manager) empty(ctx context.Context, key siteKey, s *site, why string) {
	s.cancel(fault.Newf(common.ErrorCodeCancelled, "%s", why))
	if !s.waitUnused(ctx, closeWait) {
		m.log.Warn("RootDir removed while in use", "dir", key.name)
	}
}

// remove deletes the folder of a RootDir that is marked as closing, then its
// descriptor: a crash between the two is finished by the next start.
func (m *Manager) remove(ctx context.Context, d stored) error {
	if err := handlers[d.Type].close(m.place(d.project(), d.DirName)); err != nil {
		return err
	}
	if err := m.descriptors.delete(ctx, d); err != nil {
		return err
	}
	m.log.Info("RootDir closed", "tenant", d.Tenant, "project", d.ProjectID, "dir", d.DirName)
	return nil
}

func (m *Manager) place(p Project, dirName string) place {
	return place{parent: filepath.Join(m.root, p.Tenant, p.ProjectID), name: dirName}
}

// diskFault gives a failed mkdir a code that its reader can act on.
func diskFault(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fault.Wrapf(common.ErrorCodePermissionDenied, err, "the workspace folder")
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.Wrapf(common.ErrorCodeDiskFull, err, "no room for the Brain's workspaces")
	}
	return fault.Wrap(common.ErrorCodeInternal, err)
}

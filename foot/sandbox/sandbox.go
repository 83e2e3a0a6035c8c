// Package sandbox owns the folders of this machine that a Brain may touch: one
// folder per tenant and project below the Foot's root, and those that the person
// granted by name. Whose folder it is comes from the connection, never from a
// frame.
//
// It refuses every path that leaves its folder, follows no link in it, writes
// nothing where the person allows reading only, nor at or below .git, and lets
// one transfer at a time have a target. How that is enforced on the disk is package rootfs's.
package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/rootfs"
)

// Options say how files are written.
type Options struct {
	// Mask is ANDed to the mode of every file that is written.
	Mask fs.FileMode
	// AllowGitWrites lets files be written at and below .git.
	AllowGitWrites bool
	// Access is what a Brain may do at most, in granted folders too; empty means
	// edit.
	Access common.Access
	// Grants are the folders beside the project's own.
	Grants []Grant
	// Note, if set, keeps what is left of a file when this process is killed, from
	// before it is staged until forget is called.
	Note func(rootfs.Leftover) (forget func())
	// Log hears of what no peer is told. May be nil.
	Log *slog.Logger
}

// Sandbox is the Foot's root with the projects that were used in it.
type Sandbox struct {
	given    string // as the user wrote it, made absolute
	resolved string // the same folder without links
	options  Options
	grants   []*folder

	mu       sync.Mutex
	projects map[projectKey]*Project
	closed   bool
}

// projectKey names a project. Folders of two tenants never meet, whatever their
// projects are called.
type projectKey struct{ tenant, id string }

// Open makes the root, for this user alone, and its missing parents. The root
// may be, or be reached through, a link; that is resolved now, once.
func Open(root string, o Options) (*Sandbox, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Note == nil {
		o.Note = func(rootfs.Leftover) func() { return func() {} }
	}
	if o.Access == "" {
		o.Access = common.AccessEdit
	}
	given, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(given, 0o700); err != nil {
		return nil, err
	}
	resolved, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, err
	}
	if err := usable(resolved); err != nil {
		return nil, err
	}
	s := &Sandbox{given: given, resolved: resolved, options: o, projects: make(map[projectKey]*Project)}
	if err := s.openGrants(o.Grants); err != nil {
		return nil, errors.Join(&GrantError{err}, s.Close())
	}
	return s, nil
}

// GrantError is a granted folder that cannot be used.
type GrantError struct{ err error }

func (e *GrantError) Error() string { return e.err.Error() }
func (e *GrantError) Unwrap() error { return e.err }

// Access is what a Brain may do at most.
func (s *Sandbox) Access() common.Access { return s.options.Access }

func (s *Sandbox) rootOptions() rootfs.Options {
	return rootfs.Options{ProtectGit: !s.options.AllowGitWrites, Mask: s.options.Mask}
}

// usable tells at once that a folder cannot be read, rather than at the first
// transfer.
func usable(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	if _, err := f.Readdirnames(1); err != nil && !errors.Is(err, io.EOF) {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// Project returns the folder of a project, the same one every time. The folder
// itself is made by the first write. What an earlier process left behind in it
// is swept at the first call.
func (s *Sandbox) Project(tenant, id string) (*Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the sandbox is closed")
	}
	key := projectKey{tenant, id}
	if p, ok := s.projects[key]; ok {
		return p, nil
	}
	p, err := s.open(tenant, id)
	if err != nil {
		return nil, err
	}
	s.projects[key] = p
	return p, nil
}

func (s *Sandbox) open(tenant, id string) (*Project, error) {
	root, err := rootfs.OpenLazy(s.resolved, s.rootOptions(), tenant, id)
	if err != nil {
		return nil, err
	}
	given := filepath.Join(s.given, tenant, id)
	return &Project{folder: s.newFolder(root, "", s.resolved, given, s.options.Access), grants: s.grants}, nil
}

// Close lets go of all folders. What is open in them stays usable.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var problems []error
	for _, p := range s.projects {
		problems = append(problems, p.close())
	}
	for _, f := range s.grants {
		problems = append(problems, f.close())
	}
	s.projects, s.grants = nil, nil
	return errors.Join(problems...)
}

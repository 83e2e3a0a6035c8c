// Package rootfs owns everything that touches files inside a folder that
// nobody may leave: a Brain's RootDir, a Foot's project folder, a grant.
//
// A path from outside is first cleaned (CleanPath) and then walked one
// component at a time from a held descriptor. No component is ever followed
// when it is a link, not even one that stays inside, and no check is made on a
// name that is later opened again by another path. Files are read through a
// Source, which knows when the file changed underneath it, and written through
// a Staging, a hidden file beside its target that becomes the target by one
// rename.
//
// The package refuses: paths that leave the root, links, names that are its own
// (".vance-"), writes into .git where the root is told so, anything that is not
// a regular file, and to say success before the bytes are on the disk. Every
// error is a *fault.Error.
package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Options say how a root treats what is written into it.
type Options struct {
	// ProtectGit refuses every change at or below a component that git would
	// take for its own folder.
	ProtectGit bool
	// Mask is ANDed to every mode, wherever the mode came from. A zero mask
	// takes all bits away.
	Mask fs.FileMode
	// Faults lets a test make the disk fail. Nil outside tests.
	Faults Faults
}

// Root is a folder and all that lies in it. Its methods may be called from many
// goroutines. Staging files and sources that are open when it is closed stay
// usable.
type Root struct {
	options Options
	faults  Faults
	path    string // as resolved at opening, or as it will be named once made
	lazy    bool   // made on the first write, and again when it was removed
	first   int    // of a lazy root: length of the part of path that must exist

	mu      sync.Mutex
	top     *dir // nil while a lazy root does not exist
	closed  bool
	parents parents
}

// Open opens an existing folder. Links in dir itself are resolved now, once.
func Open(dir string, o Options) (*Root, error) {
	resolved, err := resolve(dir)
	if err != nil {
		return nil, readError(err)
	}
	r := newRoot(resolved, o)
	if r.top, err = openTop(resolved, r.faults); err != nil {
		return nil, readError(err)
	}
	return r, nil
}

// OpenLazy opens the folder base/segments…, which need not exist: it is made
// with the first write, and until then reading from it finds nothing. The base
// must exist. Each segment must pass CheckSegment.
//
// The folders named by the segments are the owner's own, so a link among them is
// resolved like one in the base; nothing a peer sends can make one there.
func OpenLazy(base string, o Options, segments ...string) (*Root, error) {
	resolved, err := resolve(base)
	if err != nil {
		return nil, readError(err)
	}
	full := resolved
	for _, s := range segments {
		if err := CheckSegment("folder name", s); err != nil {
			return nil, err
		}
		full = filepath.Join(full, s)
	}
	r := newRoot(full, o)
	r.lazy, r.first = true, len(resolved)
	top, err := r.acquire(false)
	switch {
	case err == nil:
		top.release()
	case fault.CodeOf(err) != common.ErrorCodeNotFound:
		return nil, err
	}
	return r, nil
}

// Sub opens a folder inside the root as a root of its own, walking to it
// without following a link.
func (r *Root) Sub(p Path, o Options) (*Root, error) {
	if p.IsRoot() {
		return nil, fault.Newf(common.ErrorCodeInvalidPath, "the path is the folder itself")
	}
	d, err := r.openDirectory(p)
	if err != nil {
		return nil, err
	}
	sub := newRoot(filepath.Join(r.path, filepath.FromSlash(p.s)), o)
	d.faults = sub.faults
	sub.top = d
	return sub, nil
}

// Path returns the folder's path on this machine. It is for logs and for the
// owner's eyes; a peer never sees it.
func (r *Root) Path() string { return r.path }

// Close lets go of the folder.
func (r *Root) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.top == nil {
		return nil
	}
	r.top.release()
	r.top = nil
	return nil
}

// FoldsCase reports whether the file system of the root takes names that differ
// in case only for the same name.
func (r *Root) FoldsCase() bool {
	if foldsByName(r.path) {
		return true
	}
	top, err := r.acquire(false)
	if err != nil {
		return false
	}
	defer top.release()
	return top.h.folds()
}

func newRoot(path string, o Options) *Root {
	r := &Root{options: o, faults: o.Faults, path: path}
	if r.faults == nil {
		r.faults = injectedFaults(path)
	}
	return r
}

// acquire returns the root's own folder, retained: the caller releases it.
// A lazy root is looked for again when it was removed meanwhile, and made if
// create is true.
func (r *Root) acquire(create bool) (*dir, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fault.Newf(common.ErrorCodeInternal, "the folder is closed")
	}
	if r.lazy && r.top != nil && r.top.removed() {
		r.top.release()
		r.top = nil
	}
	if r.top == nil {
		top, err := r.openLazy(create)
		if err != nil {
			return nil, err
		}
		r.top = top
	}
	return r.top.retain(), nil
}

func (r *Root) openLazy(create bool) (*dir, error) {
	if create {
		if err := r.makeLazy(); err != nil {
			return nil, writeError(err)
		}
	}
	resolved, err := resolve(r.path)
	if err != nil {
		return nil, readError(err)
	}
	top, err := openTop(resolved, r.faults)
	if err != nil {
		return nil, readError(err)
	}
	return top, nil
}

// makeLazy makes the folders between the base and the root. They are the
// owner's alone, whatever the base is.
func (r *Root) makeLazy() error {
	for end := r.first + 1; end <= len(r.path); end++ {
		if end < len(r.path) && !os.IsPathSeparator(r.path[end]) {
			continue
		}
		if err := r.makeOwn(r.path[:end]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Root) makeOwn(path string) error {
	if err := before(r.faults, OpMkdir, filepath.Base(path)); err != nil {
		return err
	}
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// A umask may have taken the owner's own rights away.
	if err := os.Chmod(path, 0o700); err != nil {
		return err
	}
	return syncPath(filepath.Dir(path))
}

func resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

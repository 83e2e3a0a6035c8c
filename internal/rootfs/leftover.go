package rootfs

import (
	"errors"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Leftover is what a process that is killed leaves of a file that it stages: the
// staging file, and the folders that were made for it. Whoever keeps it on the
// disk while the file is staged can remove all that at the next start, however
// large the folder is and whatever may be written there by then.
type Leftover struct {
	Folder string    `json:"folder"` // the root's
	Target string    `json:"target"`
	ID     uuid.UUID `json:"id"`
	// Present is how many of the folders on the way to the target were there.
	Present int `json:"present"`
}

// Leftover tells what Stage would leave behind. It is asked before.
func (r *Root) Leftover(p Path, id uuid.UUID) Leftover {
	l := Leftover{Folder: r.path, Target: p.s, ID: id}
	d, err := r.acquire(false)
	if err != nil {
		return l // not there yet
	}
	defer func() { d.release() }()
	// A project's folder may be a link that the owner made.
	if resolved, err := resolve(r.path); err == nil {
		l.Folder = resolved
	}
	end := 0
	for component := range p.Dir().components() {
		end += len(component)
		next, err := d.openDir(component)
		if err != nil {
			return l
		}
		d.release()
		d = next
		if r.parents.pending(p.s[:end]) {
			return l // it goes with the last transfer that fails
		}
		l.Present++
		end++
	}
	return l
}

// pending reports whether a folder was made by transfers that are still running.
func (t *parents) pending(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.made[path]
	return m != nil && !m.kept
}

// RemoveLeftovers removes what is left, of one process, without following a link.
// Its errors are of the leftovers at the same places; nil where there is nothing
// more to do. With own the files are this process's: that somebody writes them is
// no reason to let them be.
func RemoveLeftovers(list []Leftover, own bool) []error {
	errs := make([]error, len(list))
	for i, l := range list {
		errs[i] = l.visit(func(r *Root, p Path) error { return r.removeStaging(p, l.ID, own) })
	}
	// A folder may have been made for several files.
	for i, l := range list {
		if errs[i] == nil {
			errs[i] = l.visit(l.removeFolders)
		}
	}
	return errs
}

// visit opens the root for do, unless it is not there any more or is another now.
func (l Leftover) visit(do func(*Root, Path) error) error {
	p, err := CleanPath(l.Target)
	if err != nil {
		return nil // nothing was ever staged for it
	}
	if resolved, err := resolve(l.Folder); err != nil || resolved != l.Folder {
		return noMore(err)
	}
	r, err := Open(l.Folder, Options{})
	if err != nil {
		return noMore(err)
	}
	return errors.Join(noMore(do(r, p)), r.Close())
}

// noMore drops an error that says that the place is gone.
func noMore(err error) error {
	switch fault.CodeOf(readError(err)) {
	case common.ErrorCodeNotFound, common.ErrorCodeSymlinkNotAllowed:
		return nil
	}
	return readError(err)
}

func (r *Root) removeStaging(p Path, id uuid.UUID, own bool) error {
	parent, err := r.openDirectory(p.Dir())
	if err != nil {
		return err
	}
	defer parent.release()
	name := stagingName(id)
	m, err := parent.lstat(name)
	if err != nil || m.kind != KindFile {
		return err
	}
	if !own && parent.inUse(name) {
		return fault.Newf(common.ErrorCodeTargetBusy, "somebody still writes it")
	}
	return parent.unlink(name)
}

func (l Leftover) removeFolders(r *Root, p Path) error {
	made := map[string]bool{}
	end, n := 0, 0
	for component := range p.Dir().components() {
		end += len(component)
		if n >= l.Present {
			made[p.s[:end]] = true
		}
		n++
		end++
	}
	return r.removeEmpty(p.Dir(), made)
}

package rootfs

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
)

// madeDirMode is what missing folders are made with, under the umask.
const madeDirMode fs.FileMode = 0o755

// parents knows the folders that running transfers made on the way to their
// targets. A folder stays for good once something was published below it, and
// goes when the last transfer that counts on it has failed and it is empty.
type parents struct {
	mu   sync.Mutex
	made map[string]*madeDir
}

type madeDir struct {
	path string
	refs int
	kept bool
}

// enter opens a folder of d, making it if it is missing. It joins those who count
// on the folder if a running transfer made it.
func (t *parents) enter(d *dir, name, path string, made *[]*madeDir) (*dir, error) {
	next, err := d.openDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		created, err := t.make(d, name, path, made)
		if err != nil {
			return nil, err
		}
		if created {
			return d.openMade(name)
		}
		return d.openDir(name)
	}
	if err == nil {
		t.join(path, made)
	}
	return next, err
}

// openMade opens a folder that was just made. Under a umask that takes the
// owner's own rights away they have to be given back first.
func (d *dir) openMade(name string) (*dir, error) {
	made, err := d.openDir(name)
	if errors.Is(err, fs.ErrPermission) {
		if err := d.h.allowAll(name); err != nil {
			return nil, err
		}
		return d.openDir(name)
	}
	return made, err
}

func (t *parents) make(d *dir, name, path string, made *[]*madeDir) (created bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = d.mkdir(name, madeDirMode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	created = err == nil
	m := t.made[path]
	if m == nil {
		if !created {
			return false, nil // made by somebody else, who keeps it
		}
		m = &madeDir{path: path}
		if t.made == nil {
			t.made = map[string]*madeDir{}
		}
		t.made[path] = m
	}
	m.refs++
	*made = append(*made, m)
	return created, nil
}

func (t *parents) join(path string, made *[]*madeDir) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.made[path]; m != nil {
		m.refs++
		*made = append(*made, m)
	}
}

// keep lets the folders stay: something was published in them.
func (t *parents) keep(made []*madeDir) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range made {
		m.refs--
		m.kept = true
		t.forget(m)
	}
}

// leave gives up a failed transfer's share in the folders. Those nobody counts on
// any more are handed to remove, and nobody joins them until it returns.
func (t *parents) leave(made []*madeDir, remove func(lonely map[string]bool) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	lonely := map[string]bool{}
	for _, m := range made {
		m.refs--
		if m.refs == 0 && !m.kept {
			t.forget(m)
			lonely[m.path] = true
		}
	}
	return remove(lonely)
}

// forget drops a folder from the table, unless it was removed from outside and
// made anew by another transfer since.
func (t *parents) forget(m *madeDir) {
	if t.made[m.path] == m {
		delete(t.made, m.path)
	}
}

// leaveParents removes the folders on the way to p that only a failed transfer
// wanted, if they are still empty.
func (r *Root) leaveParents(p Path, made []*madeDir) error {
	if len(made) == 0 {
		return nil
	}
	return r.parents.leave(made, func(lonely map[string]bool) error { return r.removeEmpty(p, lonely) })
}

// removeEmpty removes the folders of a set on the way to p, the innermost first,
// as far as they are empty.
func (r *Root) removeEmpty(p Path, set map[string]bool) error {
	var removals []func() error
	err := r.passMade(p, set, func(parent *dir, name string) error {
		parent.retain()
		removals = append(removals, func() error {
			defer parent.release()
			return removeEmpty(parent, name)
		})
		return nil
	})
	for _, remove := range slices.Backward(removals) {
		err = errors.Join(err, remove())
	}
	return err
}

func removeEmpty(parent *dir, name string) error {
	err := parent.rmdir(name)
	if isNotEmpty(err) || errors.Is(err, errNotDirectory) {
		return nil // it is used, or it is something else by now
	}
	return writeError(gone(err))
}

// syncParents makes the names of new folders last: a file is only as safe as the
// folders on the way to it.
func (r *Root) syncParents(p Path, made []*madeDir) error {
	if len(made) == 0 {
		return nil
	}
	paths := map[string]bool{}
	for _, m := range made {
		paths[m.path] = true
	}
	return r.passMade(p, paths, func(parent *dir, _ string) error { return writeError(parent.sync()) })
}

// passMade walks to p once and calls visit for each folder of the set on the way,
// with the folder it lies in. It ends where the way does: what was moved or
// removed meanwhile is no concern of ours any more.
func (r *Root) passMade(p Path, set map[string]bool, visit func(parent *dir, name string) error) error {
	d, err := r.acquire(false)
	if err != nil {
		return gone(err)
	}
	defer func() { d.release() }()
	end := 0
	for component := range p.components() {
		end += len(component)
		if set[p.s[:end]] {
			if err := visit(d, component); err != nil {
				return err
			}
		}
		next, err := d.openDir(component)
		if err != nil {
			return nil
		}
		d.release()
		d = next
		end++
	}
	return nil
}

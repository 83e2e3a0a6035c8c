package rootfs

import (
	"errors"
	"io/fs"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

// openDirectory walks to a folder and returns it retained.
func (r *Root) openDirectory(p Path) (*dir, error) {
	d, err := r.acquire(false)
	if err != nil {
		return nil, err
	}
	for component := range p.components() {
		next, err := d.openDir(component)
		d.release()
		if err != nil {
			return nil, readError(stepError(err, component))
		}
		d = next
	}
	return d, nil
}

// stepError names the component at which a walk ended.
func stepError(err error, component string) error {
	switch {
	case errors.Is(err, errLink):
		return linkError(component)
	case errors.Is(err, errNotDirectory):
		return &fs.PathError{Op: "open", Path: component, Err: notDirectory{component}}
	}
	return err
}

// notDirectory is errNotDirectory with the name of what is none.
type notDirectory struct{ component string }

func (e notDirectory) Error() string        { return safetext.Quote(e.component) + " is not a directory" }
func (e notDirectory) Is(target error) bool { return target == errNotDirectory }

// checkWritable refuses what may not be written here whatever is on the disk.
func (r *Root) checkWritable(p Path) error {
	if p.IsRoot() {
		return fault.Newf(common.ErrorCodeInvalidPath, "the path is the folder itself")
	}
	if r.options.ProtectGit && touchesGit(p) {
		return fault.New(common.ErrorCodePathProtected)
	}
	return nil
}

// openMaking walks to a folder like openDirectory and makes what is missing.
// What it made, and what other unfinished transfers made on the way, is noted in
// made, also when it fails.
func (r *Root) openMaking(p Path, made *[]*madeDir) (*dir, error) {
	d, err := r.acquire(true)
	if err != nil {
		return nil, err
	}
	end := 0
	for component := range p.components() {
		end += len(component)
		next, err := r.parents.enter(d, component, p.s[:end], made)
		d.release()
		if err != nil {
			return nil, stepError(err, component)
		}
		d = next
		end++
	}
	return d, nil
}

// stillThere checks that a held folder is what its path leads to now, without a
// link on the way: what is published into it would otherwise land somewhere else.
func (r *Root) stillThere(held *dir, p Path) error {
	if p.IsRoot() {
		return nil
	}
	now, err := r.openDirectory(p)
	if err != nil {
		if fault.CodeOf(err) == common.ErrorCodeNotFound {
			return movedError()
		}
		return err
	}
	defer now.release()
	a, errA := held.h.stat()
	b, errB := now.h.stat()
	if err := errors.Join(errA, errB); err != nil {
		return readError(err)
	}
	if !a.id.same(b.id) {
		return movedError()
	}
	return nil
}

func movedError() error {
	return fault.Newf(common.ErrorCodeConflict, "the target's folder was moved or removed meanwhile")
}

package rootfs

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Published is what became of a staging file.
type Published struct {
	Path string // relative to the root; another than asked for with KeepBoth
}

// maxCopies is the highest number that KeepBoth gives to a copy.
const maxCopies = 9999

// Publish gives the file its mode and time, makes its bytes last, and only then
// lets it become the target by one rename. When it fails, the target is what it
// was and the staging file is gone. One exception is told as an error too: the
// file is in place, but the disk did not confirm that its name will last.
//
// Cancelling ctx stops it before the rename, not after.
func (st *Staging) Publish(ctx context.Context) (Published, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if err := st.usable(); err != nil {
		return Published{}, err
	}
	name, err := st.publish(ctx)
	if err != nil {
		// The failure to publish is what the caller has to know.
		_ = st.discard()
		return Published{}, err
	}
	st.ended = true
	st.space.end()
	st.root.parents.keep(st.made)
	err = writeError(st.parent.sync())
	if err == nil {
		err = st.root.syncParents(st.target.Dir(), st.made)
	}
	st.parent.release()
	if err != nil {
		return Published{}, err
	}
	return Published{Path: st.target.sibling(name).s}, nil
}

// publish does all up to the rename, and returns the name the file got.
func (st *Staging) publish(ctx context.Context) (string, error) {
	if st.options.Size >= 0 && st.written != st.options.Size {
		return "", fault.Newf(common.ErrorCodeSizeMismatch, "%d bytes written, %d declared", st.written, st.options.Size)
	}
	if err := st.root.stillThere(st.parent, st.target.Dir()); err != nil {
		return "", err
	}
	inherited, err := st.checkTarget()
	if err != nil {
		return "", writeError(err)
	}
	written, err := st.finish(inherited)
	if err != nil {
		return "", writeError(err)
	}
	if err := st.checkOwn(written); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", fault.Wrap(common.ErrorCodeCancelled, context.Cause(ctx))
	}
	return st.rename(ctx)
}

// finish sets the attributes on the open file, syncs and closes it, and returns
// which file it was. Closing comes before the rename, so that an error which only
// shows there (a quota on a network file system) leaves the target alone.
func (st *Staging) finish(inherited fs.FileMode) (identity, error) {
	mode := inherited
	if given := st.options.Attrs.Mode; given != nil {
		mode = *given
	}
	faults := st.root.faults
	if err := before(faults, OpChmod, st.name); err != nil {
		return identity{}, err
	}
	if err := st.file.Chmod(mode & fs.ModePerm & st.root.options.Mask); err != nil {
		return identity{}, err
	}
	if given := st.options.Attrs.ModTime; given != nil {
		if err := before(faults, OpChtimes, st.name); err != nil {
			return identity{}, err
		}
		if err := setTimes(st.parent.h, st.file, st.name, *given); err != nil {
			return identity{}, err
		}
	}
	if err := before(faults, OpSync, st.name); err != nil {
		return identity{}, err
	}
	if err := st.file.Sync(); err != nil {
		return identity{}, err
	}
	written, statErr := statFile(st.file)
	err := st.file.Close()
	st.file = nil
	return written.id, errors.Join(before(faults, OpClose, st.name), statErr, err)
}

// checkOwn refuses to publish what is not the file that was written: another
// program may have put its own in place of the staging file.
func (st *Staging) checkOwn(written identity) error {
	now, err := st.parent.h.lstat(st.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return st.goneError()
	case err != nil:
		return writeError(err)
	case !now.id.same(written):
		return fault.Newf(common.ErrorCodeConflict, "another program replaced the file that was being written")
	}
	return nil
}

// goneError says why the staging file is not there any more.
func (st *Staging) goneError() error {
	if st.parent.removed() {
		return movedError()
	}
	return fault.Newf(common.ErrorCodeConflict, "another program removed the file that was being written")
}

func (st *Staging) rename(ctx context.Context) (string, error) {
	base := st.target.Base()
	switch st.options.OnExisting {
	case Refuse:
		err := st.retry(ctx, func() error { return st.parent.renameNoReplace(st.name, base) })
		return base, st.renameError(err)
	case KeepBoth:
		return st.renameToFree(ctx, base)
	}
	err := st.retry(ctx, func() error { return st.parent.rename(st.name, base) })
	return base, st.renameError(err)
}

// renameToFree takes the first name that nobody has. Each try is a rename that
// replaces nothing, so that two at once never take the same.
func (st *Staging) renameToFree(ctx context.Context, base string) (string, error) {
	for n := range maxCopies + 1 {
		name := copyName(base, n)
		if Reserved(name) {
			break
		}
		err := st.retry(ctx, func() error { return st.parent.renameNoReplace(st.name, name) })
		if !errors.Is(err, fs.ErrExist) {
			return name, st.renameError(err)
		}
	}
	return "", fault.Newf(common.ErrorCodeAlreadyExists, "no free name for a copy")
}

// renameError is the fault of a rename. What was checked before may have changed
// since: a folder may stand in place of the target, or the staging file may be
// gone with its folder.
func (st *Staging) renameError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return st.goneError()
	}
	if m, statErr := st.parent.lstat(st.target.Base()); statErr == nil && m.kind == KindDirectory {
		return isDirectoryError()
	}
	return writeError(err)
}

// renameNoReplace renames unless the new name exists, with what the file system
// knows: the call made for it, or a second name and the removal of the first.
func (d *dir) renameNoReplace(from, to string) error {
	err := before(d.faults, OpRenameNoReplace, to)
	if err == nil {
		err = d.h.renameNew(from, to)
	}
	if !errors.Is(err, errUnsupported) && !errors.Is(err, syscall.ENOSYS) {
		return err
	}
	if err = before(d.faults, OpLink, to); err == nil {
		err = d.h.link(from, to)
	}
	switch {
	case err == nil:
		// The file is in place. A second, hidden name that cannot be removed
		// is left to the next sweep.
		_ = d.unlink(from)
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	case noLinks(err):
		return errUnsupported
	}
	return err
}

// retry repeats a rename that another program hinders for a moment, a virus
// scanner for example: for two seconds at most, and nothing else.
func (st *Staging) retry(ctx context.Context, rename func() error) error {
	wait, left := 10*time.Millisecond, 2*time.Second
	for {
		err := rename()
		if err == nil || !transient(err) || left <= 0 {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fault.Wrap(common.ErrorCodeCancelled, context.Cause(ctx))
		}
		left -= wait
		wait = min(2*wait, left)
	}
}

package rootfs

import (
	"errors"
	"io/fs"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// SweepStaging removes the staging files that a killed process left anywhere
// below the root, and returns how many. Those that a living process still writes
// stay, and so do those for which keep, if it is not nil, says so. A folder that
// cannot be read does not end the sweep.
func (r *Root) SweepStaging(keep func(id uuid.UUID) bool) (int, error) {
	top, err := r.acquire(false)
	if fault.CodeOf(err) == common.ErrorCodeNotFound {
		return 0, nil // a lazy root that was never written
	}
	if err != nil {
		return 0, err
	}
	defer top.release()
	if keep == nil {
		keep = func(uuid.UUID) bool { return false }
	}
	removed, err := top.sweep(keep)
	return removed, writeError(err)
}

func (d *dir) sweep(keep func(uuid.UUID) bool) (int, error) {
	names, err := d.names(-1)
	if err != nil {
		return 0, err
	}
	removed := 0
	var errs []error
	for _, name := range names {
		n, err := d.sweepEntry(name, keep)
		removed += n
		errs = append(errs, gone(err))
	}
	return removed, errors.Join(errs...)
}

func (d *dir) sweepEntry(name string, keep func(uuid.UUID) bool) (int, error) {
	m, err := d.lstat(name)
	if err != nil {
		return 0, err
	}
	if m.kind == KindDirectory {
		child, err := d.openDir(name)
		if err != nil {
			return 0, err
		}
		defer child.release()
		return child.sweep(keep)
	}
	id, ours := stagingID(name)
	if !ours || m.kind != KindFile || keep(id) || d.inUse(name) {
		return 0, nil
	}
	if err := d.unlink(name); err != nil {
		return 0, err
	}
	return 1, nil
}

// inUse reports whether a process holds the staging file. One that cannot be
// opened, such as one of another user, is nobody's to sweep.
func (d *dir) inUse(name string) bool {
	f, err := d.openRead(name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close() // only looked at
	return !abandoned(f)
}

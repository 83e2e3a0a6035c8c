package rootfs

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Names count in UTF-16 units on APFS and HFS+.
var thisSystem = nameRules{utf16: true}

// renameNew renames unless the new name exists. A file system that does not know
// how: errUnsupported.
func (h handle) renameNew(from, to string) error {
	err := unix.RenameatxNp(h.fd, from, h.fd, to, unix.RENAME_EXCL)
	if err == unix.ENOSYS || err == unix.EINVAL || err == unix.ENOTSUP {
		return errUnsupported
	}
	return err
}

// utimeOmit is UTIME_OMIT of this system: leave that time alone.
const utimeOmit = -2

// setTimes sets the modification time of a file in a held folder. The system
// has no call that takes a descriptor and nanoseconds; the name is ours, and it
// is not followed if it should have become a link.
func setTimes(h handle, _ *os.File, name string, mtime time.Time) error {
	err := setTimesOnce(h, name, mtime)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOVERFLOW) || errors.Is(err, unix.ERANGE) {
		return setTimesOnce(h, name, clampTime(mtime))
	}
	return err
}

func setTimesOnce(h handle, name string, mtime time.Time) error {
	modified, err := unix.TimeToTimespec(mtime)
	if err != nil {
		return err
	}
	times := []unix.Timespec{{Nsec: utimeOmit}, modified}
	return unix.UtimesNanoAt(h.fd, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// allowAll gives the owner every right on a folder, never on what a link names.
func (h handle) allowAll(name string) error {
	return unix.Fchmodat(h.fd, name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
}

// folds has nothing to add here: folding is a property of the whole volume,
// which the comparison of names finds.
func (h handle) folds() bool { return false }

package flock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// The lock covers one byte far behind the content, so that others can still
// read who holds it.
const lockedOffsetHigh = 1

func lock(f *os.File) error {
	where := &windows.Overlapped{OffsetHigh: lockedOffsetHigh}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, where)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}

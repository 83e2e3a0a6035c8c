package state

import (
	"errors"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// full makes the fault disk_full of an error that says so, and leaves others as
// they are: whoever waits for the answer can do something about this one.
func full(err error) error {
	if !isFull(err) {
		return err
	}
	return fault.Wrapf(common.ErrorCodeDiskFull, err, "no room in the Brain's data directory: free some space there")
}

func isFull(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	// The file beside the database that its users share can have no room either.
	case lib.SQLITE_FULL, lib.SQLITE_IOERR_SHMSIZE:
		return true
	}
	return false
}

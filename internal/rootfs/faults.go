package rootfs

import "sync/atomic"

// Op names a step at which a test can make the disk fail.
type Op string

const (
	OpOpenDir         Op = "open-dir"
	OpOpenRead        Op = "open-read"
	OpStat            Op = "stat"
	OpList            Op = "list"
	OpRead            Op = "read"
	OpMkdir           Op = "mkdir"
	OpFree            Op = "free"
	OpCreate          Op = "create"
	OpChmod           Op = "chmod"
	OpChtimes         Op = "chtimes"
	OpSync            Op = "sync"
	OpClose           Op = "close" // of a staging file
	OpRename          Op = "rename"
	OpRenameNoReplace Op = "rename-no-replace"
	OpLink            Op = "link"
	OpUnlink          Op = "unlink"
	OpRmdir           Op = "rmdir"
	OpSyncDir         Op = "sync-dir"
)

// Faults is the seam between the package and the system. A test implements it
// (or takes one from package faultfs) to make single steps fail, or to change
// the disk right before a step. Its methods are called from many goroutines.
type Faults interface {
	// Before is called before each step with the component it is about. An
	// error is returned in place of the step, as if the system had reported it.
	Before(op Op, name string) error
	// Write is called before size bytes are written at offset of a staging
	// file. It returns how many of them may be written, and the error after them.
	Write(name string, offset int64, size int) (int, error)
}

func before(f Faults, op Op, name string) error {
	if f == nil {
		return nil
	}
	return f.Before(op, name)
}

var injected atomic.Pointer[func(dir string) Faults]

// InjectFaults makes every root that is opened from now on ask match for its
// faults, nil for none. It is for tests that cannot reach the Options of a root
// because a whole server stands between; restore ends it.
func InjectFaults(match func(dir string) Faults) (restore func()) {
	previous := injected.Swap(&match)
	return func() { injected.Store(previous) }
}

func injectedFaults(dir string) Faults {
	if match := injected.Load(); match != nil && *match != nil {
		return (*match)(dir)
	}
	return nil
}

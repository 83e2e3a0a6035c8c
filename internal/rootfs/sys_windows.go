package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/windows"
)

var thisSystem = nameRules{windows: true, utf16: true}

// handle is a folder held by os.Root, which opens relative to it and never
// outside. That it would follow links inside is prevented by looking at each
// component before and after it was opened.
type handle struct{ root *os.Root }

// identity tells whether two looks saw the same file.
type identity struct{ info fs.FileInfo }

func (a identity) same(b identity) bool {
	return a.info != nil && b.info != nil && os.SameFile(a.info, b.info)
}

func openHandle(path string) (handle, error) {
	root, err := os.OpenRoot(path)
	return handle{root}, err
}

func (h handle) close() error { return h.root.Close() }

func (h handle) openDir(name string) (handle, error) {
	seen, err := h.lstat(name)
	switch {
	case err != nil:
		return handle{}, err
	case seen.kind == KindLink:
		return handle{}, errLink
	case seen.kind != KindDirectory:
		return handle{}, errNotDirectory
	}
	root, err := h.root.OpenRoot(name)
	if err != nil {
		return handle{}, err
	}
	opened := handle{root}
	now, err := opened.stat()
	if err == nil && !now.id.same(seen.id) {
		err = errLink
	}
	if err != nil {
		return handle{}, errors.Join(err, root.Close())
	}
	return opened, nil
}

func (h handle) openRead(name string) (*os.File, error) {
	seen, err := h.lstat(name)
	if err != nil {
		return nil, err
	}
	if seen.kind == KindLink {
		return nil, errLink
	}
	f, err := h.root.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	now, err := statFile(f)
	if err == nil && !now.id.same(seen.id) {
		err = errLink
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// create also locks the file, so that a sweep of another process sees that
// somebody still writes it; a file system without locks has to do without.
func (h handle) create(name string) (*os.File, error) {
	f, err := h.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_ = lock(f)
	}
	return f, err
}

// abandoned reports whether no process has the file locked.
func abandoned(f *os.File) bool { return lock(f) == nil }

// lock takes a byte far behind every file's end: the lock is a sign to others
// and hinders no reading or writing.
func lock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1<<31 - 1})
}

func (h handle) stat() (meta, error) {
	info, err := h.root.Stat(".")
	if err != nil {
		return meta{}, err
	}
	return toMeta(info), nil
}

func (h handle) lstat(name string) (meta, error) {
	info, err := h.root.Lstat(name)
	if err != nil {
		return meta{}, err
	}
	return toMeta(info), nil
}

func statFile(f *os.File) (meta, error) {
	info, err := f.Stat()
	if err != nil {
		return meta{}, err
	}
	return toMeta(info), nil
}

// toMeta takes every reparse point that Go does not know as a file or folder
// (junctions, mount points) for a link.
func toMeta(info fs.FileInfo) meta {
	m := meta{mode: info.Mode().Perm(), size: info.Size(), mtime: info.ModTime(), id: identity{info}, links: 1}
	switch mode := info.Mode(); {
	case mode&(fs.ModeSymlink|fs.ModeIrregular) != 0:
		m.kind = KindLink
	case mode.IsDir():
		m.kind = KindDirectory
	case mode.IsRegular():
		m.kind = KindFile
	default:
		m.kind, m.what = KindOther, "device"
	}
	return m
}

func (h handle) mkdir(name string, mode fs.FileMode) error { return h.root.Mkdir(name, mode) }

func (h handle) rename(from, to string) error { return h.root.Rename(from, to) }

// renameNew leaves it to link and unlink, which os.Root offers and which replace
// nothing either.
func (h handle) renameNew(string, string) error { return errUnsupported }

func (h handle) link(from, to string) error { return h.root.Link(from, to) }

func (h handle) unlink(name string) error { return h.root.Remove(name) }

func (h handle) rmdir(name string) error { return h.root.Remove(name) }

// allowAll takes the read-only attribute away, from a folder that is no link.
func (h handle) allowAll(name string) error {
	d, err := h.openDir(name)
	if err != nil {
		return err
	}
	return errors.Join(d.root.Chmod(".", 0o700), d.close())
}

// sync has nothing to do: the system keeps names in its journal.
func (h handle) sync() error { return nil }

func (h handle) free() (uint64, bool, error) {
	name, err := windows.UTF16PtrFromString(h.root.Name())
	if err != nil {
		return 0, false, err
	}
	var available uint64
	if err := windows.GetDiskFreeSpaceEx(name, &available, nil, nil); err != nil {
		return 0, false, err
	}
	return available, true, nil
}

// device is a file system: the drive or share that a path begins with.
type device string

func (h handle) device() (device, error) {
	return device(strings.ToLower(filepath.VolumeName(h.root.Name()))), nil
}

func (h handle) list() (*os.File, error) { return h.root.Open(".") }

func (h handle) folds() bool { return true }

// setTimes sets the modification time of an open file, clamped to what counting
// nanoseconds in 64 bits can say: a little less than a file time holds.
func setTimes(_ handle, f *os.File, _ string, mtime time.Time) error {
	if earliest := time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC); mtime.Before(earliest) {
		mtime = earliest
	}
	if latest := time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC); mtime.After(latest) {
		mtime = latest
	}
	modified := windows.NsecToFiletime(mtime.UnixNano())
	return windows.SetFileTime(windows.Handle(f.Fd()), nil, nil, &modified)
}

func syncPath(string) error { return nil }

func isDiskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED) || errors.Is(err, windows.ERROR_FILE_TOO_LARGE)
}

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

func isBadName(err error) bool {
	return errors.Is(err, windows.ERROR_INVALID_NAME) || errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE) ||
		errors.Is(err, windows.ERROR_BAD_PATHNAME)
}

func isNotEmpty(err error) bool { return errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) }

func noLinks(err error) bool {
	return errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_NOT_SUPPORTED)
}

// transient reports what a virus scanner or an indexer causes by looking at a
// new file: the rename works a moment later.
func transient(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION) ||
		errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

func noDevice(error) bool { return false }

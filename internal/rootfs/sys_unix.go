//go:build linux || darwin

package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// handle is a folder's descriptor.
type handle struct{ fd int }

// identity tells whether two looks saw the same file.
type identity struct{ dev, ino uint64 }

func (a identity) same(b identity) bool { return a == b }

const directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func openHandle(path string) (handle, error) {
	fd, err := retryInterrupted(func() (int, error) { return unix.Open(path, directoryFlags, 0) })
	return handle{fd}, err
}

func (h handle) close() error { return unix.Close(h.fd) }

// openDir opens a folder and nothing else: a link fails with errLink, anything
// else that is no folder with errNotDirectory.
func (h handle) openDir(name string) (handle, error) {
	fd, err := h.openat(name, directoryFlags, 0)
	if err == unix.ENOTDIR || err == unix.ELOOP || err == unix.EMLINK {
		err = h.whatItIs(name)
	}
	return handle{fd}, err
}

// whatItIs tells a link from what is merely no folder. Systems report both with
// the same error.
func (h handle) whatItIs(name string) error {
	m, err := h.lstat(name)
	switch {
	case err != nil:
		return err
	case m.kind == KindFile, m.kind == KindOther:
		return errNotDirectory
	}
	// A folder by now, so it was something else a moment ago: somebody swaps
	// it, and only a link is worth that.
	return errLink
}

// openRead opens for reading without following a link and without waiting for
// the other end of a FIFO.
func (h handle) openRead(name string) (*os.File, error) {
	fd, err := h.openat(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == unix.ELOOP || err == unix.EMLINK {
		return nil, errLink
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// create also locks the file, so that a sweep of another process sees that
// somebody still writes it; a file system without locks has to do without.
func (h handle) create(name string) (*os.File, error) {
	fd, err := h.openat(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	_ = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	return os.NewFile(uintptr(fd), name), nil
}

// abandoned reports whether no process has the file locked.
func abandoned(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func (h handle) openat(name string, flags int, mode uint32) (int, error) {
	return retryInterrupted(func() (int, error) { return unix.Openat(h.fd, name, flags, mode) })
}

func retryInterrupted(open func() (int, error)) (int, error) {
	for {
		fd, err := open()
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (h handle) stat() (meta, error) {
	var st unix.Stat_t
	err := unix.Fstat(h.fd, &st)
	return toMeta(&st), err
}

func (h handle) lstat(name string) (meta, error) {
	var st unix.Stat_t
	err := unix.Fstatat(h.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return toMeta(&st), err
}

func statFile(f *os.File) (meta, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return meta{}, err
	}
	var st unix.Stat_t
	var statErr error
	if err := raw.Control(func(fd uintptr) { statErr = unix.Fstat(int(fd), &st) }); err != nil {
		return meta{}, err
	}
	return toMeta(&st), statErr
}

func toMeta(st *unix.Stat_t) meta {
	m := meta{
		mode:  fs.FileMode(st.Mode & 0o777),
		size:  st.Size,
		mtime: time.Unix(st.Mtim.Unix()),
		id:    identity{uint64(st.Dev), st.Ino},
		links: uint64(st.Nlink),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		m.kind = KindFile
	case unix.S_IFDIR:
		m.kind = KindDirectory
	case unix.S_IFLNK:
		m.kind = KindLink
	case unix.S_IFIFO:
		m.kind, m.what = KindOther, "FIFO"
	case unix.S_IFSOCK:
		m.kind, m.what = KindOther, "socket"
	default:
		m.kind, m.what = KindOther, "device"
	}
	return m
}

func (h handle) mkdir(name string, mode fs.FileMode) error {
	return unix.Mkdirat(h.fd, name, uint32(mode.Perm()))
}

func (h handle) rename(from, to string) error { return unix.Renameat(h.fd, from, h.fd, to) }

func (h handle) link(from, to string) error { return unix.Linkat(h.fd, from, h.fd, to, 0) }

func (h handle) unlink(name string) error { return unix.Unlinkat(h.fd, name, 0) }

func (h handle) rmdir(name string) error { return unix.Unlinkat(h.fd, name, unix.AT_REMOVEDIR) }

// noLinks reports that the file system knows no second names.
func noLinks(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) ||
		errors.Is(err, unix.EMLINK)
}

func isNotEmpty(err error) bool { return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) }

// sync makes the folder's names last. Some file systems know no such thing and
// say so.
func (h handle) sync() error {
	err := unix.Fsync(h.fd)
	if err == unix.EINVAL || err == unix.ENOTSUP {
		return nil
	}
	return err
}

func (h handle) free() (uint64, bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(h.fd, &st); err != nil {
		return 0, false, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), st.Blocks != 0, nil
}

// device is a file system.
type device uint64

func (h handle) device() (device, error) {
	m, err := h.stat()
	return device(m.id.dev), err
}

func (h handle) list() (*os.File, error) {
	fd, err := h.openat(".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "."), nil
}

func syncPath(dir string) error {
	h, err := openHandle(dir)
	if err != nil {
		return err
	}
	return errors.Join(h.sync(), h.close())
}

func isDiskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

func isReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }

func isBadName(err error) bool {
	return errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, unix.EILSEQ)
}

// transient reports whether a rename that failed so may succeed a moment later.
func transient(err error) bool { return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ETXTBSY) }

// noDevice reports the error with which a socket answers being opened.
func noDevice(err error) bool { return errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EOPNOTSUPP) }

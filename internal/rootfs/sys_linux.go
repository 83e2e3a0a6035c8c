package rootfs

import (
	"errors"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var thisSystem = nameRules{}

// renameNew renames unless the new name exists. Old kernels and some file
// systems do not know how: errUnsupported.
func (h handle) renameNew(from, to string) error {
	err := unix.Renameat2(h.fd, from, h.fd, to, unix.RENAME_NOREPLACE)
	if err == unix.ENOSYS || err == unix.EINVAL || err == unix.ENOTSUP {
		return errUnsupported
	}
	return err
}

// setTimes sets the modification time of an open file and leaves its access
// time alone. The kernel clamps to what the file system holds; older ones and
// some file systems refuse instead, then the clamped time is tried.
func setTimes(_ handle, f *os.File, _ string, mtime time.Time) error {
	err := setTimesOnce(f, mtime)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOVERFLOW) || errors.Is(err, unix.ERANGE) {
		return setTimesOnce(f, clampTime(mtime))
	}
	return err
}

func setTimesOnce(f *os.File, mtime time.Time) error {
	modified, err := unix.TimeToTimespec(mtime)
	if err != nil {
		return err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var errno unix.Errno
	if err := raw.Control(func(fd uintptr) {
		times := [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, modified}
		// With no name the call is about the descriptor.
		_, _, errno = unix.Syscall6(unix.SYS_UTIMENSAT, fd, 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	}); err != nil {
		return err
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// allowAll gives the owner every right on a folder, never on what a link names.
// Kernels before 6.6 change a mode only by a name that they would follow, or by
// the name that a descriptor has in /proc.
func (h handle) allowAll(name string) error {
	err := unix.Fchmodat(h.fd, name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
	if err != unix.EOPNOTSUPP && err != unix.ENOSYS {
		return err
	}
	fd, err := h.openat(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700), unix.Close(fd))
}

// caseFoldFlag marks a folder of ext4, f2fs or tmpfs whose names fold.
const caseFoldFlag = 0x40000000

func (h handle) folds() bool {
	flags, err := unix.IoctlGetUint32(h.fd, unix.FS_IOC_GETFLAGS)
	return err == nil && flags&caseFoldFlag != 0
}

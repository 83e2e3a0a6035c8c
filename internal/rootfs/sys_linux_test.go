package rootfs

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/vancetope/transfer/gen/common"
)

// exchange swaps two names of a folder in one step.
func exchange(dir, a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, a), unix.AT_FDCWD, filepath.Join(dir, b), unix.RENAME_EXCHANGE)
}

// asOrdinaryUser runs f without root's freedom to ignore modes: when the tests
// run as root, files belong to nobody and this thread touches them as nobody.
func asOrdinaryUser(t *testing.T, dir string, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := unix.SetfsuidRetUid(nobody); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := unix.SetfsuidRetUid(0); err != nil {
			t.Error(err)
		}
	}()
	f()
}

// A real small disk, where the test may mount one; the fault layer and the limit
// of a file's size play it everywhere else.
func TestAFullSmallDiskLeavesOldFileAndSpaceAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	unit := int64(1 << 10) // of a disk of 256
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Logf("no tmpfs may be mounted here (%v): the file-size limit plays the disk", err)
		unit = 128 << 10
		limitFileSize(t, uint64(256*unit))
	} else {
		t.Cleanup(func() {
			if err := unix.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
	}
	put(t, dir, "f", "old")
	same := unchanged(t, dir)
	r := openRoot(t, dir, Options{})
	for range 3 { // a leak of space would show in the second round
		st, err := r.Stage(mustPath(t, "f"), uuid.New(), StageOptions{Size: 200 * unit})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if _, err = st.Write(make([]byte, 100*unit)); err != nil {
				break
			}
		}
		wantCode(t, err, common.ErrorCodeDiskFull)
		if err := st.Discard(); err != nil {
			t.Error(err)
		}
		same()
	}
}

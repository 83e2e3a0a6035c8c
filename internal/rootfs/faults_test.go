package rootfs_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	. "github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/rootfs/faultfs"
)

// Every step of a write fails once, with an old file and without one, in an
// existing folder and in a new one. Nothing may have changed afterwards.
func TestAWriteThatFailsAtAnyStepLeavesEverythingAsItWas(t *testing.T) {
	mode, at := os.FileMode(0o600), time.Unix(1e9, 1)
	steps := []struct {
		rule func() *faultfs.Rule
		name string
		want common.ErrorCode
	}{
		{func() *faultfs.Rule { return faultfs.Fail(OpMkdir, syscall.ENOSPC) }, "mkdir", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.Fail(OpMkdir, syscall.EACCES).Named("new") }, "mkdir below", common.ErrorCodePermissionDenied},
		{func() *faultfs.Rule { return faultfs.Fail(OpStat, syscall.EIO) }, "stat", common.ErrorCodeInternal},
		{func() *faultfs.Rule { return faultfs.Fail(OpFree, syscall.EIO) }, "free", common.ErrorCodeInternal},
		{func() *faultfs.Rule { return faultfs.Fail(OpCreate, syscall.EROFS) }, "create", common.ErrorCodePermissionDenied},
		{func() *faultfs.Rule { return faultfs.Fail(OpCreate, syscall.EDQUOT) }, "create over quota", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.FullAt(0) }, "full at 0", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.FullAt(1) }, "full at 1", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.FullAt(4) }, "full at 4", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.WriteError(2, syscall.EDQUOT) }, "quota", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.WriteError(2, syscall.EFBIG) }, "too large", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.WriteError(2, syscall.EIO) }, "write", common.ErrorCodeInternal},
		{func() *faultfs.Rule { return faultfs.ShortWrite(0) }, "short write at 0", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.ShortWrite(3) }, "short write at 3", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.Fail(OpChmod, syscall.EPERM) }, "chmod", common.ErrorCodePermissionDenied},
		{func() *faultfs.Rule { return faultfs.Fail(OpChtimes, syscall.EIO) }, "chtimes", common.ErrorCodeInternal},
		{func() *faultfs.Rule { return faultfs.Fail(OpSync, syscall.EIO) }, "fsync", common.ErrorCodeInternal},
		{func() *faultfs.Rule { return faultfs.Fail(OpSync, syscall.ENOSPC) }, "fsync on a full disk", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.Fail(OpClose, syscall.EDQUOT) }, "close", common.ErrorCodeDiskFull},
		{func() *faultfs.Rule { return faultfs.Fail(OpRename, syscall.EIO) }, "rename", common.ErrorCodeInternal},
		{func() *faultfs.Rule { return faultfs.Fail(OpRename, syscall.EACCES) }, "rename denied", common.ErrorCodePermissionDenied},
	}
	for _, step := range steps {
		for _, target := range []string{"old", "d/old", "fresh", "d/fresh", "new/fresh", "d/new/new/fresh"} {
			made := strings.Contains(target, "new")
			if strings.HasPrefix(step.name, "mkdir") && !made {
				continue
			}
			t.Run(step.name+" "+target, func(t *testing.T) {
				dir := FastDir(t)
				Put(t, dir, "old", "old content")
				Put(t, dir, "d/old", "old content")
				same := Unchanged(t, dir)
				disk := faultfs.New(step.rule())
				r := OpenRoot(t, dir, Options{Faults: disk})
				o := StageOptions{Attrs: Attrs{Mode: &mode, ModTime: &at}}
				_, err := WriteFile(t, r, target, "hello", o)
				WantCode(t, err, step.want)
				same()

				disk.Clear()
				if _, err := WriteFile(t, r, target, "hello", o); err != nil {
					t.Errorf("the disk is well again: %v", err)
				}
				WantContent(t, filepath.Join(dir, target), "hello")
			})
		}
	}
}

// The name of a published file could not be made to last: no success is told,
// and what is there is the new file whole.
func TestAFailingSyncOfTheFolderIsNoSuccess(t *testing.T) {
	dir := FastDir(t)
	Put(t, dir, "f", "old")
	r := OpenRoot(t, dir, Options{Faults: faultfs.New(faultfs.Fail(OpSyncDir, syscall.EIO))})
	_, err := WriteFile(t, r, "f", "new", StageOptions{})
	WantCode(t, err, common.ErrorCodeInternal)
	WantContent(t, filepath.Join(dir, "f"), "new")
	if got := Listing(t, dir); len(got) != 1 {
		t.Errorf("folder holds %q", got)
	}
}

func TestAShortWriteIsAnErrorThatStays(t *testing.T) {
	disk := faultfs.New(faultfs.ShortWrite(3))
	r := OpenRoot(t, FastDir(t), Options{Faults: disk})
	st, err := r.Stage(MustPath(t, "f"), uuid.New(), StageOptions{Size: 10})
	if err != nil {
		t.Fatal(err)
	}
	n, err := st.Write([]byte("hello"))
	WantText(t, err, common.ErrorCodeDiskFull, "disk full: 3 of 5 bytes were written")
	if n != 3 {
		t.Errorf("%d bytes were written", n)
	}
	_, again := st.Write([]byte("hello"))
	WantCode(t, again, common.ErrorCodeDiskFull)
	_, published := st.Publish(t.Context())
	WantCode(t, published, common.ErrorCodeDiskFull)
	if err := st.Discard(); err != nil {
		t.Error(err)
	}
}

func TestARenameThatIsHinderedForAMomentIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := FastDir(t)
		disk := faultfs.New(faultfs.FailTimes(OpRename, 3, syscall.EBUSY))
		begun := time.Now()
		if _, err := WriteFile(t, OpenRoot(t, dir, Options{Faults: disk}), "f", "x", StageOptions{}); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); disk.Count(OpRename) != 4 || took > time.Second {
			t.Errorf("%d tries in %v", disk.Count(OpRename), took)
		}
		WantContent(t, filepath.Join(dir, "f"), "x")
	})
}

func TestARenameThatIsHinderedForGoodFailsInTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := FastDir(t)
		disk := faultfs.New(faultfs.Fail(OpRename, syscall.EBUSY))
		begun := time.Now()
		_, err := WriteFile(t, OpenRoot(t, dir, Options{Faults: disk}), "f", "x", StageOptions{})
		WantCode(t, err, common.ErrorCodeInternal)
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("took %v", took)
		}
		if got := Listing(t, dir); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
	})
}

func TestARenameThatFailsOtherwiseIsNotRepeated(t *testing.T) {
	disk := faultfs.New(faultfs.Fail(OpRename, syscall.ENOENT))
	_, err := WriteFile(t, OpenRoot(t, FastDir(t), Options{Faults: disk}), "f", "x", StageOptions{})
	WantCode(t, err, common.ErrorCodeConflict)
	if n := disk.Count(OpRename); n != 1 {
		t.Errorf("%d tries", n)
	}
}

func TestCancellingWhileARenameIsHinderedEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := FastDir(t)
		disk := faultfs.New(faultfs.Fail(OpRename, syscall.EBUSY))
		r := OpenRoot(t, dir, Options{Faults: disk})
		st, err := r.Stage(MustPath(t, "f"), uuid.New(), StageOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = st.Publish(ctx)
		WantCode(t, err, common.ErrorCodeCancelled)
		if got := Listing(t, dir); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
	})
}

// Without a rename that replaces nothing, a second name does; without that,
// nothing does.
func TestNoReplaceFallsBackToLinksAndThenSaysSo(t *testing.T) {
	for _, policy := range []OnExisting{Refuse, KeepBoth} {
		for _, missing := range []error{ErrNoRename, syscall.ENOSYS} {
			dir := FastDir(t)
			disk := faultfs.New(faultfs.Fail(OpRenameNoReplace, missing))
			r := OpenRoot(t, dir, Options{Faults: disk})
			if _, err := WriteFile(t, r, "f", "new", StageOptions{OnExisting: policy}); err != nil {
				t.Errorf("%s by link: %v", policy, err)
			}
			WantContent(t, filepath.Join(dir, "f"), "new")
			if got := Listing(t, dir); len(got) != 1 {
				t.Errorf("folder holds %q", got)
			}
			same := Unchanged(t, dir)
			disk.Add(faultfs.Fail(OpLink, syscall.EPERM))
			_, err := WriteFile(t, r, "g", "new", StageOptions{OnExisting: policy})
			WantCode(t, err, common.ErrorCodeUnsupported)
			same()
		}
	}
}

func TestKeepingBothGivesUpAfterTheHighestNumber(t *testing.T) {
	dir := FastDir(t)
	disk := faultfs.New(faultfs.Fail(OpRenameNoReplace, syscall.EEXIST))
	_, err := WriteFile(t, OpenRoot(t, dir, Options{Faults: disk}), "f", "x", StageOptions{OnExisting: KeepBoth})
	WantCode(t, err, common.ErrorCodeAlreadyExists)
	if n := disk.Count(OpRenameNoReplace); n != 10_000 {
		t.Errorf("%d names were tried", n)
	}
	if got := Listing(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

func TestFaultsCanBeInjectedWhereTheRootIsOutOfReach(t *testing.T) {
	bad, good := FastDir(t), FastDir(t)
	restore := InjectFaults(func(dir string) Faults {
		if filepath.Base(dir) != filepath.Base(bad) {
			return nil
		}
		return faultfs.New(faultfs.FullAt(0))
	})
	badRoot, goodRoot := OpenRoot(t, bad, Options{}), OpenRoot(t, good, Options{})
	restore()
	_, err := WriteFile(t, badRoot, "f", "x", StageOptions{})
	WantCode(t, err, common.ErrorCodeDiskFull)
	if _, err := WriteFile(t, goodRoot, "f", "x", StageOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := WriteFile(t, OpenRoot(t, bad, Options{}), "f", "x", StageOptions{}); err != nil {
		t.Errorf("after the end of the injection: %v", err)
	}
}

// A small file costs few steps, however many there are.
func TestASmallFileCostsFewSystemCalls(t *testing.T) {
	for path, most := range map[string]int{"f": 10, "d/f": 14} {
		dir := FastDir(t)
		disk := faultfs.New()
		r := OpenRoot(t, dir, Options{Faults: disk})
		if _, err := WriteFile(t, r, "d/first", "x", StageOptions{}); err != nil {
			t.Fatal(err)
		}
		before := disk.Total()
		if _, err := WriteFile(t, r, path, "x", StageOptions{}); err != nil {
			t.Fatal(err)
		}
		if n := disk.Total() - before; n > most {
			t.Errorf("%s took %d steps, at most %d are wanted", path, n, most)
		}
	}
}

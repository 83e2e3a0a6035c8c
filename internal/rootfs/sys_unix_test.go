//go:build linux || darwin

package rootfs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/hazardtest"
)

func TestSpecialFilesAreNeitherReadNorReplaced(t *testing.T) {
	dir, outside := fastDir(t), fastDir(t)
	specials := hazardtest.MakeSpecials(t, dir, outside)
	r := openRoot(t, dir, Options{})
	same, sameOutside := unchanged(t, dir), unchanged(t, outside)
	for _, s := range specials {
		begun := time.Now()
		_, err := r.OpenSource(mustPath(t, s.Name))
		wantCode(t, err, common.ErrorCode(s.Code))
		for _, policy := range []OnExisting{"", Replace, Refuse, KeepBoth} {
			_, err = write(t, r, s.Name, "x", StageOptions{OnExisting: policy})
			wantCode(t, err, common.ErrorCode(s.Code))
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("%s: took %v", s.Name, took)
		}
	}
	_, err := r.OpenSource(mustPath(t, "link-in"))
	wantText(t, err, common.ErrorCodeSymlinkNotAllowed, "path escapes project sandbox: symlink not allowed: link-in")
	_, err = r.OpenSource(mustPath(t, "fifo"))
	wantText(t, err, common.ErrorCodeNotRegularFile, "not a regular file: a FIFO")
	_, err = r.OpenSource(mustPath(t, "folder"))
	wantText(t, err, common.ErrorCodeNotRegularFile, "not a regular file: a directory")
	same()
	sameOutside()
}

func TestNoLinkIsFollowedOnTheWay(t *testing.T) {
	dir, outside := fastDir(t), fastDir(t)
	specials := hazardtest.MakeSpecials(t, dir, outside)
	put(t, dir, "folder/f", "inside")
	r := openRoot(t, dir, Options{})
	same, sameOutside := unchanged(t, dir), unchanged(t, outside)
	for _, s := range specials {
		for _, below := range []string{"/f", "/new", "/new/deeper", "/secret"} {
			p := mustPath(t, s.Name+below)
			_, readErr := r.OpenSource(p)
			_, writeErr := r.Stage(p, uuid.New(), StageOptions{})
			_, listErr := r.ReadDir(p.Dir())
			_, statErr := r.Stat(p)
			mkdirErr := r.Mkdir(p)
			removeErr := r.RemoveAll(p)
			for i, err := range []error{readErr, statErr, listErr, writeErr, mkdirErr, removeErr} {
				want := common.ErrorCode(s.Code)
				if want == common.ErrorCodeNotRegularFile { // no folder, but no link either
					want = common.ErrorCodeNotFound
					if i == 3 || i == 4 {
						want = common.ErrorCodeInvalidPath
					}
					if i == 5 && err == nil {
						continue
					}
				}
				wantCode(t, err, want)
			}
		}
	}
	_, err := r.OpenSource(mustPath(t, "folder/../link-folder/f"))
	wantText(t, err, common.ErrorCodeSymlinkNotAllowed, "path escapes project sandbox: symlink not allowed: link-folder")
	same()
	sameOutside()
}

func TestALinkWithAHostileNameIsToldHarmlessly(t *testing.T) {
	dir := fastDir(t)
	if err := os.Symlink("x", filepath.Join(dir, "a\x1b[2J\u202e")); err != nil {
		t.Fatal(err)
	}
	_, err := openRoot(t, dir, Options{}).OpenSource(mustPath(t, "a\x1b[2J\u202e"))
	wantText(t, err, common.ErrorCodeSymlinkNotAllowed, `path escapes project sandbox: symlink not allowed: a\x1b[2J\u202e`)
}

func TestDevicesAndFilesWithoutASizeAreNoSources(t *testing.T) {
	_, err := openRoot(t, "/dev", Options{}).OpenSource(mustPath(t, "null"))
	wantText(t, err, common.ErrorCodeNotRegularFile, "not a regular file: a device")
	if _, err := os.Stat("/proc/self/status"); err == nil {
		_, err := openRoot(t, "/proc/self", Options{}).OpenSource(mustPath(t, "status"))
		wantText(t, err, common.ErrorCodeNotRegularFile, "not a regular file: its size is not known in advance")
	}
	dir := fastDir(t)
	put(t, dir, "empty", "")
	if s := openSource(t, openRoot(t, dir, Options{}), "empty"); s.Size() != 0 {
		t.Errorf("an empty file has %d bytes", s.Size())
	}
}

func TestTheRootMayBeALinkOrLieBehindOne(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "real/p/f", "x")
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"link", "link/p", "link/p/", "link/../real/p"} {
		r := openRoot(t, filepath.Join(dir, path), Options{})
		if got := r.Path(); strings.Contains(got, "link") {
			t.Errorf("root is %s: not resolved", got)
		}
	}
	openSource(t, openRoot(t, "/", Options{}), strings.TrimPrefix(mustResolve(t, dir), "/")+"/real/p/f")
}

func mustResolve(t *testing.T, dir string) string {
	t.Helper()
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// A sibling whose name begins alike is another folder.
func TestASiblingWithTheSamePrefixIsOutside(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "p/f", "x")
	put(t, dir, "p2/secret", "x")
	_, err := CleanPath("../p2/secret")
	wantCode(t, err, common.ErrorCodePathEscapesSandbox)
	_, err = openRoot(t, filepath.Join(dir, "p"), Options{}).OpenSource(mustPath(t, "2/secret"))
	wantCode(t, err, common.ErrorCodeNotFound)
}

func TestEveryNameThatIsLegalIsWrittenListedAndReadBack(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{ProtectGit: true})
	var want []string
	for _, n := range hazardtest.Names() {
		_, err := CleanPath(n.Value)
		if err == nil {
			_, err = write(t, r, n.Value, n.Value, StageOptions{})
		}
		if outcome(err) != n.Write {
			t.Errorf("writing %.40q (%s): %v, want %s", n.Value, n.Why, err, n.Write)
		}
		if err != nil {
			continue
		}
		want = append(want, n.Value)
		wantContent(t, filepath.Join(dir, n.Value), n.Value)
		if s := openSource(t, r, n.Value); s.Size() != int64(len(n.Value)) {
			t.Errorf("%.40q: %d bytes", n.Value, s.Size())
		}
	}
	entries, err := r.ReadDir(Path{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name)
	}
	slices.Sort(want)
	if !r.FoldsCase() && !slices.Equal(got, want) {
		t.Errorf("listed %q\nwritten %q", got, want)
	}
}

func TestDeepAndLongPathsAreWritten(t *testing.T) {
	r := openRoot(t, fastDir(t), Options{})
	for _, p := range hazardtest.PathForms() {
		if p.Unix != hazardtest.OK {
			continue
		}
		done, err := write(t, r, p.Value, "x", StageOptions{})
		if err != nil || done.Path != p.Cleaned {
			t.Errorf("%.40q: %.40q, %v", p.Value, done.Path, err)
		}
		if err := r.RemoveAll(mustPath(t, strings.SplitN(p.Cleaned, "/", 2)[0])); err != nil {
			t.Errorf("removing %.40q: %v", p.Value, err)
		}
	}
}

func TestTheFinalModeIsTheGivenOneUnderTheMaskWhateverTheUmask(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	for _, umask := range []int{0, 0o007, 0o022, 0o077, 0o777} {
		for _, mask := range []os.FileMode{0o644, 0o755, 0o777} {
			for _, mode := range []os.FileMode{0o755, 0o600, 0o400, 0o640, 0o777, 0} {
				unix.Umask(0o022)
				dir := fastDir(t)
				unix.Umask(umask)
				r := openRoot(t, dir, Options{Mask: mask})
				_, err := write(t, r, "new/given", "x", StageOptions{Attrs: Attrs{Mode: &mode}})
				wantMode(t, filepath.Join(dir, "new/given"), mode&mask, err)
				_, err = write(t, r, "new/plain", "x", StageOptions{})
				wantMode(t, filepath.Join(dir, "new/plain"), 0o644&mask, err)
				for _, old := range []os.FileMode{0o755, 0o600, 0o400, 0o640, 0o4755} {
					full := put(t, dir, "old", "x")
					if err := unix.Chmod(full, uint32(old)); err != nil {
						t.Fatal(err)
					}
					_, err = write(t, r, "old", "y", StageOptions{})
					wantMode(t, full, old&mask&0o777, err)
					if err := os.Remove(full); err != nil {
						t.Fatal(err)
					}
				}
				unix.Umask(0o022)
			}
		}
	}
}

func wantMode(t *testing.T, path string, want os.FileMode, err error) {
	t.Helper()
	info, statErr := os.Stat(path)
	if err := errors.Join(err, statErr); err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %o, want %o", filepath.Base(path), info.Mode(), want)
	}
}

func TestAStagingFileIsForItsOwnerAlone(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	id := uuid.New()
	mode := os.FileMode(0o777)
	st, err := r.Stage(mustPath(t, "f"), id, StageOptions{Size: 1, Attrs: Attrs{Mode: &mode}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Discard()
	wantMode(t, filepath.Join(dir, ".vance-part-"+id.String()), 0o600, nil)
}

// swapTarget puts something in place of the target while its transfer runs.
func TestATargetThatBecameSomethingElseMeanwhileIsNotReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		swap func(full string) error
		code common.ErrorCode
	}{
		"a folder":        {func(f string) error { return os.Mkdir(f, 0o755) }, common.ErrorCodeInvalidPath},
		"a full folder":   {func(f string) error { return os.MkdirAll(f+"/x", 0o755) }, common.ErrorCodeInvalidPath},
		"a link":          {func(f string) error { return os.Symlink("/etc/passwd", f) }, common.ErrorCodeSymlinkNotAllowed},
		"a dangling link": {func(f string) error { return os.Symlink("/no/such", f) }, common.ErrorCodeSymlinkNotAllowed},
		"a FIFO":          {func(f string) error { return unix.Mkfifo(f, 0o644) }, common.ErrorCodeNotRegularFile},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fastDir(t)
			r := openRoot(t, dir, Options{})
			st, err := r.Stage(mustPath(t, "d/f"), uuid.New(), StageOptions{Size: 1})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := test.swap(filepath.Join(dir, "d/f")); err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(listing(t, dir), func(l string) bool { return strings.Contains(l, ".vance-") })
			_, err = st.Publish(t.Context())
			wantCode(t, err, test.code)
			if got := listing(t, dir); !slices.Equal(got, want) {
				t.Errorf("folder holds %q, want %q", got, want)
			}
		})
	}
}

// The same, but in the last moment before the rename.
func TestAFolderInPlaceOfTheTargetStopsTheRename(t *testing.T) {
	dir := fastDir(t)
	hook := &hooked{op: OpRename}
	hook.do = func() {
		if err := os.MkdirAll(filepath.Join(dir, "f/x"), 0o755); err != nil {
			t.Error(err)
		}
	}
	_, err := write(t, openRoot(t, dir, Options{Faults: hook}), "f", "x", StageOptions{})
	wantText(t, err, common.ErrorCodeInvalidPath, "invalid path: is a directory")
	if got := listing(t, dir); len(got) != 2 {
		t.Errorf("folder holds %q", got)
	}
}

// hooked does something right before a step.
type hooked struct {
	op Op
	do func()
}

func (h *hooked) Before(op Op, _ string) error {
	if op == h.op {
		h.do()
	}
	return nil
}

func (h *hooked) Write(_ string, _ int64, size int) (int, error) { return size, nil }

func TestAParentThatWasSwappedMeanwhileEndsTheTransfer(t *testing.T) {
	for name, test := range map[string]struct {
		swap func(dir, outside string) error
		code common.ErrorCode
	}{
		"for a link out":       {func(dir, outside string) error { return swapForLink(dir+"/a", dir+"/moved", outside) }, common.ErrorCodeSymlinkNotAllowed},
		"for a link to itself": {func(dir, _ string) error { return swapForLink(dir+"/a", dir+"/moved", "moved") }, common.ErrorCodeSymlinkNotAllowed},
		"and moved out":        {func(dir, outside string) error { return os.Rename(dir+"/a", outside+"/a") }, common.ErrorCodeConflict},
		"for another folder": {func(dir, _ string) error {
			return errors.Join(os.Rename(dir+"/a", dir+"/moved"), os.MkdirAll(dir+"/a/b", 0o755))
		}, common.ErrorCodeConflict},
		"and removed":              {func(dir, _ string) error { return os.RemoveAll(dir + "/a") }, common.ErrorCodeConflict},
		"leaving no staging there": {func(dir, _ string) error { return removeStaging(dir + "/a/b") }, common.ErrorCodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			dir, outside := fastDir(t), fastDir(t)
			put(t, dir, "a/b/old", "old")
			r := openRoot(t, dir, Options{})
			st, err := r.Stage(mustPath(t, "a/b/f"), uuid.New(), StageOptions{Size: 1})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := test.swap(dir, outside); err != nil {
				t.Fatal(err)
			}
			_, err = st.Publish(t.Context())
			wantCode(t, err, test.code)
			for _, where := range []string{dir, outside} {
				for _, line := range listing(t, where) {
					if strings.Contains(line, "/f ") || strings.Contains(line, ".vance-") {
						t.Errorf("left behind: %s", line)
					}
				}
			}
		})
	}
}

func swapForLink(path, moved, target string) error {
	return errors.Join(os.Rename(path, moved), os.Symlink(target, path))
}

func removeStaging(dir string) error {
	names, err := filepath.Glob(dir + "/.vance-part-*")
	if err != nil {
		return err
	}
	return os.Remove(names[0])
}

// swaps is a goroutine that puts a link in place and takes it away again while
// the test works on the same path.
type swaps struct {
	rounds      int
	working     atomic.Bool
	start, done chan struct{}
}

// startSwaps starts it. swap(n) makes a link of the path when n is even and
// what it was before when n is odd.
func startSwaps(t *testing.T, swap func(n int) error) *swaps {
	s := &swaps{start: make(chan struct{}), done: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n := 0
		next := func() {
			if err := swap(n); err != nil {
				t.Errorf("swap %d: %v", n, err)
			}
			n++
		}
		for range s.start {
			// An odd number a round, so that rounds begin with and without the
			// link in turn.
			next()
			for s.working.Load() {
				next()
				next()
			}
			s.done <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		close(s.start)
		<-ended
	})
	return s
}

// during runs work while the path is swapped over and over. One round in eight
// runs it after a single swap, once with the link and once without: whatever the
// scheduler does, the test meets both.
func (s *swaps) during(work func()) {
	alone := s.rounds%16 < 2
	s.rounds++
	s.working.Store(!alone)
	s.start <- struct{}{}
	if alone {
		<-s.done
		work()
		return
	}
	work()
	s.working.Store(false)
	<-s.done
}

func TestTenThousandSwapsOfAFolderForALinkNeverLeadOut(t *testing.T) {
	base := fastDir(t)
	dir, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	put(t, dir, "d/f", "inside")
	put(t, outside, "f", "outside")
	if err := os.Symlink(outside, filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	r := openRoot(t, dir, Options{})
	sameOutside := unchanged(t, outside)

	swaps := startSwaps(t, func(int) error { return exchange(dir, "d", "l") })
	p := mustPath(t, "d/f")
	counts := map[string]int{}
	for range 10_000 {
		swaps.during(func() {
			counts["read "+tryRead(t, r, p)]++
			_, err := write(t, r, "d/f", "inside", StageOptions{})
			counts["write "+outcome(err)]++
			_, err = r.ReadDir(p.Dir())
			counts["list "+outcome(err)]++
		})
	}
	t.Logf("%v", counts)
	if counts["read ok"] == 0 || counts["read symlink_not_allowed"] == 0 || counts["write ok"] == 0 || counts["write symlink_not_allowed"] == 0 {
		t.Errorf("the race was none: %v", counts)
	}
	for outcome := range counts {
		switch outcome = outcome[strings.IndexByte(outcome, ' ')+1:]; outcome {
		case "ok", "symlink_not_allowed", "conflict":
		default:
			t.Errorf("unexpected outcome %s: %v", outcome, counts)
		}
	}
	sameOutside()
	for _, line := range listing(t, dir) {
		if strings.Contains(line, ".vance-") {
			t.Errorf("left behind: %s", line)
		}
	}
}

func tryRead(t *testing.T, r *Root, p Path) string {
	s, err := r.OpenSource(p)
	if err != nil {
		return outcome(err)
	}
	defer s.Close()
	buf := make([]byte, 16)
	if n, _ := s.ReadAt(buf, 0); string(buf[:n]) != "inside" {
		t.Errorf("read %q", buf[:n])
	}
	return "ok"
}

// The leaf itself is swapped for a link to an outside file.
func TestTenThousandSwapsOfATargetForALinkNeverTouchTheOutside(t *testing.T) {
	base := fastDir(t)
	dir, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	put(t, dir, "f", "inside")
	put(t, outside, "f", "outside")
	r := openRoot(t, dir, Options{})
	sameOutside := unchanged(t, outside)
	swaps := startSwaps(t, func(n int) error {
		if n%2 == 0 {
			link := filepath.Join(dir, "l")
			if err := os.Symlink(filepath.Join(outside, "f"), link); err != nil {
				return err
			}
			return os.Rename(link, filepath.Join(dir, "f"))
		}
		file := filepath.Join(dir, "g")
		if err := os.WriteFile(file, []byte("inside"), 0o600); err != nil {
			return err
		}
		return os.Rename(file, filepath.Join(dir, "f"))
	})
	counts := map[string]int{}
	for range 10_000 {
		swaps.during(func() {
			counts["read "+tryRead(t, r, mustPath(t, "f"))]++
			_, err := write(t, r, "f", "inside", StageOptions{})
			counts["write "+outcome(err)]++
		})
	}
	t.Logf("%v", counts)
	if counts["read ok"] == 0 || counts["read symlink_not_allowed"] == 0 || counts["write ok"] == 0 || counts["write symlink_not_allowed"] == 0 {
		t.Errorf("the race was none: %v", counts)
	}
	sameOutside()
}

func TestAnUnreadableFileIsPermissionDenied(t *testing.T) {
	dir := fastDir(t)
	full := put(t, dir, "f", "x")
	r := openRoot(t, dir, Options{})
	if err := os.Chmod(full, 0); err != nil {
		t.Fatal(err)
	}
	asOrdinaryUser(t, dir, func() {
		_, err := r.OpenSource(mustPath(t, "f"))
		wantText(t, err, common.ErrorCodePermissionDenied, "permission denied")
	})
}

func TestAReadOnlyFolderIsPermissionDenied(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "d/f", "x")
	r := openRoot(t, dir, Options{})
	same := unchanged(t, dir)
	if err := os.Chmod(filepath.Join(dir, "d"), 0o555); err != nil {
		t.Fatal(err)
	}
	asOrdinaryUser(t, dir, func() {
		for _, p := range []string{"d/new", "d/f", "d/new/deeper"} {
			_, err := write(t, r, p, "y", StageOptions{})
			wantText(t, err, common.ErrorCodePermissionDenied, "permission denied")
		}
	})
	if err := os.Chmod(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	same()
}

func TestReadOnlyFoldersAreRemovedWithTheirTree(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "mod/pkg/sub/f", "x")
	put(t, dir, "mod/pkg/g", "x")
	for _, d := range []string{"mod/pkg/sub", "mod/pkg", "mod"} {
		if err := os.Chmod(filepath.Join(dir, d), 0o555); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, "dark/f", "x")
	if err := os.Chmod(filepath.Join(dir, "dark"), 0); err != nil {
		t.Fatal(err)
	}
	r := openRoot(t, dir, Options{})
	asOrdinaryUser(t, dir, func() {
		for _, p := range []string{"mod", "dark"} {
			if err := r.RemoveAll(mustPath(t, p)); err != nil {
				t.Error(err)
			}
		}
	})
	if got := listing(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

func TestADiskThatFillsUpIsToldAndFreedAgain(t *testing.T) {
	dir := fastDir(t)
	full := put(t, dir, "f", "old")
	same := unchanged(t, dir)
	const most = 32 << 20
	limitFileSize(t, most)
	r := openRoot(t, dir, Options{})
	st, err := r.Stage(mustPath(t, "f"), uuid.New(), StageOptions{Size: most + 1})
	if err != nil {
		t.Fatal(err)
	}
	n, err := st.Write(make([]byte, most+1))
	wantCode(t, err, common.ErrorCodeDiskFull)
	if n != most {
		t.Errorf("%d bytes were written", n)
	}
	_, again := st.Write([]byte("x"))
	_, published := st.Publish(t.Context())
	wantCode(t, again, common.ErrorCodeDiskFull)
	wantCode(t, published, common.ErrorCodeDiskFull)
	if err := st.Discard(); err != nil {
		t.Error(err)
	}
	same()
	wantContent(t, full, "old")
}

// limitFileSize bounds the files of this process. The bound must be above what the
// testing package itself may be writing: its own log of the files that tests open.
func limitFileSize(t *testing.T, bytes uint64) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			t.Error(err)
		}
	})
}

func TestRemovingATreeNeverGoesThroughALink(t *testing.T) {
	dir, outside := fastDir(t), fastDir(t)
	put(t, outside, "d/secret", "x")
	put(t, dir, "t/a/b/f", "x")
	for _, at := range []string{"t/l", "t/a/l", "t/a/b/l", "top"} {
		if err := os.Symlink(outside, filepath.Join(dir, at)); err != nil {
			t.Fatal(err)
		}
	}
	same := unchanged(t, outside)
	r := openRoot(t, dir, Options{})
	for _, p := range []string{"t", "top", "not-there", "not/there"} {
		if err := r.RemoveAll(mustPath(t, p)); err != nil {
			t.Errorf("removing %s: %v", p, err)
		}
	}
	wantCode(t, r.RemoveAll(Path{}), common.ErrorCodeInvalidPath)
	if got := listing(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	same()
}

// The folder is swapped for a link to the outside between the look at it and
// its opening.
func TestAFolderSwappedForALinkWhileItsTreeIsRemovedStaysUnfollowed(t *testing.T) {
	dir, outside := fastDir(t), fastDir(t)
	put(t, outside, "secret", "x")
	put(t, dir, "t/a/f", "x")
	same := unchanged(t, outside)
	hook := &hooked{op: OpOpenDir}
	opened := 0
	hook.do = func() {
		if opened++; opened == 3 { // root, t, then a
			if err := swapForLink(dir+"/t/a", dir+"/moved", outside); err != nil {
				t.Error(err)
			}
		}
	}
	r := openRoot(t, dir, Options{Faults: hook})
	if err := r.RemoveAll(mustPath(t, "t")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir + "/t"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the tree is still there: %v", err)
	}
	wantContent(t, dir+"/moved/f", "x")
	same()
}

func TestAListingTellsLinksAsLinksAndHidesOurs(t *testing.T) {
	dir, outside := fastDir(t), fastDir(t)
	specials := hazardtest.MakeSpecials(t, dir, outside)
	put(t, dir, ".vance-part-0190b5c2-0000-7000-8000-000000000000", "x")
	put(t, dir, ".vance-stage-x/f", "x")
	r := openRoot(t, dir, Options{})
	entries, err := r.ReadDir(Path{})
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(specials)+2 || !slices.IsSortedFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("listed %v", entries)
	}
	for _, e := range entries {
		want := KindOther
		switch {
		case strings.HasPrefix(e.Name, "link"):
			want = KindLink
		case e.Name == "plain":
			want = KindFile
		case e.Name == "folder":
			want = KindDirectory
		}
		if e.Kind != want || e.Kind == KindFile && (e.Size != 6 || e.Mode != 0o644) {
			t.Errorf("%s: %+v, want %s", e.Name, e, want)
		}
		if got, err := r.Stat(mustPath(t, e.Name)); err != nil || got != e {
			t.Errorf("Stat(%s) = %+v, %v", e.Name, got, err)
		}
	}
}

func TestNoFdIsLeftBehind(t *testing.T) {
	dir, outside := fastDir(t), fastDir(t)
	specials := hazardtest.MakeSpecials(t, dir, outside)
	run := func() {
		r, err := Open(dir, Options{Mask: 0o755})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, s := range append(specials, hazardtest.Special{Name: "plain"}, hazardtest.Special{Name: "folder"}) {
			for _, below := range []string{"", "/x", "/x/y"} {
				p := mustPath(t, s.Name+below)
				if src, err := r.OpenSource(p); err == nil {
					src.Close()
				}
				if st, err := r.Stage(p, uuid.New(), StageOptions{}); err == nil {
					if err := st.Discard(); err != nil {
						t.Error(err)
					}
				}
				_, _ = r.ReadDir(p) // whatever comes of it, it must not leave anything open
				_, _ = r.Stat(p)
			}
		}
		if _, err := write(t, r, "w/x/y", "x", StageOptions{}); err != nil {
			t.Error(err)
		}
		if err := r.RemoveAll(mustPath(t, "w")); err != nil {
			t.Error(err)
		}
	}
	run()
	before := openFds(t)
	for range 20 {
		run()
	}
	if after := openFds(t); after > before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
}

func openFds(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestAFolderThatCannotBeReadDoesNotEndTheSweep(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "a/f", "x")
	put(t, dir, "z/.vance-part-"+uuid.NewString(), "x")
	if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	r := openRoot(t, dir, Options{})
	asOrdinaryUser(t, dir, func() {
		n, err := r.SweepStaging(nil)
		wantCode(t, err, common.ErrorCodePermissionDenied)
		if n != 1 {
			t.Errorf("swept %d", n)
		}
	})
}

func TestOrphansAreSweptAndLivingStagingFilesStay(t *testing.T) {
	dir, outside := fastDir(t), fastDir(t)
	r := openRoot(t, dir, Options{})
	orphan := func(at string) { put(t, dir, at+"/.vance-part-"+uuid.NewString(), "x") }
	orphan(".")
	orphan("a/b")
	kept := uuid.New()
	put(t, dir, ".vance-part-"+kept.String(), "x")
	put(t, dir, ".vance-part-no-id", "x")
	put(t, outside, ".vance-part-"+uuid.NewString(), "x")
	if err := os.Symlink(outside, filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	sameOutside := unchanged(t, outside)
	st, err := r.Stage(mustPath(t, "a/f"), uuid.New(), StageOptions{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Discard()
	n, err := r.SweepStaging(func(id uuid.UUID) bool { return id == kept })
	if err != nil || n != 2 {
		t.Errorf("swept %d, %v", n, err)
	}
	sameOutside()
	if _, err := st.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Publish(t.Context()); err != nil {
		t.Errorf("the sweep took a living staging file: %v", err)
	}
	if n, err := r.SweepStaging(nil); err != nil || n != 1 {
		t.Errorf("swept %d, %v", n, err)
	}
}

package rootfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/hazardtest"
)

func stage(t testing.TB, r *Root, p string, o StageOptions) *Staging {
	t.Helper()
	st, err := r.Stage(mustPath(t, p), uuid.New(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Discard() })
	return st
}

func TestAStagedFileBecomesTheTargetWhenPublished(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	id := uuid.New()
	st, err := r.Stage(mustPath(t, "a/b/c.txt"), id, StageOptions{Size: 10})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := st.Write([]byte("hello")); n != 5 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	staging := filepath.Join(dir, "a/b/.vance-part-"+id.String())
	wantContent(t, staging, "hellohello")
	if _, err := os.Lstat(filepath.Join(dir, "a/b/c.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the target exists before it is published: %v", err)
	}
	done, err := st.Publish(t.Context())
	if err != nil || done.Path != "a/b/c.txt" {
		t.Fatalf("Publish = %+v, %v", done, err)
	}
	wantContent(t, filepath.Join(dir, "a/b/c.txt"), "hellohello")
	if _, err := os.Lstat(staging); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the staging file is still there: %v", err)
	}
	if err := st.Discard(); err != nil {
		t.Errorf("Discard after Publish: %v", err)
	}
	wantContent(t, filepath.Join(dir, "a/b/c.txt"), "hellohello")
	_, err = st.Write([]byte("x"))
	wantCode(t, err, common.ErrorCodeInternal)
	_, err = st.Publish(t.Context())
	wantCode(t, err, common.ErrorCodeInternal)
}

// An old, longer staging file or target must not shine through a shorter one.
func TestAShorterFileReplacesALongerOneWhole(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "f", strings.Repeat("old", 1000))
	if _, err := write(t, openRoot(t, dir, Options{}), "f", "abcd", StageOptions{}); err != nil {
		t.Fatal(err)
	}
	wantContent(t, filepath.Join(dir, "f"), "abcd")
}

func TestTheCorpusOfSizesIsWrittenExactly(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	for _, size := range hazardtest.Sizes() {
		if size.Sparse {
			continue
		}
		content := strings.Repeat("x", int(size.Bytes))
		if _, err := write(t, r, "f", content, StageOptions{}); err != nil {
			t.Errorf("%d bytes: %v", size.Bytes, err)
		}
		if s := openSource(t, r, "f"); s.Size() != size.Bytes {
			t.Errorf("%d bytes became %d", size.Bytes, s.Size())
		}
	}
}

func TestDiscardRestoresTheFolder(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "old/f", "x")
	same := unchanged(t, dir)
	r := openRoot(t, dir, Options{})
	for _, p := range []string{"f", "old/f", "old/g", "new/f", "old/new/deep/f"} {
		st := stage(t, r, p, StageOptions{Size: 4})
		if _, err := st.Write([]byte("half")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := st.Discard(); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
		same()
	}
}

func TestAFolderMadeForATransferStaysWhenSomethingElseUsesIt(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	st := stage(t, r, "a/b/c/f", StageOptions{})
	put(t, dir, "a/user", "mine")
	if err := st.Discard(); err != nil {
		t.Error(err)
	}
	if got := listing(t, dir); len(got) != 2 {
		t.Errorf("folder holds %q, want a and a/user", got)
	}
}

func TestFoldersMadeForSeveralTransfersGoWithTheLastThatFails(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		all := []*Staging{stage(t, r, "a/f", StageOptions{}), stage(t, r, "a/b/f", StageOptions{}), stage(t, r, "a/b/g", StageOptions{})}
		for _, i := range order {
			if got := listing(t, dir); len(got) == 0 {
				t.Error("the folder went while a transfer needed it")
			}
			if err := all[i].Discard(); err != nil {
				t.Error(err)
			}
		}
		if got := listing(t, dir); len(got) != 0 {
			t.Errorf("order %v leaves %q", order, got)
		}
		if n := len(r.parents.made); n != 0 {
			t.Errorf("%d folders are remembered", n)
		}
	}
	kept, failed := stage(t, r, "a/b/f", StageOptions{}), stage(t, r, "a/b/c/g", StageOptions{})
	if _, err := kept.Publish(t.Context()); err != nil {
		t.Error(err)
	}
	if err := failed.Discard(); err != nil {
		t.Error(err)
	}
	if got := listing(t, dir); len(got) != 3 || len(r.parents.made) != 0 {
		t.Errorf("folder holds %q, %d remembered", got, len(r.parents.made))
	}
}

// Transfers into one new folder fail and succeed at random at the same time.
func TestAFailingTransferNeverTakesTheFolderFromAnother(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	for round := range 50 {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				p, err := CleanPath(fmt.Sprintf("d%d/e/f%d", round, i))
				if err != nil {
					t.Error(err)
					return
				}
				st, err := r.Stage(p, uuid.New(), StageOptions{})
				if err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
				if i%2 == round%2 || round%5 == 0 {
					if err := st.Discard(); err != nil {
						t.Error(err)
					}
				} else if _, err := st.Publish(t.Context()); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wg.Wait()
		entries, err := os.ReadDir(filepath.Join(dir, fmt.Sprintf("d%d/e", round)))
		if round%5 == 0 {
			if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("round %d: all failed, and left %v, %v", round, entries, err)
			}
		} else if len(entries) != 4 {
			t.Errorf("round %d: %d files of 4, %v", round, len(entries), err)
		}
	}
	if n := len(r.parents.made); n != 0 {
		t.Errorf("%d folders are remembered", n)
	}
}

func TestATargetThatIsAFolderIsRefusedAtOnce(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "d/f", "x")
	same := unchanged(t, dir)
	r := openRoot(t, dir, Options{})
	for _, policy := range []OnExisting{"", Refuse, KeepBoth} {
		_, err := r.Stage(mustPath(t, "d"), uuid.New(), StageOptions{OnExisting: policy})
		wantText(t, err, common.ErrorCodeInvalidPath, "invalid path: is a directory")
	}
	_, err := r.Stage(mustPath(t, "d/f/below"), uuid.New(), StageOptions{})
	wantText(t, err, common.ErrorCodeInvalidPath, `invalid path: "f" is not a directory`)
	_, err = r.Stage(Path{}, uuid.New(), StageOptions{})
	wantCode(t, err, common.ErrorCodeInvalidPath)
	same()
}

func TestADuplicateIDInOneFolderIsRefusedAndHarmsNothing(t *testing.T) {
	r := openRoot(t, fastDir(t), Options{})
	id := uuid.New()
	first, err := r.Stage(mustPath(t, "f"), id, StageOptions{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Stage(mustPath(t, "g"), id, StageOptions{Size: 1})
	wantCode(t, err, common.ErrorCodeDuplicateTransfer)
	if _, err := first.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := first.Publish(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAFileThatCannotFitIsRefusedBeforeAByteIsWritten(t *testing.T) {
	dir := fastDir(t)
	_, err := openRoot(t, dir, Options{}).Stage(mustPath(t, "new/f"), uuid.New(), StageOptions{Size: 1 << 53})
	wantCode(t, err, common.ErrorCodeInsufficientSpace)
	if err == nil || !strings.HasPrefix(err.Error(), "insufficient disk space: ") {
		t.Errorf("text: %v", err)
	}
	if got := listing(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

func TestAFileOfAnotherSizeThanDeclaredIsNotPublished(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	for _, declared := range []int64{0, 2, 4} {
		st := stage(t, r, "f", StageOptions{Size: declared})
		if _, err := st.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		_, err := st.Publish(t.Context())
		wantCode(t, err, common.ErrorCodeSizeMismatch)
	}
	if got := listing(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	st := stage(t, r, "f", StageOptions{Size: -1})
	if _, err := st.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Publish(t.Context()); err != nil {
		t.Errorf("of unknown size: %v", err)
	}
}

func TestACancelledPublishLeavesTheOldFile(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "f", "old")
	same := unchanged(t, dir)
	st := stage(t, openRoot(t, dir, Options{}), "f", StageOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := st.Publish(ctx)
	wantText(t, err, common.ErrorCodeCancelled, "cancelled")
	same()
}

func TestOnlyTheFileThatWasWrittenIsPublished(t *testing.T) {
	for name, c := range map[string]struct {
		other func(staging string) error
		text  string
	}{
		"replaced": {func(staging string) error {
			return errors.Join(os.Remove(staging), os.WriteFile(staging, []byte("evil"), 0o600))
		}, "conflict: another program replaced the file that was being written"},
		"replaced by a link": {func(staging string) error {
			return errors.Join(os.Remove(staging), os.Symlink("/etc/passwd", staging))
		}, "conflict: another program replaced the file that was being written"},
		"removed": {os.Remove, "conflict: another program removed the file that was being written"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fastDir(t)
			put(t, dir, "f", "old")
			same := unchanged(t, dir)
			st := stage(t, openRoot(t, dir, Options{}), "f", StageOptions{Size: 4})
			if _, err := st.Write([]byte("good")); err != nil {
				t.Fatal(err)
			}
			if err := c.other(filepath.Join(dir, st.name)); err != nil {
				t.Fatal(err)
			}
			_, err := st.Publish(t.Context())
			wantText(t, err, common.ErrorCodeConflict, c.text)
			same()
		})
	}
}

func TestDiscardWaitsForAWriteAndEndsTheNext(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	st := stage(t, r, "f", StageOptions{Size: -1})
	ended := make(chan error)
	started := make(chan struct{})
	go func() {
		var once sync.Once
		for {
			if _, err := st.Write(make([]byte, 64)); err != nil {
				ended <- err
				return
			}
			once.Do(func() { close(started) })
		}
	}()
	<-started
	if err := st.Discard(); err != nil {
		t.Error(err)
	}
	wantCode(t, <-ended, common.ErrorCodeInternal)
	if got := listing(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

func TestTimesAreKeptToTheNanosecondOrClamped(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	for _, at := range []time.Time{
		time.Date(2026, 5, 1, 14, 23, 11, 123456789, time.UTC),
		time.Date(1970, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC),
	} {
		_, err := write(t, r, "f", "x", StageOptions{Attrs: Attrs{ModTime: &at}})
		if err != nil {
			t.Errorf("%v: %v", at, err)
		}
		if got := openSource(t, r, "f").ModTime(); !got.Equal(at) {
			t.Errorf("%v became %v", at, got.UTC())
		}
	}
	for _, at := range []time.Time{
		time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		{},
	} {
		if _, err := write(t, r, "f", "x", StageOptions{Attrs: Attrs{ModTime: &at}}); err != nil {
			t.Errorf("%v: %v", at, err)
		}
	}
}

func TestClampedTimesLieWhereEveryFileSystemHoldsThem(t *testing.T) {
	for in, want := range map[time.Time]time.Time{
		time.Unix(-5, 7):        time.Unix(0, 0),
		time.Unix(1<<40, 0):     time.Unix(1<<31-1, 0),
		time.Unix(1_000_000, 9): time.Unix(1_000_000, 9),
	} {
		if got := clampTime(in); !got.Equal(want) {
			t.Errorf("%v became %v, want %v", in, got, want)
		}
	}
}

// Attributes count field by field: giving a mode does not touch the time, giving
// a time does not touch the mode.
func TestAModeAloneLeavesTheTimeAndATimeAloneTheMode(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	mode, at, begun := os.FileMode(0o700), time.Unix(1e9, 0), time.Now().Add(-time.Second)
	if _, err := write(t, r, "m", "x", StageOptions{Attrs: Attrs{Mode: &mode}}); err != nil {
		t.Fatal(err)
	}
	if s := openSource(t, r, "m"); s.Mode() != 0o700 || s.ModTime().Before(begun) {
		t.Errorf("mode alone: %v, %v", s.Mode(), s.ModTime())
	}
	if _, err := write(t, r, "t", "x", StageOptions{Attrs: Attrs{ModTime: &at}}); err != nil {
		t.Fatal(err)
	}
	if s := openSource(t, r, "t"); s.Mode() != 0o644 || !s.ModTime().Equal(at) {
		t.Errorf("time alone: %v, %v", s.Mode(), s.ModTime())
	}
}

func TestRefusingIsCheckedAtTheStartAndAgainAtTheEnd(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	st := stage(t, r, "f", StageOptions{OnExisting: Refuse})
	put(t, dir, "f", "first")
	same := slices.DeleteFunc(listing(t, dir), func(l string) bool { return strings.Contains(l, ".vance-") })
	_, err := st.Publish(t.Context())
	wantText(t, err, common.ErrorCodeAlreadyExists, "already exists")
	_, err = r.Stage(mustPath(t, "f"), uuid.New(), StageOptions{OnExisting: Refuse})
	wantText(t, err, common.ErrorCodeAlreadyExists, "already exists")
	if got := listing(t, dir); !slices.Equal(got, same) {
		t.Errorf("folder holds %q", got)
	}
}

func TestOfEightThatRefuseOnePublishes(t *testing.T) {
	dir := fastDir(t)
	results := publishEight(t, openRoot(t, dir, Options{}), "f", Refuse)
	won := 0
	for _, res := range results {
		if res.err == nil {
			won++
			wantContent(t, filepath.Join(dir, "f"), res.content)
			continue
		}
		wantCode(t, res.err, common.ErrorCodeAlreadyExists)
	}
	if won != 1 || len(listing(t, dir)) != 1 {
		t.Errorf("%d published; folder holds %q", won, listing(t, dir))
	}
}

func TestEightKeptAtOnceGetEightNames(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "d/archive.tar.gz", "old")
	results := publishEight(t, openRoot(t, dir, Options{}), "d/archive.tar.gz", KeepBoth)
	var got, want []string
	for i, res := range results {
		if res.err != nil {
			t.Fatal(res.err)
		}
		got = append(got, res.Path)
		want = append(want, fmt.Sprintf("d/archive-%d.tar.gz", i+1))
		wantContent(t, filepath.Join(dir, res.Path), res.content)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("names are %q", got)
	}
	wantContent(t, filepath.Join(dir, "d/archive.tar.gz"), "old")
}

func TestKeepingBothTakesThePlainNameWhenItIsFree(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	for _, want := range []string{"a.txt", "a-1.txt", "a-2.txt"} {
		done, err := write(t, r, "a.txt", want, StageOptions{OnExisting: KeepBoth})
		if err != nil || done.Path != want {
			t.Errorf("kept as %q, %v, want %q", done.Path, err, want)
		}
		wantContent(t, filepath.Join(dir, want), want)
	}
}

func TestAnUnknownPolicyIsRefused(t *testing.T) {
	dir := fastDir(t)
	_, err := openRoot(t, dir, Options{}).Stage(mustPath(t, "new/f"), uuid.New(), StageOptions{OnExisting: "overwrite"})
	wantText(t, err, common.ErrorCodeInvalidRequest, `invalid request: onExisting "overwrite" is unknown`)
	if got := listing(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

// A copy of ".vance" would have a name that is ours and hidden.
func TestACopyNeverGetsANameOfOurs(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	put(t, dir, ".vance", "x")
	_, err := write(t, r, ".vance", "y", StageOptions{OnExisting: KeepBoth})
	wantCode(t, err, common.ErrorCodeAlreadyExists)
	if got := listing(t, dir); len(got) != 1 {
		t.Errorf("folder holds %q", got)
	}
}

type published struct {
	Published
	content string
	err     error
}

// publishEight stages eight files for one target and publishes them at once.
func publishEight(t *testing.T, r *Root, p string, policy OnExisting) []published {
	t.Helper()
	results := make([]published, 8)
	var staged [8]*Staging
	for i := range staged {
		results[i].content = fmt.Sprint("content ", i)
		staged[i] = stage(t, r, p, StageOptions{Size: -1, OnExisting: policy})
		if _, err := staged[i].Write([]byte(results[i].content)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i, st := range staged {
		wg.Go(func() { results[i].Published, results[i].err = st.Publish(t.Context()) })
	}
	wg.Wait()
	return results
}

func TestGitFoldersAreProtectedWhereTheRootSaysSo(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, ".git/config", "x")
	put(t, dir, "sub/.git/hooks/post-commit", "x")
	same := unchanged(t, dir)
	r := openRoot(t, dir, Options{ProtectGit: true})
	for _, p := range []string{
		".git", ".git/config", ".git/hooks/pre-commit", "sub/.git/hooks/x", ".GIT/x", ".Git", "git~1/config", "GIT~1",
		".g\u200cit/x", "a/../.git/x", "new/.git/x", ".git\ufeff/x", ".git./x", ".git /x",
	} {
		_, err := r.Stage(mustPath(t, p), uuid.New(), StageOptions{})
		wantText(t, err, common.ErrorCodePathProtected, "writing into .git is not allowed")
		wantCode(t, r.Mkdir(mustPath(t, p)), common.ErrorCodePathProtected)
		wantCode(t, r.RemoveAll(mustPath(t, p)), common.ErrorCodePathProtected)
	}
	same()
	if _, err := r.OpenSource(mustPath(t, ".git/config")); err != nil {
		t.Errorf("reading is free: %v", err)
	}
	for _, p := range []string{".gitignore", ".github/x", "git/x", "a.git/x", "sub/git~2"} {
		if _, err := write(t, r, p, "x", StageOptions{}); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := write(t, openRoot(t, dir, Options{}), ".git/hooks/x", "x", StageOptions{}); err != nil {
		t.Errorf("without protection: %v", err)
	}
}

func TestAFolderIsMadeOnceAndWithItsParents(t *testing.T) {
	dir := fastDir(t)
	r := openRoot(t, dir, Options{})
	if err := r.Mkdir(mustPath(t, "a/b/c")); err != nil {
		t.Fatal(err)
	}
	if e, err := r.Stat(mustPath(t, "a/b/c")); err != nil || e.Kind != KindDirectory {
		t.Errorf("Stat = %+v, %v", e, err)
	}
	put(t, dir, "f", "x")
	same := unchanged(t, dir)
	for _, p := range []string{"a/b/c", "a", "f"} {
		wantText(t, r.Mkdir(mustPath(t, p)), common.ErrorCodeAlreadyExists, "already exists")
	}
	wantCode(t, r.Mkdir(mustPath(t, "f/new/d")), common.ErrorCodeInvalidPath)
	same()
	if n := len(r.parents.made); n != 0 {
		t.Errorf("%d folders are remembered", n)
	}
}

func TestASubRootIsARootOfItsOwn(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "t/p/d/f", "x")
	r := openRoot(t, dir, Options{})
	sub, err := r.Sub(mustPath(t, "t/p/d"), Options{Mask: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if sub.Path() != filepath.Join(r.Path(), "t/p/d") {
		t.Errorf("its path is %s", sub.Path())
	}
	if _, err := write(t, sub, "g", "y", StageOptions{}); err != nil {
		t.Error(err)
	}
	if s := openSource(t, r, "t/p/d/g"); s.Mode() != 0o600 {
		t.Errorf("mode is %v: not the sub root's mask", s.Mode())
	}
	_, err = r.Sub(mustPath(t, "t/p/d/f"), Options{})
	wantCode(t, err, common.ErrorCodeNotFound)
	_, err = r.Sub(mustPath(t, "t/no"), Options{})
	wantCode(t, err, common.ErrorCodeNotFound)
}

func TestALazyRootIsMadeByTheFirstWrite(t *testing.T) {
	base := fastDir(t)
	r, err := OpenLazy(base, Options{Mask: 0o755}, "acme", "proj")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := mustPath(t, "a/f")
	_, err = r.OpenSource(p)
	wantText(t, err, common.ErrorCodeNotFound, "file not found")
	_, err = r.ReadDir(Path{})
	wantCode(t, err, common.ErrorCodeNotFound)
	if n, err := r.SweepStaging(nil); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if err := r.RemoveAll(p); err != nil {
		t.Error(err)
	}
	if got := listing(t, base); len(got) != 0 {
		t.Errorf("reading made %q", got)
	}
	// A failed first transfer takes its own folders away, not the project's.
	if err := stage(t, r, "a/f", StageOptions{}).Discard(); err != nil {
		t.Error(err)
	}
	if got := listing(t, base); !slices.Equal(got, []string{"/acme drwx------", "/acme/proj drwx------"}) {
		t.Errorf("base holds %q", got)
	}
	if _, err := write(t, r, "a/f", "x", StageOptions{}); err != nil {
		t.Error(err)
	}
	wantContent(t, filepath.Join(base, "acme/proj/a/f"), "x")
}

func TestALazyRootThatWasRemovedIsMadeAgain(t *testing.T) {
	base := fastDir(t)
	r, err := OpenLazy(base, Options{Mask: 0o755}, "acme", "proj")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 {
		if _, err := write(t, r, "f", "x", StageOptions{}); err != nil {
			t.Error(err)
		}
		wantContent(t, filepath.Join(base, "acme/proj/f"), "x")
		if err := os.RemoveAll(filepath.Join(base, "acme")); err != nil {
			t.Fatal(err)
		}
		_, err := r.OpenSource(mustPath(t, "f"))
		wantCode(t, err, common.ErrorCodeNotFound)
	}
}

func TestALazyRootRefusesSegmentsThatLeadElsewhere(t *testing.T) {
	base := fastDir(t)
	for _, bad := range []string{"", ".", "..", "a/b", ".vance-x"} {
		_, err := OpenLazy(base, Options{}, "acme", bad)
		wantCode(t, err, common.ErrorCodeInvalidPath)
	}
	_, err := OpenLazy(filepath.Join(base, "no"), Options{}, "acme")
	wantCode(t, err, common.ErrorCodeNotFound)
}

func TestAClosedRootIsNotUsedAndItsOpenFilesLiveOn(t *testing.T) {
	dir := fastDir(t)
	put(t, dir, "old", "x")
	r, err := Open(dir, Options{Mask: 0o755})
	if err != nil {
		t.Fatal(err)
	}
	st := stage(t, r, "f", StageOptions{})
	s := openSource(t, r, "old")
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err = r.OpenSource(mustPath(t, "old"))
	wantCode(t, err, common.ErrorCodeInternal)
	if _, err := s.ReadAt(make([]byte, 1), 0); err != nil {
		t.Errorf("an open source: %v", err)
	}
	if _, err := st.Publish(t.Context()); err != nil {
		t.Errorf("a running staging: %v", err)
	}
}

func BenchmarkSmallFile(b *testing.B) {
	r := openRoot(b, fastDir(b), Options{})
	for b.Loop() {
		if _, err := write(b, r, "d/f", "x", StageOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

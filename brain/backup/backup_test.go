package backup

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stateFile is a state that is copied by writing a text.
type stateFile string

func (s stateFile) Snapshot(_ context.Context, file string) error {
	return os.WriteFile(file, []byte(s), 0o644)
}

func place(t *testing.T) Source {
	t.Helper()
	src := Source{Data: t.TempDir(), State: stateFile("the state")}
	src.Workspaces = filepath.Join(src.Data, "elsewhere")
	for name, text := range map[string]string{"acme/p/d/a.txt": "hello", "acme/p/d/sub/b": "", "acme/p/d/.vance-part-7": "half", "acme/p/d/.vance-stage-7/x": "half"} {
		file := filepath.Join(src.Workspaces, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return src
}

// contents are the files of an archive.
func contents(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]string{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			all[h.Name] = string(text)
		}
	}
}

func TestAnArchiveHasTheFormOfADataDirectory(t *testing.T) {
	src := place(t)
	if err := os.WriteFile(filepath.Join(src.Data, "audit.log"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(src.Workspaces, "acme", "p", "d", "link")); err != nil {
		t.Logf("no link: %v", err)
	}
	file := filepath.Join(t.TempDir(), "b.tar")
	report, err := Write(t.Context(), file, src)
	if err != nil || report.Files != 4 || report.Bytes != int64(len("the state")+len("{}\n")+len("hello")) {
		t.Fatalf("%+v, %v", report, err)
	}
	got := contents(t, file)
	want := map[string]string{"state.db": "the state", "audit.log": "{}\n", "workspaces/acme/p/d/a.txt": "hello", "workspaces/acme/p/d/sub/b": ""}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %q", name, got[name])
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("too much: %v", got)
	}
}

func TestABackupThatFailsLeavesNothing(t *testing.T) {
	src := place(t)
	src.State = failing{}
	dir := t.TempDir()
	file := filepath.Join(dir, "b.tar")
	if _, err := Write(t.Context(), file, src); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ended, file, place(t)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, folder := range []string{dir, src.Data} {
		left, err := filepath.Glob(filepath.Join(folder, ".backup-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is an archive")
	}
}

var errBroken = errors.New("broken")

type failing struct{}

func (failing) Snapshot(context.Context, string) error { return errBroken }

func TestAnArchiveThatIsThereIsNotReplaced(t *testing.T) {
	src := place(t)
	file := filepath.Join(t.TempDir(), "b.tar")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), file, src); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	// Also one that came while the new one was written.
	from := filepath.Join(filepath.Dir(file), "new")
	if err := os.WriteFile(from, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := publish(from, file); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || !slices.Equal(text, []byte("old")) {
		t.Errorf("%q, %v", text, err)
	}
}

// killed leaves what a backup leaves that is killed while it writes.
type killed struct{ leave func(dir string) }

func (k killed) Snapshot(_ context.Context, file string) error {
	k.leave(filepath.Dir(file))
	return errBroken
}

func TestTheNextBackupRemovesWhatAKilledOneLeft(t *testing.T) {
	src := place(t)
	good := src.State
	dir := t.TempDir()
	for _, name := range []string{".backup-mine", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	src.State = killed{func(half string) {
		// As it is at that moment, under a name that the failing Write does not remove.
		again := filepath.Join(src.Data, prefix+"killed")
		archive := filepath.Join(dir, prefix+"killed")
		if err := errors.Join(os.Rename(half, again), os.Rename(filepath.Join(dir, filepath.Base(half)), archive),
			os.WriteFile(filepath.Join(again, noteName), []byte(archive), 0o600), os.Mkdir(half, 0o700)); err != nil {
			t.Error(err)
		}
	}}
	if _, err := Write(t.Context(), filepath.Join(dir, "a.tar"), src); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, prefix+"killed")); err != nil {
		t.Fatal(err)
	}
	src.State = good
	if _, err := Write(t.Context(), filepath.Join(dir, "b.tar"), src); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, folder := range []string{dir, src.Data} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") || folder == dir {
				left = append(left, e.Name())
			}
		}
	}
	if want := []string{".backup-mine", "b.tar", "other"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
}

func TestOneBackupOfADataDirectoryAtATime(t *testing.T) {
	src := place(t)
	good, dir := src.State, t.TempDir()
	var second error
	src.State = killed{func(string) {
		other := src
		other.State = good
		_, second = Write(t.Context(), filepath.Join(dir, "second.tar"), other)
	}}
	if _, err := Write(t.Context(), filepath.Join(dir, "first.tar"), src); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if !errors.Is(second, ErrRuns) {
		t.Errorf("the second: %v", second)
	}
}

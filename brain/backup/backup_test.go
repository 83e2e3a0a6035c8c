package backup

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
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

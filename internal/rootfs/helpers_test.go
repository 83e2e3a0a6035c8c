package rootfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

func mustPath(t testing.TB, p string) Path {
	t.Helper()
	cleaned, err := CleanPath(p)
	if err != nil {
		t.Fatal(err)
	}
	return cleaned
}

// fastDir is a folder on a file system in memory, if there is one: thousands
// of fsyncs take their time on a disk.
func fastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "rootfs")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func openRoot(t testing.TB, dir string, o Options) *Root {
	t.Helper()
	if o.Mask == 0 {
		o.Mask = 0o755
	}
	r, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func put(t testing.TB, dir, name, content string) string {
	t.Helper()
	full := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return full
}

// write stages, writes and publishes in one go.
func write(t testing.TB, r *Root, p, content string, o StageOptions) (Published, error) {
	t.Helper()
	o.Size = int64(len(content))
	st, err := r.Stage(mustPath(t, p), uuid.New(), o)
	if err != nil {
		return Published{}, err
	}
	if _, err := st.Write([]byte(content)); err != nil {
		if err := st.Discard(); err != nil {
			t.Errorf("Discard: %v", err)
		}
		return Published{}, err
	}
	return st.Publish(t.Context())
}

// listing returns all that is below a folder: path, mode, size, time, content or
// link target, so that two of them are equal only if nothing changed.
func listing(t testing.TB, dir string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(path, dir) + " " + info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + info.ModTime().UTC().Format(time.RFC3339Nano) + " " + string(content)
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + target
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// unchanged remembers a folder and returns the check that it is the same still.
func unchanged(t testing.TB, dir string) func() {
	t.Helper()
	want := listing(t, dir)
	return func() {
		t.Helper()
		if got := listing(t, dir); !slices.Equal(got, want) {
			t.Errorf("%s changed:\n%s\nwas:\n%s", dir, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func wantCode(t testing.TB, err error, want common.ErrorCode) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("error is %v (%s), want %s", err, got, want)
	}
}

func wantText(t testing.TB, err error, code common.ErrorCode, text string) {
	t.Helper()
	wantCode(t, err, code)
	if err != nil && err.Error() != text {
		t.Errorf("text is %q, want %q", err, text)
	}
}

func wantContent(t testing.TB, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %.60q, %v; want %.60q", filepath.Base(path), got, err, want)
	}
}

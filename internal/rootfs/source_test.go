package rootfs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vancetope/transfer/gen/common"
)

func openSource(t testing.TB, r *Root, p string) *Source {
	t.Helper()
	s, err := r.OpenSource(mustPath(t, p))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestASourceTellsSizeModeAndTimeOfTheOpenedFile(t *testing.T) {
	dir := t.TempDir()
	full := put(t, dir, "a/b.txt", "hello")
	at := time.Date(2024, 5, 1, 14, 23, 11, 123456789, time.UTC)
	if err := errors.Join(os.Chmod(full, 0o640), os.Chtimes(full, at, at)); err != nil {
		t.Fatal(err)
	}
	s := openSource(t, openRoot(t, dir, Options{}), "a/b.txt")
	if s.Size() != 5 || s.Mode() != 0o640 || !s.ModTime().Equal(at) || s.Path().String() != "a/b.txt" {
		t.Errorf("source is %d bytes, %v, %v, %s", s.Size(), s.Mode(), s.ModTime(), s.Path())
	}
	got, err := io.ReadAll(io.NewSectionReader(s, 0, s.Size()))
	if err != nil || string(got) != "hello" {
		t.Errorf("read %q, %v", got, err)
	}
	if n, err := s.ReadAt(make([]byte, 8), 3); n != 2 || err != io.EOF {
		t.Errorf("read past the end: %d, %v", n, err)
	}
	if err := s.CheckUnchanged(); err != nil {
		t.Errorf("nobody changed it: %v", err)
	}
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "file", "x")
	r := openRoot(t, dir, Options{})
	for _, p := range []string{"no", "no/such", "file/below"} {
		_, err := r.OpenSource(mustPath(t, p))
		wantCode(t, err, common.ErrorCodeNotFound)
	}
	_, err := r.OpenSource(mustPath(t, "no"))
	wantText(t, err, common.ErrorCodeNotFound, "file not found")
	_, err = Open(filepath.Join(dir, "no"), Options{})
	wantCode(t, err, common.ErrorCodeNotFound)
	_, err = r.OpenSource(Path{})
	wantText(t, err, common.ErrorCodeNotRegularFile, "not a regular file: a directory")
}

func TestAChangedSourceIsNoticed(t *testing.T) {
	for name, change := range map[string]func(full string) error{
		"grown":   func(full string) error { return appendTo(full, "more") },
		"shrunk":  func(full string) error { return os.Truncate(full, 2) },
		"touched": func(full string) error { return os.Chtimes(full, time.Time{}, time.Unix(1e9, 5)) },
		"rewritten with the same size": func(full string) error {
			return errors.Join(os.WriteFile(full, []byte("jello"), 0o644), os.Chtimes(full, time.Time{}, time.Unix(1e9, 5)))
		},
		"removed": os.Remove,
		"replaced by its like": func(full string) error {
			info, err := os.Stat(full)
			return errors.Join(err, os.WriteFile(full+"2", []byte("hello"), 0o644),
				os.Chtimes(full+"2", info.ModTime(), info.ModTime()), os.Rename(full+"2", full))
		},
		"replaced by a link to it": func(full string) error {
			return errors.Join(os.Rename(full, full+"2"), os.Symlink(full+"2", full))
		},
		"its folder moved": func(full string) error {
			d := filepath.Dir(full)
			return os.Rename(d, d+"2")
		},
		"its folder replaced by a link to it": func(full string) error {
			d := filepath.Dir(full)
			return errors.Join(os.Rename(d, d+"2"), os.Symlink(d+"2", d))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			full := put(t, dir, "d/f", "hello")
			s := openSource(t, openRoot(t, dir, Options{}), "d/f")
			if err := change(full); err != nil {
				t.Fatal(err)
			}
			wantText(t, s.CheckUnchanged(), common.ErrorCodeSourceChanged, "source changed during transfer")
		})
	}
}

func appendTo(full, more string) error {
	f, err := os.OpenFile(full, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(more)
	return errors.Join(err, f.Close())
}

func TestErrorsOfReadingHaveTheirCodes(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "d/f", "hello")
	for _, test := range []struct {
		op   Op
		err  error
		want common.ErrorCode
		text string
	}{
		{OpOpenRead, syscall.EACCES, common.ErrorCodePermissionDenied, "permission denied"},
		{OpOpenRead, syscall.EPERM, common.ErrorCodePermissionDenied, "permission denied"},
		{OpOpenDir, syscall.EACCES, common.ErrorCodePermissionDenied, "permission denied"},
		{OpStat, syscall.EACCES, common.ErrorCodePermissionDenied, "permission denied"},
		{OpOpenRead, syscall.ENOENT, common.ErrorCodeNotFound, "file not found"},
		{OpOpenRead, syscall.EMFILE, common.ErrorCodeInternal, "internal error: " + syscall.EMFILE.Error()},
	} {
		r := openRoot(t, dir, Options{Faults: failing{test.op, test.err}})
		_, err := r.OpenSource(mustPath(t, "d/f"))
		wantText(t, err, test.want, test.text)
	}
	s := openSource(t, openRoot(t, dir, Options{Faults: failing{OpRead, syscall.EIO}}), "d/f")
	_, err := s.ReadAt(make([]byte, 5), 0)
	wantText(t, err, common.ErrorCodeInternal, "internal error: "+syscall.EIO.Error())
}

// failing is the smallest of faults, for tests inside the package: the exported
// ones import it.
type failing struct {
	op  Op
	err error
}

func (f failing) Before(op Op, name string) error {
	if op == f.op && !filepath.IsAbs(name) {
		return f.err
	}
	return nil
}

func (f failing) Write(_ string, _ int64, size int) (int, error) { return size, nil }

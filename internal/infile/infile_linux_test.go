package infile

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAPipeWithoutAWriterIsRefusedAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(name, 10); err == nil || !strings.Contains(err.Error(), "nobody writes to") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAPipeIsReadToItsEndAndASignalEndsTheWait(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("/dev/fd", itoa(r.Fd()))
		f, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString("to"); err != nil {
			t.Fatal(err)
		}
		type result struct {
			text string
			err  error
		}
		ended := make(chan result)
		go func() {
			text, err := Read(f, 10)
			ended <- result{string(text), err}
		}()
		if !interrupted {
			if _, err := w.WriteString("ken"); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := <-ended; got.text != "token" || got.err != nil {
				t.Errorf("%q, %v", got.text, got.err)
			}
			continue
		}
		awaitEmpty(t, r) // the reader has taken what there was, and waits with its signals on
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if got := <-ended; !errors.Is(got.err, ErrInterrupted) {
			t.Errorf("%q, %v", got.text, got.err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALongFileIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(name, 10); err != nil || len(text) != 10 {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := ReadFile(name, 9); err == nil {
		t.Errorf("read as %q", text)
	}
}

func itoa(fd uintptr) string { return strconv.Itoa(int(fd)) }

// awaitEmpty waits until nothing is left in a pipe.
func awaitEmpty(t *testing.T, r *os.File) {
	t.Helper()
	for range 1000 {
		n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("nobody reads")
}

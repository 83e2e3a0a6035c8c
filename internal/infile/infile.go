// Package infile reads the small files that a command line names. It never waits
// for a pipe that nobody writes to, and a signal ends the wait for one that
// somebody does: a shell's <(…) is such a pipe.
package infile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Open opens a file for reading. A pipe is opened whether it has a writer or not.
func Open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
}

// ErrInterrupted: a signal came while nothing did from a pipe.
var ErrInterrupted = errors.New("interrupted")

// Read reads a file of Open to its end, or up to a byte more than limit.
func Read(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return io.ReadAll(io.LimitReader(f, limit+1))
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		select {
		case <-signals:
			// What cannot have a deadline is no pipe and has an end.
			_ = f.SetReadDeadline(time.Unix(1, 0))
		case <-done:
		}
	}()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	close(done)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ErrInterrupted
	case err == nil && len(text) == 0 && info.Mode()&os.ModeNamedPipe != 0:
		return nil, fmt.Errorf("%s is a pipe that nobody writes to", f.Name())
	}
	return text, err
}

// ReadFile opens and reads a file of at most limit bytes.
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from: closing cannot lose anything
	text, err := Read(f, limit)
	if err == nil && int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", name, limit)
	}
	return text, err
}

// Package flock makes sure that one process at a time uses a folder: an
// operating system lock on a file in it, which ends with the process however it
// ends. The file stays behind; only the lock says that somebody is there.
package flock

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

// ErrHeld means that another process (or another Lock of this one) has it.
var ErrHeld = errors.New("in use by another process")

// Lock is a lock that is held.
type Lock struct{ f *os.File }

// Acquire takes the lock on a file, which it creates 0600 when it is missing.
// It does not wait: it returns an error that is ErrHeld when the lock is taken.
func Acquire(name string) (*Lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := sign(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Lock{f}, nil
}

// sign leaves this process's id in the file, as a hint for people.
func sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// Release ends the lock.
func (l *Lock) Release() error { return l.f.Close() }

// Holder returns the process id that the last holder wrote, or 0.
func Holder(name string) int {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

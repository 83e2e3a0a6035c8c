package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrEmpty: the file is there and has nothing in it. To the engine that is a new
// store, but no store is ever left like that: taking it for one would forget every
// token, and with the descriptors every RootDir.
var ErrEmpty = errors.New("the file is empty, as a damaged disk or a failed copy leaves it: " +
	"put the one of a backup in its place, or remove it to begin without tokens and RootDirs")

// emptyPatience is how long a file may be empty that another process is making.
const emptyPatience = 2 * time.Second

// createPrivate makes the file before the engine does, so that it and the two
// files the engine puts beside it, which take over its mode, are never readable
// by others. Where it is there, it is waited for until it has its first bytes.
func createPrivate(ctx context.Context, name string) (made bool, err error) {
	deadline := time.Now().Add(emptyPatience)
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return true, f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		empty, err := isEmpty(name)
		if err != nil || !empty {
			return false, err
		}
		if time.Now().After(deadline) {
			return false, fmt.Errorf("%s: %w", name, ErrEmpty)
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// isEmpty opens the file, so that one that may not be used is told here. One that
// went meanwhile is as good as empty: it is made again.
func isEmpty(name string) (bool, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && info.Size() == 0, errors.Join(err, f.Close())
}

// removeEmpty takes back a file that this process made and could not fill, as on
// a full disk. Nobody else fills it.
func removeEmpty(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Size() > 0 {
		return err
	}
	return os.Remove(name)
}

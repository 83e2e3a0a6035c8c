package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/flock"
	"github.com/vancetope/transfer/internal/settings"
)

// dataFlag says where a Brain keeps what must last.
type dataFlag struct {
	Data string `help:"Folder for the Brain's state and workspaces." default:"~/.vancetope/brain" placeholder:"DIR"`
}

// dir returns the data directory as an absolute path.
func (f dataFlag) dir() (string, error) {
	dir, err := settings.ExpandPath(f.Data)
	if err != nil {
		return "", cli.Usagef("--data %q %w", f.Data, err)
	}
	return dir, nil
}

// openState opens the state in a data directory. Several processes may.
func openState(ctx context.Context, dir string) (*state.SQLite, error) {
	store, err := state.OpenSQLite(ctx, dir)
	if err != nil {
		return nil, cli.Usagef("the data directory (--data) cannot be used: %w", err)
	}
	return store, nil
}

// lockName is the file that tells who serves a data directory.
const lockName = "serve.lock"

// lockData makes this process the only one to serve a data directory, which it
// makes when it is missing.
func lockData(dir string) (*flock.Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, cli.Usagef("the data directory (--data) cannot be made: %w", err)
	}
	name := filepath.Join(dir, lockName)
	lock, err := flock.Acquire(name)
	switch {
	case errors.Is(err, flock.ErrHeld):
		return nil, &cli.Exit{Code: cli.InUse, Err: fmt.Errorf(
			"the data directory %s is served by another brain serve (process %d): stop it, or use another --data", dir, flock.Holder(name))}
	case err != nil:
		return nil, cli.Usagef("the data directory (--data) cannot be used: %w", err)
	}
	return lock, nil
}

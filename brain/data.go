package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vancetope/transfer/brain/audit"
	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/flock"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/settings"
)

// dataFlag says where a Brain keeps what must last.
type dataFlag struct {
	Data *string `help:"Folder for the Brain's state and workspaces; default ~/.vancetope/brain." placeholder:"DIR"`
}

// settings loads the Brain's settings. All commands do, so that they agree on
// the data directory.
func (f dataFlag) settings(i invocation, file string, flags map[string]*string) (*settings.Settings, error) {
	said := map[string]string{}
	for name, text := range flags {
		if text != nil {
			said[name] = *text
		}
	}
	if f.Data != nil {
		said["vance.brain.data"] = *f.Data
	}
	values, err := settings.Load(settings.Options{Program: settings.ForBrain, File: file, Environ: i.environ, Flags: said})
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return values, nil
}

// settingFlags are the flags that stand for settings.
type settingFlags struct {
	dataFlag
	Listen        *string `help:"Where to listen; default 127.0.0.1:9990. Port 0 picks a free one and the ready line tells it." placeholder:"HOST:PORT"`
	PublicURL     *string `name:"public-url" help:"Address under which others reach this Brain, for links; default where it listens." placeholder:"URL"`
	MetricsListen *string `help:"Where to serve figures for Prometheus, at /metrics and without a token; default nowhere." placeholder:"HOST:PORT"`
	Config        string  `help:"File with settings; default ~/.vancetope/brain.yaml when there is one." placeholder:"FILE"`
}

// load loads the settings with what the flags say.
func (f settingFlags) load(i invocation) (*settings.Settings, error) {
	return f.settings(i, f.Config, map[string]*string{
		"vance.brain.listen":         f.Listen,
		"vance.brain.public-url":     f.PublicURL,
		"vance.brain.metrics-listen": f.MetricsListen,
	})
}

// openState opens the state in a data directory. Several processes may.
func openState(ctx context.Context, dir string) (*state.SQLite, error) {
	store, err := state.OpenSQLite(ctx, dir)
	if fault.CodeOf(err) == common.ErrorCodeDiskFull {
		return nil, &cli.Exit{Code: cli.Failed, Err: err}
	}
	if err != nil {
		return nil, cli.Usagef("the data directory (--data) cannot be used: %w", err)
	}
	return store, nil
}

// stateOpener opens the state in a data directory.
type stateOpener func(ctx context.Context, dir string) (*state.SQLite, error)

// existingState opens the state of a data directory that was used before.
func existingState(ctx context.Context, dir string) (*state.SQLite, error) {
	if !hasState(dir) {
		return nil, cli.Usagef("there is no state in the data directory %s (--data)", safetext.Quote(dir))
	}
	return openState(ctx, dir)
}

// begunState opens the state and says when it made one, since a data directory
// that was mistyped looks the same.
func begunState(i invocation) stateOpener {
	return func(ctx context.Context, dir string) (*state.SQLite, error) {
		had := hasState(dir)
		store, err := openState(ctx, dir)
		if err == nil && !had {
			i.New(i.err).Info("there was no state in the data directory (--data): a new one was begun", "data", dir)
		}
		return store, err
	}
}

func hasState(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, state.FileName))
	return !errors.Is(err, fs.ErrNotExist)
}

// closeToOthers takes from a file or folder the permissions of all but its owner.
// Who can read the state cannot use its tokens, which are hashed, but who can
// write it makes some.
func closeToOthers(name string, log *slog.Logger) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || runtime.GOOS == "windows":
		return nil
	case err != nil:
		return err
	}
	mode := info.Mode().Perm()
	if info.Mode()&fs.ModeSymlink != 0 || mode&0o077 == 0 {
		return nil // where a link leads is its owner's choice
	}
	if err := os.Chmod(name, mode&^0o077); err != nil {
		return err
	}
	log.Warn("it was open to others: now it is its owner's alone", "file", name, "mode", mode.String())
	return nil
}

// notesIn is where it is noted what transfers have made that are not finished.
func notesIn(dir string) string { return filepath.Join(dir, "transfers") }

// lockName is the file that tells who serves a data directory.
const lockName = "serve.lock"

// lockData makes this process the only one to serve a data directory, which it
// makes when it is missing.
func lockData(dir string, log *slog.Logger) (*flock.Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, cli.Usagef("the data directory (--data) cannot be made: %w", err)
	}
	for _, name := range []string{"", state.FileName, state.FileName + "-wal", state.FileName + "-shm", audit.FileName} {
		if err := closeToOthers(filepath.Join(dir, name), log); err != nil {
			return nil, cli.Usagef("the data directory (--data) is open to others: %w", err)
		}
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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/settings"
	"github.com/vancetope/transfer/internal/version"
)

// serveCmd is `brain serve`.
type serveCmd struct {
	dataFlag
	Listen string `help:"Where to listen; port 0 picks a free one and the ready line tells it." default:"127.0.0.1:9990" placeholder:"HOST:PORT"`
	Config string `help:"File with settings; default ~/.vancetope/brain.yaml when there is one." placeholder:"FILE"`
}

// Run is called by kong.
func (c *serveCmd) Run(i invocation) (err error) {
	ctx, stop := i.untilSignal()
	defer stop()
	log := i.New(i.err)
	dir, err := c.dir()
	if err != nil {
		return err
	}
	values, err := c.settings(dir, i.environ)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	lock, err := lockData(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	listener, err := listenLoopback(ctx, c.Listen)
	if err != nil {
		return err
	}
	s, err := openServer(ctx, dir, values, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, s.close()) }()
	log.Info("serving", "url", urlOf(listener), "data", dir, "version", version.String(), "commit", version.Commit())
	logSettings(log, values)
	return s.serve(ctx, listener, func() error { return sayReady(i.console, listener) })
}

func (c *serveCmd) settings(dir string, environ []string) (*settings.Settings, error) {
	return settings.Load(settings.Options{
		Program:  settings.ForBrain,
		File:     c.Config,
		Environ:  environ,
		Defaults: map[string]string{"vance.workspace.root": filepath.Join(dir, "workspaces")},
	})
}

// logSettings tells what differs from the defaults, since that is what an
// operator looks for when a server behaves oddly.
func logSettings(log *slog.Logger, values *settings.Settings) {
	for _, v := range values.Values() {
		if v.Origin != settings.FromDefault {
			log.Info("setting", "name", v.Name, "value", v.Value, "origin", v.Origin)
		}
	}
}

// ready is the one line that a server prints.
type ready struct {
	Event   string `json:"event"`
	URL     string `json:"url"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
}

func urlOf(l net.Listener) string { return "http://" + l.Addr().String() }

func sayReady(c console, l net.Listener) error {
	return json.NewEncoder(c.out).Encode(ready{
		Event:   "ready",
		URL:     urlOf(l),
		PID:     os.Getpid(),
		Version: version.String(),
	})
}

// openServer puts a Brain together on a data directory.
func openServer(ctx context.Context, dir string, values *settings.Settings, log *slog.Logger) (*server, error) {
	store, err := openState(ctx, dir)
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, store, values, log)
	if err != nil {
		return nil, errors.Join(cli.Usagef("the workspaces cannot be opened: %w", err), store.Close())
	}
	return s, nil
}

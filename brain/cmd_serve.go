package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"

	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/settings"
	"github.com/vancetope/transfer/internal/version"
)

// serveCmd is `brain serve`.
type serveCmd struct {
	dataFlag
	tlsFlags
	Listen *string `help:"Where to listen; default 127.0.0.1:9990. Port 0 picks a free one and the ready line tells it." placeholder:"HOST:PORT"`
	Config string  `help:"File with settings; default ~/.vancetope/brain.yaml when there is one." placeholder:"FILE"`
}

// Run is called by kong.
func (c *serveCmd) Run(i invocation) (err error) {
	ctx, stop := i.untilSignal()
	defer stop()
	log := i.New(i.err)
	values, err := c.settings(i, c.Config, map[string]*string{"vance.brain.listen": c.Listen})
	if err != nil {
		return err
	}
	secure, err := c.config(log)
	if err != nil {
		return err
	}
	dir := values.Brain.Data
	lock, err := lockData(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	listener, err := listen(ctx, values.Brain.Listen, secure != nil || c.AllowInsecure)
	if err != nil {
		return err
	}
	s, err := openServer(ctx, dir, values, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.http.TLSConfig = secure
	url := urlOf(listener, secure != nil)
	log.Info("serving", "url", url, "data", dir, "version", version.String(), "commit", version.Commit())
	logSettings(log, values)
	return s.serve(ctx, listener, func() error { return sayReady(i.console, url) })
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

func urlOf(l net.Listener, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return scheme + "://" + l.Addr().String()
}

func sayReady(c console, url string) error {
	return json.NewEncoder(c.out).Encode(ready{
		Event:   "ready",
		URL:     url,
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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"strconv"

	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/settings"
	"github.com/vancetope/transfer/internal/version"
)

// serveCmd is `brain serve`.
type serveCmd struct {
	settingFlags
	tlsFlags
}

// Run is called by kong.
func (c *serveCmd) Run(i invocation) (err error) {
	ctx, stop := i.untilSignal()
	defer stop()
	log := i.New(i.err)
	values, err := c.load(i)
	if err != nil {
		return err
	}
	secure, err := c.config(log)
	if err != nil {
		return err
	}
	dir := values.Brain.Data
	lock, err := lockData(dir, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	listener, err := listen(ctx, "--listen", values.Brain.Listen, secure != nil || c.AllowInsecure)
	if err != nil {
		return err
	}
	figures, err := c.metricsListener(ctx, values)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s, err := openServer(ctx, dir, values, log)
	if err != nil {
		return errors.Join(err, listener.Close(), closeAny(figures))
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.http.TLSConfig = secure
	url := urlOf(values.Brain.Listen, listener, secure != nil)
	if err := noteAddress(ctx, s.store, url); err != nil {
		log.Warn("token create --link will not know where this server listens", "err", err)
	}
	if figures != nil {
		log.Info("metrics", "url", "http://"+figures.Addr().String()+"/metrics")
		defer s.serveMetrics(figures)()
	}
	log.Info("serving", "url", url, "data", dir, "version", version.String(), "commit", version.Commit())
	logSettings(log, values)
	return s.serve(ctx, listener, func() error { return sayReady(i.console, url) })
}

// metricsListener opens the listener of the figures, if they are to be served.
func (c *serveCmd) metricsListener(ctx context.Context, values *settings.Settings) (net.Listener, error) {
	if values.Brain.MetricsListen == "" {
		return nil, nil
	}
	return listen(ctx, "--metrics-listen", values.Brain.MetricsListen, c.AllowInsecure)
}

func closeAny(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
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

// urlOf is where a listener that was asked for as address can be reached. Where
// that is every address of this machine, the system has its own way to say so.
func urlOf(address string, l net.Listener, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	at := l.Addr().String()
	host, _, err := net.SplitHostPort(address)
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && err == nil && host != "" && tcp.IP.IsUnspecified() {
		at = net.JoinHostPort(host, strconv.Itoa(tcp.Port))
	}
	return scheme + "://" + at
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

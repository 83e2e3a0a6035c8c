package main

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/settings"
)

// addressKey is where the state keeps under which address the server listens, or
// did when it ran last, for the commands that run beside it.
const addressKey = "server/url"

func noteAddress(ctx context.Context, store state.Store, url string) error {
	_, err := store.Put(ctx, addressKey, []byte(url), state.Forever)
	return err
}

// publicURL is the address that a link begins with: the one that was set, else
// where the server listens.
func publicURL(ctx context.Context, store state.Store, values *settings.Settings) (string, error) {
	if values.Brain.PublicURL != "" {
		return values.Brain.PublicURL, nil
	}
	url := "http://" + values.Brain.Listen
	e, err := store.Get(ctx, addressKey)
	switch {
	case err == nil:
		url = string(e.Value)
	case !errors.Is(err, state.ErrNotFound):
		return "", &cli.Exit{Code: cli.Failed, Err: err}
	}
	if !reachable(url) {
		return "", cli.Usagef("nobody can go to %s: say with --public-url (or the setting vance.brain.public-url) under which address this Brain is reached", safetext.Quote(url))
	}
	return url, nil
}

// reachable reports whether an address names a place, and not every address of
// this machine or a port that is still to be picked.
func reachable(url string) bool {
	_, address, _ := strings.Cut(url, "://")
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || port == "0" {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsUnspecified()
}

package main

import (
	"context"
	"net"
	"strings"

	"github.com/vancetope/transfer/internal/cli"
)

// listenLoopback opens the listener. What travels on it is in clear text, so it
// must not leave this machine.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, cli.Usagef("--listen %q is not HOST:PORT: %w", address, err)
	}
	if !isLoopback(host) {
		return nil, cli.Usagef("--listen %q is not a loopback address, and tokens and files would travel in clear text: "+
			"listen on 127.0.0.1 or [::1], with a proxy that speaks TLS in front for other machines", address)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, cli.Usagef("--listen %q cannot be listened on, choose another port: %w", address, err)
	}
	return l, nil
}

// isLoopback tells by the name alone, without asking a resolver that others
// control. Of names only localhost is known to be this machine.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

package main

import (
	"context"
	"net"
	"strings"

	"github.com/vancetope/transfer/internal/cli"
)

// listen opens the listener. In clear text nothing must leave this machine,
// unless the operator says that it may.
func listen(ctx context.Context, address string, clearTextAnywhere bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, cli.Usagef("--listen %q is not HOST:PORT: %w", address, err)
	}
	if !clearTextAnywhere && !isLoopback(host) {
		return nil, cli.Usagef("--listen %q is not a loopback address, and tokens and files would travel in clear text: "+
			"use --tls-cert and --tls-key, or listen on 127.0.0.1 or [::1] with a proxy that speaks TLS in front, "+
			"or say --allow-insecure when the network between is trusted", address)
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

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/vancetope/transfer/internal/cli"
)

// listen opens the listener. In clear text nothing must leave this machine,
// unless the operator says that it may.
func listen(ctx context.Context, flag, address string, clearTextAnywhere bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, cli.Usagef("%s %q is not HOST:PORT: %w", flag, address, err)
	}
	if !clearTextAnywhere && !isLoopback(host) {
		remedy := "use --tls-cert and --tls-key, or listen on 127.0.0.1 or [::1] with a proxy that speaks TLS in front, "
		if flag != "--listen" { // which has no TLS of its own
			remedy = "listen on 127.0.0.1 or [::1], "
		}
		return nil, cli.Usagef("%s %q is not a loopback address, and what is sent would travel in clear text: "+remedy+
			"or say --allow-insecure when the network between is trusted", flag, address)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, errInUseOnWindows) {
		return nil, &cli.Exit{Code: cli.InUse, Err: fmt.Errorf("%s %q is in use by another program, choose another port or stop it: %w", flag, address, err)}
	}
	if err != nil {
		return nil, cli.Usagef("%s %q cannot be listened on, choose another port: %w", flag, address, err)
	}
	return l, nil
}

// errInUseOnWindows is WSAEADDRINUSE, a number that no other system uses.
const errInUseOnWindows = syscall.Errno(10048)

// isLoopback tells by the name alone, without asking a resolver that others
// control. Of names only localhost is known to be this machine.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

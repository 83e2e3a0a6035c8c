package agent

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/vancetope/transfer/internal/rootfs"
)

// ParseBrain returns the WebSocket URL of a tenant at the Brain that the user
// named. It refuses clear text to another machine: the token and every file
// would be readable on the way.
func ParseBrain(address, tenant string) (*url.URL, error) {
	if err := rootfs.CheckSegment("tenant", tenant); err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the Brain's URL: %w", withoutURL(err))
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	case "ws", "wss":
	default:
		return nil, fmt.Errorf("the Brain's URL %q must begin with wss://, https://, ws:// or http://", u.Redacted())
	}
	switch {
	case u.Hostname() == "":
		return nil, fmt.Errorf("the Brain's URL %q names no host", u.Redacted())
	case u.User != nil:
		return nil, errors.New("the Brain's URL must not hold a name or password: the token file says who connects")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("the Brain's URL %q must end with the host or a path", u.Redacted())
	case u.Scheme == "ws" && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("clear text to %s is refused, since anybody on the way could read the token and the files: "+
			"use wss:// or https://, or a tunnel that ends at 127.0.0.1", u.Hostname())
	}
	u.RawPath = ""
	u.Path = strings.TrimRight(u.Path, "/") + "/brain/" + tenant + "/ws"
	return u, nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// withoutURL drops the address from a parse error: it may hold a password.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

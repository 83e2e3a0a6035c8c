package wire

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// BrainURL returns the WebSocket address of a tenant on a Brain. The Brain's URL
// may be given as ws, wss, http or https, with a path if it lies behind a proxy.
func BrainURL(brain, tenant string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(brain))
	if err != nil {
		return nil, fmt.Errorf("the Brain's URL is malformed: %w", err)
	}
	switch u.Scheme {
	case "ws", "wss":
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	default:
		return nil, fmt.Errorf("the Brain's URL must begin with ws://, wss://, http:// or https://, not %q", brain)
	}
	if u.Host == "" || u.Opaque != "" {
		return nil, fmt.Errorf("the Brain's URL has no host: %q", brain)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the Brain's URL must not have a user, a query or a fragment")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("the Brain's URL has no port between 1 and 65535: %q", brain)
		}
	}
	return u.JoinPath("brain", url.PathEscape(tenant), "ws"), nil
}

// PlainOffLoopback reports whether a connection to u would carry its token in clear
// text to another machine.
func PlainOffLoopback(u *url.URL) bool {
	if u.Scheme != "ws" && u.Scheme != "http" {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

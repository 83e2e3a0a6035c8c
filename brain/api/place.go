package api

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/vancetope/transfer/brain/refuse"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// atHome refuses what a foreign web page makes a browser send: requests that say
// so, and, where the public address is known, those that came here by a name that
// is neither it nor this machine's own.
func atHome(publicURL string, next http.Handler) http.Handler {
	home, err := url.Parse(publicURL)
	if publicURL == "" || err != nil {
		return refuse.Foreign(next)
	}
	return refuse.Foreign(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !sameHost(r.Host, home) && !isThisMachine(r.Host) {
			refuse.With(w, fault.Newf(common.ErrorCodeAccessDenied, "this Brain is reached as %s", publicURL))
			return
		}
		next.ServeHTTP(w, r)
	}), home.Scheme+"://"+home.Host)
}

// sameHost compares a Host header with an address, where the scheme's own port
// may be left out.
func sameHost(host string, home *url.URL) bool {
	name, port := split(host)
	wantName, wantPort := split(home.Host)
	usual := map[string]string{"http": "80", "https": "443"}[home.Scheme]
	if port == "" {
		port = usual
	}
	if wantPort == "" {
		wantPort = usual
	}
	return strings.EqualFold(name, wantName) && port == wantPort
}

func split(host string) (name, port string) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return strings.Trim(host, "[]"), ""
	}
	return name, port
}

func isThisMachine(host string) bool {
	name, _ := split(host)
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

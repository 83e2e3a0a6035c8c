package api

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/brain/refuse"
	"github.com/vancetope/transfer/gen/api"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// A code cannot be guessed; what is bounded is the work that guessing makes, and
// the lines it writes.
const (
	loginsAtOnce  = 10
	loginsEvery   = 3 * time.Second // one more, for an address
	loginsTracked = 4096            // addresses
	maxLogin      = 4 << 10         // bytes of a request
)

// login answers POST /api/v1/login, which takes no token: the code is what is
// believed. Neither the code nor the token is ever logged.
func (l *lists) login(limits *limits) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !limits.allow(r) {
			w.Header().Set("Retry-After", "3")
			refuse.With(w, fault.Newf(common.ErrorCodeLimit, "too many attempts to log in"))
			return
		}
		token, p, err := l.redeem(r)
		if l.OnLogin != nil {
			l.OnLogin(p, err)
		}
		if err != nil {
			if fault.CodeOf(err) == common.ErrorCodeInternal {
				l.Log.Error("a login failed", "err", err)
			}
			refuse.With(w, err)
			return
		}
		answer, err := (&api.LoginResponse{Token: token, Tenant: p.Tenant, Project: p.Project, Name: p.Name}).AppendJSON(nil)
		if err != nil { // such names always encode
			panic(err)
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
		_, _ = w.Write(append(answer, '\n')) // the code is used up whether it arrives or not
	}
}

func (l *lists) redeem(r *http.Request) (string, auth.Principal, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxLogin+1))
	switch {
	case err != nil:
		return "", auth.Principal{}, fault.Newf(common.ErrorCodeInvalidRequest, "the body did not come in whole")
	case len(body) > maxLogin:
		return "", auth.Principal{}, fault.Newf(common.ErrorCodeSizeLimit, "the body has more than %d bytes", maxLogin)
	}
	in, err := api.DecodeLoginRequest(body)
	if err != nil {
		return "", auth.Principal{}, fault.Newf(common.ErrorCodeInvalidRequest, "%v", err)
	}
	return l.Tokens.Redeem(r.Context(), in.Code)
}

// limits give each address its share of attempts.
type limits struct {
	mu sync.Mutex
	of map[netip.Prefix]*rate.Limiter
}

func newLimits() *limits { return &limits{of: make(map[netip.Prefix]*rate.Limiter)} }

// allow takes an attempt of a request's address. When more addresses come than
// are kept, all begin anew: what is bounded stays bounded on the average.
func (l *limits) allow(r *http.Request) bool {
	from := origin(r.RemoteAddr)
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.of[from]
	if limiter == nil {
		if len(l.of) >= loginsTracked {
			clear(l.of)
		}
		limiter = rate.NewLimiter(rate.Every(loginsEvery), loginsAtOnce)
		l.of[from] = limiter
	}
	return limiter.Allow()
}

// origin is an address as one party has it: of IPv6 a whole /64. Behind a proxy
// it is the proxy's, so that all share one allowance.
func origin(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	address = address.Unmap().WithZone("")
	bits := 32
	if address.Is6() {
		bits = 64
	}
	prefix, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

package auth

import (
	"context"
	"net/http"
	"strings"

	"github.com/vancetope/transfer/brain/refuse"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Request returns who sent a request and refuses a token of another role: the
// fault unauthorized is a 401, access_denied a 403.
func (t *Tokens) Request(r *http.Request, role Role) (Principal, error) {
	p, err := t.Authenticate(r.Context(), bearer(r))
	if err != nil {
		return Principal{}, err
	}
	if p.Role != role {
		return Principal{}, fault.Newf(common.ErrorCodeAccessDenied, "this needs a token of role %s, not %s", role, p.Role)
	}
	return p, nil
}

// bearer returns the token of a request, or nothing when there is none or more
// than one.
func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(token, " ")
}

type principalKey struct{}

// Require lets only requests with a token of the role through to next, which
// finds the sender with From.
func (t *Tokens) Require(role Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := t.Request(r, role)
		if err != nil {
			if f := fault.From(err); f.Code == common.ErrorCodeInternal {
				t.log.Error("a token could not be checked", "err", err)
			}
			refuse.With(w, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, p)))
	})
}

// From returns the sender of a request that Require let through.
func From(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

package refuse

import (
	"net/http"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Foreign refuses what a web page of another origin makes a browser send, by what
// the browser says of it (Sec-Fetch-Site, Origin). Reading is refused like the
// rest: the library lets it pass for the sake of links, and none leads here. Pages
// of the trusted origins may; one that is none is left out.
func Foreign(next http.Handler, trusted ...string) http.Handler {
	cross := http.NewCrossOriginProtection()
	for _, origin := range trusted {
		// An origin of a form that no browser sends would never be met.
		_ = cross.AddTrustedOrigin(origin)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unsafe := *r
		unsafe.Method = http.MethodPost
		if cross.Check(&unsafe) != nil {
			With(w, fault.Newf(common.ErrorCodeAccessDenied, "a request from another origin"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

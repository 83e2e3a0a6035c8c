package refuse

import (
	"net/http"
	"strings"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Unmatched is the handler of "/" for what nothing else in a mux takes: the path
// is unknown, or it is known and takes other methods.
func Unmatched(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		taken := methods(mux, r)
		if len(taken) == 0 {
			With(w, fault.Texted(common.ErrorCodeNotFound, "no such path"))
			return
		}
		allowed := strings.Join(taken, ", ")
		w.Header().Set("Allow", allowed)
		Status(w, http.StatusMethodNotAllowed, fault.Newf(common.ErrorCodeInvalidRequest, "the method of this path is %s", allowed))
	}
}

// methods are those with which a request's path would be taken.
func methods(mux *http.ServeMux, r *http.Request) (taken []string) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := *r
		other.Method = method
		if _, pattern := mux.Handler(&other); pattern != "" && pattern != "/" {
			taken = append(taken, method)
		}
	}
	return taken
}

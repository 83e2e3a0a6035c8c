// Package refuse answers HTTP requests that the Brain does not serve: one body
// {error, errorCode} for every route, the status that belongs to the code, and
// the challenge that goes with a 401.
package refuse

import (
	"net/http"
	"strings"

	"github.com/vancetope/transfer/gen/api"
	"github.com/vancetope/transfer/internal/fault"
)

// With answers with err, which is internal unless it is a fault.
func With(w http.ResponseWriter, err error) {
	f := fault.From(err)
	Status(w, fault.HTTPStatus(f.Code), f)
}

// Status is With for a status that is not the code's usual one.
func Status(w http.ResponseWriter, status int, f *fault.Error) {
	body := api.ErrorBody{Error: strings.ToValidUTF8(f.Text, "\uFFFD"), ErrorCode: f.Code}
	text, err := body.AppendJSON(nil)
	if err != nil { // valid text always encodes
		status, text = http.StatusInternalServerError, nil
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // nobody is left to tell
}

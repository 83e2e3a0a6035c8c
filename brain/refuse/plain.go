package refuse

import (
	"net/http"
	"strings"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Plain gives the errors that a foreign handler answers in plain text the body of
// all others. Answers of any other kind, errors among them, pass as they are.
func Plain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &plain{ResponseWriter: w}
		next.ServeHTTP(p, r)
		p.finish()
	})
}

// plain holds back an error's text until it is whole.
type plain struct {
	http.ResponseWriter
	status int // of the error that is held back, 0 if there is none
	text   strings.Builder
}

// longestPlain is how much of an error's text is worth telling.
const longestPlain = 4096

// Unwrap lets http.ResponseController reach what the server can do.
func (p *plain) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *plain) WriteHeader(status int) {
	if status >= 400 && strings.HasPrefix(p.Header().Get("Content-Type"), "text/plain") {
		p.status = status
		return
	}
	p.ResponseWriter.WriteHeader(status)
}

func (p *plain) Write(b []byte) (int, error) {
	if p.status == 0 {
		return p.ResponseWriter.Write(b)
	}
	p.text.Write(b[:min(len(b), longestPlain-p.text.Len())])
	return len(b), nil
}

func (p *plain) finish() {
	if p.status == 0 {
		return
	}
	p.Header().Del("Content-Length")
	Status(p.ResponseWriter, p.status, fault.Texted(codeOf(p.status), strings.TrimSpace(p.text.String())))
}

// codeOf is the code of an error of which only the status is known.
func codeOf(status int) common.ErrorCode {
	switch status {
	case http.StatusUnauthorized:
		return common.ErrorCodeUnauthorized
	case http.StatusForbidden:
		return common.ErrorCodeAccessDenied
	case http.StatusNotFound:
		return common.ErrorCodeNotFound
	case http.StatusRequestEntityTooLarge:
		return common.ErrorCodeSizeLimit
	case http.StatusUnsupportedMediaType:
		return common.ErrorCodeUnsupported
	}
	if status >= 500 {
		return common.ErrorCodeInternal
	}
	return common.ErrorCodeInvalidRequest
}

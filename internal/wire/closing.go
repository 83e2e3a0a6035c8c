package wire

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// The close codes in use.
const (
	CloseNormal      = 1000
	CloseGoingAway   = 1001 // Foot ends
	CloseNoStatus    = 1005 // received only: a close frame without a code
	CloseInvalidUTF8 = 1007
	ClosePolicy      = 1008 // broken handshake, replaced, token gone
	CloseTooBig      = 1009
	CloseRestart     = 1012 // Brain restarts
	CloseTryLater    = 1013
)

// The reasons that go with ClosePolicy and that the peer acts upon.
const (
	ReasonReplaced     = "replaced"
	ReasonTokenRevoked = "token revoked"
	ReasonTokenExpired = "token expired"
)

// CloseError is the end of a connection by a close frame, whoever sent it. It is
// also a *fault.Error, by errors.As, whose text is fit for a person.
type CloseError struct {
	Code   int
	Reason string
	// Remote says that the peer closed.
	Remote bool

	fault *fault.Error
}

func (e *CloseError) Error() string { return e.fault.Text }

// Unwrap returns the end as a fault: access_denied when the token is gone,
// otherwise connection_lost.
func (e *CloseError) Unwrap() error { return e.fault }

// Replaced reports whether the peer closed because a newer connection of the same
// Foot took this one's place.
func (e *CloseError) Replaced() bool {
	return e.Remote && e.Code == ClosePolicy && e.Reason == ReasonReplaced
}

// TokenGone reports whether the connection ended with its token.
func (e *CloseError) TokenGone() bool {
	return e.Code == ClosePolicy && (e.Reason == ReasonTokenRevoked || e.Reason == ReasonTokenExpired)
}

// Later reports whether the peer asked to come back later rather than at once.
func (e *CloseError) Later() bool {
	return e.Remote && (e.Code == CloseRestart || e.Code == CloseTryLater)
}

func newCloseError(code int, reason string, remote bool) *CloseError {
	e := &CloseError{Code: code, Reason: printable(reason), Remote: remote}
	switch {
	case e.TokenGone():
		e.fault = fault.Newf(common.ErrorCodeAccessDenied, "%s", e.Reason)
	case code == CloseTooBig && remote:
		e.fault = fault.Newf(common.ErrorCodeConnectionLost,
			"the peer refused a frame as too big (close code 1009)%s", dashed(e.Reason))
	case remote:
		e.fault = fault.Newf(common.ErrorCodeConnectionLost,
			"closed by the peer with code %d%s", code, dashed(e.Reason))
	default:
		e.fault = fault.Newf(common.ErrorCodeConnectionLost,
			"closed with code %d%s", code, dashed(e.Reason))
	}
	return e
}

// tooBig is the end of a connection whose peer sent more than this side accepts.
func tooBig(limit int64) *CloseError {
	reason := fmt.Sprintf("frame above the limit of %d bytes", limit)
	return &CloseError{
		Code:   CloseTooBig,
		Reason: reason,
		fault: fault.Newf(common.ErrorCodeConnectionLost,
			"the peer sent a %s (vance.transfer.max-frame-size), closed with code 1009", reason),
	}
}

func dashed(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// lost is the end of a connection without a close frame.
func lost(cause error, format string, args ...any) error {
	return fault.Wrapf(common.ErrorCodeConnectionLost, cause, format, args...)
}

// printable makes a peer's text safe for terminals and log lines: whatever is not
// a graphic character becomes a replacement character, and it is cut to a length
// that a close frame and a log line can hold.
func printable(s string) string {
	const most = 300
	if len(s) > most {
		s = cut(s, most)
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || (unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r)) {
			return r
		}
		return utf8.RuneError
	}, s)
}

// cut shortens s to at most n bytes at the end of a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

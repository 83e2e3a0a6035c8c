package wire

import (
	"unicode/utf8"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
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
}

func (e *CloseError) Error() string { return e.fault().Text }

// Unwrap returns the end as a fault: access_denied when the token is gone,
// otherwise connection_lost.
func (e *CloseError) Unwrap() error { return e.fault() }

func (e *CloseError) fault() *fault.Error {
	end := "closed"
	switch {
	case e.TokenGone():
		return fault.Newf(common.ErrorCodeAccessDenied, "%s", e.Reason)
	case e.Code == CloseTooBig && e.Remote:
		end = "the peer refused a frame as too big, closed"
	case e.Code == CloseTooBig:
		end = "the peer sent a frame above vance.transfer.max-frame-size, closed"
	case e.Remote:
		end = "closed by the peer"
	}
	reason := ""
	if e.Reason != "" {
		reason = ": " + printable(e.Reason)
	}
	return fault.Newf(common.ErrorCodeConnectionLost, "%s with code %d%s", end, e.Code, reason)
}

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

// lost is the end of a connection without a close frame.
func lost(cause error, format string, args ...any) error {
	return fault.Wrapf(common.ErrorCodeConnectionLost, cause, format, args...)
}

// printable makes a peer's text safe for terminals and log lines, and cuts it to a
// length that a log line can hold.
func printable(s string) string {
	const most = 300
	return safetext.Escape(cut(s, most))
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

// Package fault is the closed set of ways in which an operation on files or
// on the wire can fail: a stable code for programs, a text for people, and the
// HTTP status that goes with it. Every error that reaches a peer, a tool result
// or an HTTP answer is a *fault.Error; anything else is reported as internal.
package fault

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/vancetope/transfer/gen/common"
)

// Error is a failure with a stable code. Text is what people read: the code's
// fixed text, which may go on after ": " with a detail.
type Error struct {
	Code  common.ErrorCode
	Text  string
	cause error
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the error that caused this one, for logs; its text is never
// sent to a peer.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is a fault of the same code, so that
// errors.Is(err, fault.New(code)) asks for the code alone.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// New returns the fault of a code with its fixed text.
func New(code common.ErrorCode) *Error {
	return &Error{Code: code, Text: text(code)}
}

// Newf returns the fault of a code whose fixed text goes on with a detail:
// "fixed text: detail".
func Newf(code common.ErrorCode, format string, args ...any) *Error {
	return &Error{Code: code, Text: text(code) + ": " + fmt.Sprintf(format, args...)}
}

// Texted returns a fault whose whole text is given. It is for the codes whose
// text depends on the case ("out-of-order chunk: expected 3, got 5") and for
// texts that came from a peer.
func Texted(code common.ErrorCode, text string) *Error {
	return &Error{Code: code, Text: text}
}

// Wrap is New with the error that caused it.
func Wrap(code common.ErrorCode, cause error) *Error {
	e := New(code)
	e.cause = cause
	return e
}

// Wrapf is Newf with the error that caused it.
func Wrapf(code common.ErrorCode, cause error, format string, args ...any) *Error {
	e := Newf(code, format, args...)
	e.cause = cause
	return e
}

// From returns err as a fault: itself if one is in its chain, otherwise an
// internal fault that hides the text of err from the peer and keeps it for logs.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Wrap(common.ErrorCodeInternal, err)
}

// CodeOf returns the code of err, internal for an error that is no fault, and
// the empty code for nil.
func CodeOf(err error) common.ErrorCode {
	if err == nil {
		return ""
	}
	return From(err).Code
}

// Known reports whether a code is one of the set; a peer's word may be none.
func Known(code common.ErrorCode) bool {
	_, ok := table[code]
	return ok
}

// HTTPStatus returns the status with which the HTTP API answers a code.
func HTTPStatus(code common.ErrorCode) int {
	if row, ok := table[code]; ok && row.status != 0 {
		return row.status
	}
	return http.StatusInternalServerError
}

func text(code common.ErrorCode) string {
	if row, ok := table[code]; ok {
		return row.text
	}
	return string(code)
}

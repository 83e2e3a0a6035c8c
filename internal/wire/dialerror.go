package wire

import (
	"github.com/vancetope/transfer/internal/fault"
)

// DialKind is why a Brain could not be connected to.
type DialKind uint8

const (
	// DialUnreachable: no answer, or none that can be trusted.
	DialUnreachable DialKind = iota
	// DialUnavailable: there is a Brain, and it drains or is overloaded.
	DialUnavailable
	// DialRefused: 401 or 403. Trying again with the same token is of no use.
	DialRefused
	// DialNotBrain: something answered that is no Brain, or not at this path.
	DialNotBrain
	// DialHandshake: the Brain refused the hello.
	DialHandshake
)

// DialError is a connection that did not come about.
type DialError struct {
	Kind DialKind
	// Status of the HTTP answer, 0 if there was none.
	Status int
	// Fault is the failure for people and programs; its text may be the Brain's.
	Fault *fault.Error
	// Cause is the error below, nil if the Brain's answer was the failure.
	Cause error
}

func (e *DialError) Error() string {
	if e.Fault == nil {
		return "the Brain cannot be connected to"
	}
	return e.Fault.Text
}

// Unwrap gives errors.As both the fault and the cause.
func (e *DialError) Unwrap() (below []error) {
	if e.Fault != nil {
		below = append(below, e.Fault)
	}
	if e.Cause != nil {
		below = append(below, e.Cause)
	}
	return below
}

package agent

import (
	"errors"
	"net/http"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/wire"
)

// The ways in which Run ends by itself. All but RefusedError are wrapped with
// what happened.
var (
	// ErrUnreachable: with Once, the Brain could not be reached or the one
	// connection was lost.
	ErrUnreachable = errors.New("the Brain cannot be reached")
	// ErrReplaced: another Foot connected with the same name.
	ErrReplaced = errors.New("replaced: another Foot connected with this token's name: end that one, or give each machine a token of its own")
	// ErrInUse: another process uses the state folder.
	ErrInUse = errors.New("in use")
	// ErrConfiguration: something on this machine has to be put right first.
	ErrConfiguration = errors.New("configuration")
)

// RefusedError says that the Brain will not have this Foot; trying again would
// not help.
type RefusedError struct {
	Reason string
	Remedy string
}

func (e *RefusedError) Error() string {
	if e.Remedy == "" {
		return "refused: " + e.Reason
	}
	return "refused: " + e.Reason + ": " + e.Remedy
}

// permanent returns the error for an end that trying again cannot mend, nil for
// all others.
func permanent(cause error) error {
	var refused *RefusedError
	if errors.As(cause, &refused) {
		return refused
	}
	if errors.Is(cause, ErrInUse) || errors.Is(cause, ErrConfiguration) {
		return cause
	}
	var closed *wire.CloseError
	if errors.As(cause, &closed) {
		switch {
		case closed.Replaced():
			return ErrReplaced
		case closed.TokenGone():
			return &RefusedError{Reason: closed.Reason, Remedy: newToken}
		}
		return nil
	}
	var dial *wire.DialError
	if errors.As(cause, &dial) {
		return refusal(dial)
	}
	return nil
}

const newToken = "make a new token with brain token create and put it into the --token-file, or make a new link with --link for foot login"

// refusal is the end for a dial that a Brain answered with a final no.
func refusal(dial *wire.DialError) error {
	switch {
	case dial.Kind == wire.DialRefused && dial.Status == http.StatusUnauthorized:
		return &RefusedError{Reason: dial.Fault.Text, Remedy: newToken}
	case dial.Kind == wire.DialRefused:
		return &RefusedError{Reason: dial.Fault.Text,
			Remedy: "the token must be of this --tenant and of role foot: " + newToken}
	case dial.Kind == wire.DialHandshake && dial.Fault.Code == common.ErrorCodeUnsupportedVersion:
		return &RefusedError{Reason: dial.Fault.Text, Remedy: "update foot or brain, so that both speak the same protocol"}
	case dial.Kind == wire.DialHandshake && dial.Fault.Code == common.ErrorCodeIdentityMismatch:
		return &RefusedError{Reason: dial.Fault.Text, Remedy: newToken}
	}
	return nil
}

package agent

import "errors"

// The ways in which Run ends by itself. All but RefusedError are wrapped with
// what happened.
var (
	// ErrUnreachable: with Once, the Brain could not be reached or the one
	// connection was lost.
	ErrUnreachable = errors.New("the Brain cannot be reached")
	// ErrReplaced: another Foot connected with the same name.
	ErrReplaced = errors.New("replaced: another Foot connected with this token's name")
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

package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The ways in which a Foot is not reached.
var (
	// ErrNotRunning: no Foot runs on the state folder.
	ErrNotRunning = errors.New("no Foot runs")
	// ErrUnsupported: this system has no sockets that are for one user alone.
	ErrUnsupported = errors.New("unsupported: on this system no other command can reach a running Foot; answer in its own terminal")
)

// RefusedError is a running Foot's no.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// AskStatus asks the Foot that runs on a state folder how it is.
func AskStatus(dir string) (*Status, error) {
	r, err := ask(dir, request{Do: doStatus})
	if err != nil {
		return nil, err
	}
	if r.Status == nil {
		return nil, errors.New("the Foot gave no status")
	}
	return r.Status, nil
}

// Approve says yes to a question and returns the path of the file. always: also
// to what follows in its folder.
func Approve(dir, id string, always bool) (path string, err error) {
	r, err := ask(dir, request{Do: doApprove, ID: id, Always: always})
	return r.Path, err
}

// Decline says no.
func Decline(dir, id string) (path string, err error) {
	r, err := ask(dir, request{Do: doDecline, ID: id})
	return r.Path, err
}

func ask(dir string, req request) (response, error) {
	c, err := dial(dir)
	if err != nil {
		return response{}, err
	}
	defer c.Close() // all was read
	if err := c.SetDeadline(time.Now().Add(exchangeTime)); err != nil {
		return response{}, err
	}
	if err := json.NewEncoder(c).Encode(req); err != nil {
		return response{}, fmt.Errorf("the Foot does not take the request: %w", err)
	}
	var r response
	if err := receive(c, maxResponse, &r); err != nil {
		return response{}, fmt.Errorf("the Foot does not answer: %w", err)
	}
	if r.Error != "" {
		return response{}, &RefusedError{r.Error}
	}
	return r, nil
}

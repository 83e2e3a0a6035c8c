package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// A request is one JSON object, its answer another; then the connection is over.
type request struct {
	Do     verb   `json:"do"`
	ID     string `json:"id,omitempty"`     // of the transfer, or a part of it
	Always bool   `json:"always,omitempty"` // approve: and its folder
}

type verb string

const (
	doStatus  verb = "status"
	doApprove verb = "approve"
	doDecline verb = "decline"
)

type response struct {
	Error  string  `json:"error,omitempty"`
	Status *Status `json:"status,omitempty"`
	Path   string  `json:"path,omitempty"` // of the file that was decided about
}

// What one side waits for the other, and takes from it.
const (
	exchangeTime = 5 * time.Second
	maxRequest   = 4 << 10
	maxResponse  = 64 << 20 // a status tells every transfer
)

// receive reads one message of at most a size.
func receive(r io.Reader, most int64, into any) error {
	limited := &io.LimitedReader{R: r, N: most}
	err := json.NewDecoder(limited).Decode(into)
	if err != nil && limited.N <= 0 {
		return errors.New("the message is too long")
	}
	if err != nil {
		return fmt.Errorf("the message is not understood: %w", err)
	}
	return nil
}

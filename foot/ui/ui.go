// Package ui is what a Foot shows on its standard output: bars in a terminal,
// lines elsewhere, one JSON object per event for programs. It owns the wording
// the questions in a terminal and the escaping of names that came from a peer,
// and refuses to decide anything: it is told what happened, and hands on what a
// person typed.
package ui

import (
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/internal/fault"
)

// UI is told what the Foot does. Its methods may be called from any goroutine,
// return soon, and write one event at a time. Nothing they are given may be
// trusted to be printable.
type UI interface {
	// Connecting says that the Brain at the URL is being dialled.
	Connecting(url string)
	// Connected says that the handshake succeeded; from now on transfers come.
	Connected(c Connected)
	// Disconnected says that a connection that was Connected is gone.
	Disconnected(reason string)
	// Reconnecting says that the next try is made after a pause, and why the
	// connection is not there.
	Reconnecting(after time.Duration, reason string)
	// Refused says that the Brain will not have this Foot, and what helps.
	Refused(reason, remedy string)
	// Stopping says that the Foot was told to end and waits for this many
	// running transfers.
	Stopping(running int)
	// Approval says that a person is asked about a transfer, which waits.
	Approval(a Approval)
	// Transfer tells the state of one transfer.
	Transfer(t Transfer)
	// Close writes what is still to be written and returns the first error of
	// the output. No other method may be called afterwards.
	Close() error
}

// Connected is what the Brain told at the handshake.
type Connected struct {
	Tenant    string
	ProjectID string
	FootID    string
	Features  []string
	Root      string // the project's folder on this machine
}

// Approval is a question to the person of this machine.
type Approval struct {
	ID        uuid.UUID
	Direction Direction
	Path      string // on this machine, as Transfer's
	Bytes     int64
}

// Direction is a transfer's way, as the tools name it.
type Direction string

// An upload goes from this Foot to the Brain, a download the other way.
const (
	Upload   Direction = "upload"
	Download Direction = "download"
)

// State is where a transfer stands.
type State string

// The states of a running transfer, then the three ends.
const (
	Queued             State = "queued"
	WaitingForApproval State = "waiting_for_approval"
	Hashing            State = "hashing"
	Streaming          State = "streaming"
	Verifying          State = "verifying"
	Suspended          State = "suspended"

	Complete  State = "complete"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Ended reports whether nothing follows this state.
func (s State) Ended() bool {
	return s == Complete || s == Failed || s == Cancelled
}

// Transfer is one transfer at one moment.
type Transfer struct {
	ID         uuid.UUID
	Direction  Direction
	Path       string // on this machine, relative to the project's folder
	State      State
	Bytes      int64
	TotalBytes int64        // 0 until it is known
	Fault      *fault.Error // why it failed or was cancelled, else nil
}

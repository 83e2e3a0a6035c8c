// Package control lets other commands of the same person ask a running Foot how
// it is, and answer what it asks: over a Unix socket in its state folder that
// only this user can open. It owns the socket, the few messages on it, and the
// picture of the Foot that they show.
//
// It refuses to start or change a transfer; the only thing that can be done here
// is what the person could do in the Foot's own terminal.
package control

import (
	"sort"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/foot/ui"
)

// Status is a Foot at one moment, as `foot status --json` prints it.
type Status struct {
	Connected bool   `json:"connected"`
	Brain     string `json:"brain"`
	Tenant    string `json:"tenant"`
	// ProjectID and FootID are empty before the first connection.
	ProjectID string `json:"projectId"`
	FootID    string `json:"footId"`
	// Since is when it was connected, or has been without a connection.
	Since time.Time `json:"since"`
	// Reason is why there is no connection.
	Reason    string     `json:"reason,omitempty"`
	Transfers []Transfer `json:"transfers"`
}

// Transfer is one that runs.
type Transfer struct {
	TransferID uuid.UUID    `json:"transferId"`
	Direction  ui.Direction `json:"direction"`
	Path       string       `json:"path"`
	State      ui.State     `json:"state"`
	Bytes      int64        `json:"bytes"`
	TotalBytes int64        `json:"totalBytes"`
	StartedAt  time.Time    `json:"startedAt"`
}

// Board is a UI that keeps the picture of the Foot.
type Board struct {
	clock func() time.Time

	mu      sync.Mutex
	status  Status
	running map[uuid.UUID]Transfer
}

var _ ui.UI = (*Board)(nil)

// NewBoard returns the picture of a Foot that is not connected yet.
func NewBoard(brain, tenant string) *Board { return newBoard(brain, tenant, time.Now) }

func newBoard(brain, tenant string, clock func() time.Time) *Board {
	return &Board{clock: clock, running: map[uuid.UUID]Transfer{},
		status: Status{Brain: brain, Tenant: tenant, Since: clock().UTC()}}
}

// Status returns the picture, the oldest transfer first.
func (b *Board) Status() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.status
	s.Transfers = make([]Transfer, 0, len(b.running))
	for _, t := range b.running {
		s.Transfers = append(s.Transfers, t)
	}
	sort.Slice(s.Transfers, func(i, j int) bool {
		x, y := s.Transfers[i], s.Transfers[j]
		if !x.StartedAt.Equal(y.StartedAt) {
			return x.StartedAt.Before(y.StartedAt)
		}
		return x.TransferID.String() < y.TransferID.String()
	})
	return s
}

func (b *Board) Connecting(string) {}

func (b *Board) Connected(c ui.Connected) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status.Connected, b.status.Since, b.status.Reason = true, b.clock().UTC(), ""
	b.status.Tenant, b.status.ProjectID, b.status.FootID = c.Tenant, c.ProjectID, c.FootID
}

func (b *Board) Disconnected(reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status.Connected, b.status.Since, b.status.Reason = false, b.clock().UTC(), reason
}

func (b *Board) Reconnecting(_ time.Duration, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status.Reason = reason
}

func (b *Board) Refused(string, string) {}
func (b *Board) Stopping(int)           {}
func (b *Board) Approval(ui.Approval)   {}

func (b *Board) Transfer(t ui.Transfer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.State.Ended() {
		delete(b.running, t.ID)
		return
	}
	started := b.running[t.ID].StartedAt
	if started.IsZero() {
		started = b.clock().UTC()
	}
	b.running[t.ID] = Transfer{TransferID: t.ID, Direction: t.Direction, Path: t.Path, State: t.State,
		Bytes: t.Bytes, TotalBytes: t.TotalBytes, StartedAt: started}
}

// Close has nothing to write.
func (b *Board) Close() error { return nil }

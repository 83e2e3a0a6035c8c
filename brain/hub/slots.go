package hub

import (
	"context"
	"sync"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// maxWaiting is how many transfers of one Foot may wait for their turn.
const maxWaiting = 1000

// slots let so many transfers of a connection run at once; the rest wait in the
// order in which they came. While one waits nothing of it is sent and no timer
// runs.
type slots struct {
	mu      sync.Mutex
	free    int
	waiting []chan error // each gets its turn as nil, or why there will be none
	closed  *fault.Error // why nobody gets a turn any more
}

func newSlots(n int) *slots { return &slots{free: max(n, 1)} }

// enter waits for a turn, and calls waits if it is not there at once. A turn that
// was got is given back with leave.
func (s *slots) enter(ctx context.Context, waits func()) error {
	turn, err := s.queue()
	if turn == nil {
		return err
	}
	waits()
	select {
	case err := <-turn:
		return err
	case <-ctx.Done():
		s.abandon(turn)
		return turnLost(ctx)
	}
}

// queue returns where a turn will be told, or nil when there is one at once or,
// with an error, none at all.
func (s *slots) queue() (chan error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed != nil:
		return nil, s.closed
	case s.free > 0:
		s.free--
		return nil, nil
	case len(s.waiting) >= maxWaiting:
		return nil, fault.Newf(common.ErrorCodeLimit, "%d transfers wait for this machine already", maxWaiting)
	}
	turn := make(chan error, 1)
	s.waiting = append(s.waiting, turn)
	return turn, nil
}

// abandon gives up a turn, also one that was just got.
func (s *slots) abandon(turn chan error) {
	s.mu.Lock()
	for i, w := range s.waiting {
		if w == turn {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			s.mu.Unlock()
			return
		}
	}
	s.mu.Unlock()
	if err := <-turn; err == nil {
		s.leave()
	}
}

// leave gives a turn to the next.
func (s *slots) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.free++
		return
	}
	next := s.waiting[0]
	s.waiting[0] = nil // the array behind outlives this
	s.waiting = s.waiting[1:]
	next <- nil
}

// close tells all who wait, and all who come, why they get no turn.
func (s *slots) close(why *fault.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return
	}
	s.closed = why
	for _, turn := range s.waiting {
		turn <- why
	}
	s.waiting = nil
}

// turnLost is the failure of a call that ended while it waited: what its context
// says, if that is a fault.
func turnLost(ctx context.Context) error {
	if f, ok := context.Cause(ctx).(*fault.Error); ok {
		return f
	}
	return fault.New(common.ErrorCodeCancelled)
}

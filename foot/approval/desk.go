package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/settings"
)

// Watcher is told of the questions. Its methods must return soon and must not
// call the desk.
type Watcher interface {
	Opened(q Question)
	Closed(q Question, how Outcome)
}

// Options say when and how long a desk asks.
type Options struct {
	Policy  settings.Confirm
	Timeout time.Duration
	// Nobody is why no one can be asked, "" if someone can. With it whatever
	// would be asked is declined at once.
	Nobody   string
	Watchers []Watcher
}

// Desk holds the open questions of a Foot. Its methods may be called from many
// goroutines.
type Desk struct {
	o Options

	mu      sync.Mutex
	open    []*asking // in the order in which they were asked
	allowed allowed
	closed  bool
}

// asking is a question with its waiting transfer.
type asking struct {
	Question
	done chan struct{} // closed once how is set
	how  Outcome
}

// New returns a desk without questions.
func New(o Options) *Desk { return &Desk{o: o, allowed: allowed{}} }

// Needed reports whether the person has to be asked. Its error, a *fault.Error,
// is that they would have to be and cannot.
func (d *Desk) Needed(q Question) (bool, error) {
	if !asksAbout(d.o.Policy, q.Write) {
		return false, nil
	}
	if d.o.Nobody != "" {
		return false, fault.Newf(common.ErrorCodeDeclined, "%s", d.o.Nobody)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.allowed.covers(q), nil
}

// Ask returns nil once the person has approved, else a *fault.Error: declined
// when they did not within the desk's time or the limit, where one is given.
// asked is called once somebody is really being asked.
func (d *Desk) Ask(ctx context.Context, q Question, limit time.Duration, asked func()) error {
	within := d.o.Timeout
	if limit > 0 {
		within = min(within, limit)
	}
	q.Within = within
	a, err := d.begin(q)
	if a == nil {
		return err
	}
	asked()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-a.done:
	case <-timer.C:
		d.end(a, Unanswered)
	case <-ctx.Done():
		d.end(a, Withdrawn)
	}
	switch a.how {
	case Approved:
		return nil
	case Unanswered:
		return fault.Newf(common.ErrorCodeDeclined, "nobody answered within %s", within)
	case Withdrawn:
		return fault.New(common.ErrorCodeCancelled)
	}
	return fault.New(common.ErrorCodeDeclined)
}

// begin opens a question. No asking and no error: it is approved already.
func (d *Desk) begin(q Question) (*asking, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, fault.New(common.ErrorCodeCancelled)
	case d.allowed.covers(q):
		return nil, nil
	}
	a := &asking{Question: q, done: make(chan struct{})}
	d.open = append(d.open, a)
	for _, w := range d.o.Watchers {
		w.Opened(q)
	}
	return a, nil
}

// end closes a question unless it is closed; on return its outcome is set.
func (d *Desk) end(a *asking, how Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLocked(a, how)
}

func (d *Desk) endLocked(a *asking, how Outcome) {
	i := slices.Index(d.open, a)
	if i < 0 {
		return
	}
	d.open = slices.Delete(d.open, i, i+1)
	a.how = how
	close(a.done)
	for _, w := range d.o.Watchers {
		w.Closed(a.Question, how)
	}
}

// Answer answers the open question of an id.
func (d *Desk) Answer(id uuid.UUID, answer Answer) error {
	_, err := d.AnswerTo(id.String(), answer)
	return err
}

// shortest is how much of an id has to be given.
const shortest = 4

// The ways in which an answer finds no question.
var (
	ErrNoQuestion = errors.New("no question of this id is open")
	ErrAmbiguous  = errors.New("several open questions have an id that begins or ends like this")
)

// AnswerTo answers the open question whose id is, begins with or ends with a
// text, and returns it.
func (d *Desk) AnswerTo(id string, answer Answer) (Question, error) {
	id = strings.ToLower(id)
	if len(id) < shortest {
		return Question{}, fmt.Errorf("%w: give at least %d characters of it", ErrNoQuestion, shortest)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var found *asking
	for _, a := range d.open {
		if text := a.ID.String(); strings.HasPrefix(text, id) || strings.HasSuffix(text, id) {
			if found != nil {
				return Question{}, ErrAmbiguous
			}
			found = a
		}
	}
	if found == nil {
		return Question{}, ErrNoQuestion
	}
	d.decide(found, answer)
	return found.Question, nil
}

// decide runs with mu held. What was allowed for a folder answers the other
// questions about it too.
func (d *Desk) decide(a *asking, answer Answer) {
	if answer == No {
		d.endLocked(a, Declined)
		return
	}
	d.endLocked(a, Approved)
	if answer != Always {
		return
	}
	d.allowed.add(a.Question)
	for _, other := range slices.Clone(d.open) {
		if d.allowed.covers(other.Question) {
			d.endLocked(other, Approved)
		}
	}
}

// Open returns the open questions, the oldest first.
func (d *Desk) Open() []Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	open := make([]Question, len(d.open))
	for i, a := range d.open {
		open[i] = a.Question
	}
	return open
}

// Close withdraws what is open and asks no more.
func (d *Desk) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, a := range slices.Clone(d.open) {
		d.endLocked(a, Withdrawn)
	}
}

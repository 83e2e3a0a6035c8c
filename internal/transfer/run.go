package transfer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

const (
	// stopGrace is how long a failed transfer waits for its worker to clear away
	// before it says so; lostGrace the same when the connection is gone, where
	// the caller has to hear within a second. A worker that hangs in a system
	// call clears away when the call returns.
	stopGrace = 3 * time.Second
	lostGrace = 500 * time.Millisecond
)

// worker does the slow things of one transfer, one after the other, on the
// transfer's own goroutine. It reports by t.drive.
type worker interface {
	do(t *transfer, task task)
	// putAway closes and removes what the transfer holds and gives back its
	// hold. It runs once, last.
	putAway(t *transfer)
}

type task struct {
	effect
	payload []byte // of jobWrite
	cost    int64  // what it counts against the session's budget
}

// transfer is one transfer with everything around its steps.
type transfer struct {
	session   *Session
	id        uuid.UUID
	direction Direction
	dirName   string
	started   time.Time
	share     share
	// ctx ends when the worker is to stop.
	ctx    context.Context
	cancel context.CancelFunc
	// done is closed when the outcome is known.
	done chan struct{}

	mu       sync.Mutex
	machine  machine
	worker   worker
	path     string
	tasks    []task
	wake     *sync.Cond // a task came, or stopping was set; on mu
	running  bool       // the worker's goroutine was started
	stopping bool
	resolved bool
	gone     bool         // it left the session
	broken   *fault.Error // its steps panicked: the outcome whatever they say
	clock    phaseClock
	// blockedBefore is how long the reading goroutine had waited for memory when
	// the phase began.
	blockedBefore time.Duration
	noticed       pace // by this side's observer
	told          pace // to the peer
}

func newTransfer(ctx context.Context, s *Session, id uuid.UUID, m machine, w worker) *transfer {
	t := &transfer{session: s, id: id, machine: m, worker: w, started: time.Now(), done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.wake = sync.NewCond(&t.mu)
	t.clock.fire = t.tick
	return t
}

// drive gives one event to the steps and does what they ask for. It reports
// whether the event was a frame that does not fit. Whatever panics here ends
// this transfer and nothing else.
func (t *transfer) drive(ev event) (rejected bool) {
	return t.deliver(&ev)
}

// deliver is drive for an event that carries a chunk's memory: the payload is
// taken out of it when the transfer keeps it.
func (t *transfer) deliver(ev *event) (rejected bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.endIfPanicking()
	return t.advance(ev)
}

// advance runs with mu held.
func (t *transfer) advance(ev *event) (rejected bool) {
	for pending := []*event{ev}; len(pending) > 0; pending = pending[1:] {
		effects := t.machine.step(*pending[0])
		if k := pending[0].kind; (k == evAsk || k == evOpened || k == evPublished) && pending[0].path != "" {
			t.path = pending[0].path // a publication may have given it another name
		}
		t.notice()
		for _, fx := range effects {
			if fx.kind == fxReject {
				rejected = true
			}
			if next := t.perform(fx, pending[0]); next != nil {
				pending = append(pending, next)
			}
		}
		if failure := t.tellPeer(); failure != nil {
			pending = append(pending, failure)
		}
	}
	return rejected
}

// perform does one effect and returns the event that follows from it at once,
// if any.
func (t *transfer) perform(fx effect, cause *event) *event {
	switch fx.kind {
	case fxSend:
		if err := t.session.link.SendControl(fx.frame); err != nil {
			failure := linkFailure(err)
			return &failure
		}
	case fxDo:
		t.give(fx, cause)
	case fxStop:
		return t.stop()
	case fxArm:
		t.clock.set(t.session.cfg.PhaseTimeout)
		t.blockedBefore = t.session.budget.blocked()
	case fxConfirm:
		t.clock.set(t.session.cfg.ConfirmTimeout)
		t.blockedBefore = t.session.budget.blocked()
	case fxPause:
		t.clock.stop()
	case fxGrace:
		if cause.kind == evLost {
			t.clock.set(lostGrace)
		} else {
			t.clock.set(stopGrace)
		}
	case fxResolve:
		t.settle()
	case fxForget:
		t.leave()
	}
	return nil
}

// give queues a task and starts the worker with the first one.
func (t *transfer) give(fx effect, cause *event) {
	next := task{effect: fx}
	if fx.job == jobWrite {
		next.payload, next.cost = cause.payload, cause.cost
		cause.payload = nil
	}
	t.tasks = append(t.tasks, next)
	t.wake.Signal()
	if !t.running {
		t.running = true
		t.session.workers.Go(t.work)
	}
}

// stop makes the worker put everything away after the task it is at.
func (t *transfer) stop() *event {
	t.halt()
	if !t.running {
		return &event{kind: evStopped}
	}
	return nil
}

func (t *transfer) halt() {
	t.stopping = true
	t.cancel()
	t.session.link.DropData(t.id)
	for _, queued := range t.tasks {
		t.session.release(queued.payload)
	}
	t.tasks = nil
	t.session.budget.drop(&t.share)
	t.wake.Signal()
}

func (t *transfer) settle() {
	if !t.resolved {
		t.resolved = true
		close(t.done)
	}
	// Nothing is left for the worker but to put away.
	t.stopping = true
	t.wake.Signal()
}

func (t *transfer) leave() {
	t.clock.stop()
	if !t.gone {
		t.gone = true
		t.session.forget(t)
	}
	t.halt()
}

// endIfPanicking is deferred around the steps, with mu held. They are no longer
// to be trusted then, so the transfer ends without them.
func (t *transfer) endIfPanicking() {
	if p := recover(); p != nil {
		t.logPanic(p)
		t.broken = fault.New(common.ErrorCodeInternal)
		if !t.resolved {
			t.resolved = true
			close(t.done)
		}
		t.leave()
	}
}

func (t *transfer) logPanic(p any) {
	t.session.log.Error("a transfer met a programming error", "transferId", t.id, "panic", fmt.Sprint(p),
		"stack", string(debug.Stack()))
}

// work is the worker's goroutine.
func (t *transfer) work() {
	for {
		next, ok := t.next()
		if !ok {
			break
		}
		t.guard(func() { t.worker.do(t, next) })
	}
	t.guard(func() { t.worker.putAway(t) })
	t.drive(event{kind: evStopped})
}

// next waits for a task. False: there will be none.
func (t *transfer) next() (task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.tasks) == 0 && !t.stopping {
		t.wake.Wait()
	}
	if t.stopping {
		return task{}, false
	}
	next := t.tasks[0]
	t.tasks[0] = task{}
	t.tasks = t.tasks[1:]
	return next, true
}

// guard turns a panic of the worker into the transfer's failure.
func (t *transfer) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			t.logPanic(p)
			t.drive(event{kind: evFailed, fault: fault.New(common.ErrorCodeInternal)})
		}
	}()
	f()
}

// tick is the end of a phase's time, if it is one.
func (t *transfer) tick() {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.endIfPanicking()
	if t.clock.due() && !t.excused() {
		t.advance(&event{kind: evTimeout})
	}
}

// excused gives a phase more time when the reading goroutine waited for memory
// during it: nothing of the peer could be read then.
func (t *transfer) excused() bool {
	if t.machine.waitsForDisk() {
		return false
	}
	blocked := t.session.budget.blocked()
	missed := blocked - t.blockedBefore
	if missed <= 0 {
		return false
	}
	t.blockedBefore = blocked
	phase := t.session.cfg.PhaseTimeout
	t.clock.set(min(max(missed, phase/16), phase))
	return true
}

// notice tells the observer of a new state, or now and then of progress.
func (t *transfer) notice() {
	observer := t.session.cfg.OnEvent
	if observer == nil {
		return
	}
	v := t.machine.view()
	if !t.noticed.due(v, time.Now()) {
		return
	}
	ev := Event{ID: t.id, Direction: t.direction, Path: t.path, DirName: t.dirName, State: v.state,
		Bytes: v.bytes, TotalBytes: v.total, StartedAt: t.started}
	if v.state == StateFailed || v.state == StateCancelled {
		_, ev.Err = t.machine.outcome()
	}
	defer func() {
		if p := recover(); p != nil {
			t.logPanic(p)
		}
	}()
	observer(ev)
}

// tellPeer sends a transfer_progress when there is news, after the frames of the
// step itself: the peer must know of the transfer first.
func (t *transfer) tellPeer() *event {
	if !t.session.cfg.Features.Has(frames.FeatureProgress) {
		return nil
	}
	v := t.machine.view()
	if !v.shared || !t.told.due(v, time.Now()) {
		return nil
	}
	if v.state == StateApproval {
		v.total = 0 // how large a file is, is for the person to tell
	}
	err := t.session.link.SendControl(&frames.TransferProgress{TransferID: t.id,
		State: frames.ProgressState(v.state), Bytes: v.bytes, TotalBytes: v.total})
	if err == nil {
		return nil
	}
	failure := linkFailure(err)
	return &failure
}

// wait returns the outcome. When ctx ends first the transfer is cancelled.
func (t *transfer) wait(ctx context.Context) (Result, error) {
	select {
	case <-t.done:
	case <-ctx.Done():
		t.drive(event{kind: evCancel, fault: cancelCause(ctx)})
		<-t.done
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken != nil {
		return Result{ID: t.id}, t.broken
	}
	result, failed := t.machine.outcome()
	if failed != nil {
		return result, failed
	}
	return result, nil
}

// cancelCause is why ctx ended: its cause if that is a fault, else cancelled.
func cancelCause(ctx context.Context) *fault.Error {
	if cause := fault.From(context.Cause(ctx)); cause.Code != common.ErrorCodeInternal {
		return cause
	}
	return fault.New(common.ErrorCodeCancelled)
}

// linkFailure is what an error of the link means: a frame that cannot be sent
// fails its transfer, anything else is the end of the connection.
func linkFailure(err error) event {
	var f *fault.Error
	switch {
	case !errors.As(err, &f):
		return event{kind: evLost, fault: fault.Wrap(common.ErrorCodeConnectionLost, err)}
	case f.Code == common.ErrorCodeInternal:
		return event{kind: evFailed, fault: f}
	}
	return event{kind: evLost, fault: f}
}

package ui

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// queueLength is how many events may wait for an output that does not take
// them. A reader that stalls for longer loses events, never the transfers.
const queueLength = 4096

// closeWait is how long Close waits for an output that does not take the rest.
const closeWait = time.Second

// queue decouples a UI from its callers: each method only leaves a note.
type queue struct {
	to      UI
	notes   chan func(UI)
	dropped atomic.Int64

	mu     sync.RWMutex // held for reading while a note is left
	closed bool
	done   chan error // the result of to.Close
}

// Async returns a UI whose methods never wait for the output, so that they
// may be called where nothing may block. Close writes what is left.
func Async(to UI) UI {
	q := &queue{to: to, notes: make(chan func(UI), queueLength), done: make(chan error, 1)}
	go q.run()
	return q
}

func (q *queue) run() {
	for note := range q.notes {
		note(q.to)
	}
	q.done <- q.to.Close()
}

func (q *queue) leave(note func(UI)) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return // a late event of a goroutine that is ending
	}
	select {
	case q.notes <- note:
	default:
		q.dropped.Add(1)
	}
}

func (q *queue) Connecting(url string) { q.leave(func(u UI) { u.Connecting(url) }) }

func (q *queue) Connected(c Connected) { q.leave(func(u UI) { u.Connected(c) }) }

func (q *queue) Disconnected(reason string) { q.leave(func(u UI) { u.Disconnected(reason) }) }

func (q *queue) Reconnecting(after time.Duration, reason string) {
	q.leave(func(u UI) { u.Reconnecting(after, reason) })
}

func (q *queue) Refused(reason, remedy string) { q.leave(func(u UI) { u.Refused(reason, remedy) }) }

func (q *queue) Stopping(running int) { q.leave(func(u UI) { u.Stopping(running) }) }

func (q *queue) Approval(a Approval) { q.leave(func(u UI) { u.Approval(a) }) }

func (q *queue) Transfer(t Transfer) { q.leave(func(u UI) { u.Transfer(t) }) }

func (q *queue) Close() error {
	q.mu.Lock()
	again := q.closed
	q.closed = true
	q.mu.Unlock()
	if again {
		return nil
	}
	close(q.notes)
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case err := <-q.done:
		return errors.Join(err, q.loss())
	case <-timer.C:
		return errors.New("the output does not take the last events")
	}
}

func (q *queue) loss() error {
	if n := q.dropped.Load(); n > 0 {
		return fmt.Errorf("%d events were lost: the output was not read", n)
	}
	return nil
}

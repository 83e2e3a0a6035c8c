package ui

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
)

// lines writes one sentence a line, for people who read a log or a pipe.
type lines struct {
	mu      sync.Mutex
	out     io.Writer
	err     error
	clock   func() time.Time
	running map[uuid.UUID]shown
}

// shown is what the reader of the lines knows about a transfer.
type shown struct {
	state   State
	started time.Time
}

// NewLines returns the UI for an output that is no terminal.
func NewLines(out io.Writer) UI {
	return newLines(out, time.Now)
}

func newLines(out io.Writer, clock func() time.Time) *lines {
	return &lines{out: out, clock: clock, running: make(map[uuid.UUID]shown)}
}

func (l *lines) Connecting(url string) { l.say(connectingLine(url)) }

func (l *lines) Connected(c Connected) { l.say(connectedLines(c)...) }

func (l *lines) Disconnected(reason string) { l.say(disconnectedLine(reason)) }

func (l *lines) Reconnecting(after time.Duration, reason string) {
	l.say(reconnectingLine(after, reason))
}

func (l *lines) Refused(reason, remedy string) { l.say(refusedLines(reason, remedy)...) }

func (l *lines) Stopping(running int) { l.say(stoppingLine(running)) }

// Approval leaves it to the line of the state that the transfer is in.
func (l *lines) Approval(Approval) {}

// Transfer writes a line for each new state; bytes alone are no news here.
func (l *lines) Transfer(t Transfer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	before, known := l.running[t.ID]
	if known && before.state == t.State {
		return
	}
	if !known {
		before.started = now
	}
	if t.State.Ended() {
		delete(l.running, t.ID)
	} else {
		l.running[t.ID] = shown{t.State, before.started}
	}
	l.write(transferLine(t, now.Sub(before.started)))
}

func (l *lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *lines) say(sentences ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range sentences {
		l.write(s)
	}
}

// write is called with the lock held. The first error is kept for Close: a
// reader that went away must not end the transfers.
func (l *lines) write(sentence string) {
	if _, err := fmt.Fprintln(l.out, sentence); err != nil && l.err == nil {
		l.err = fmt.Errorf("writing to the output: %w", err)
	}
}

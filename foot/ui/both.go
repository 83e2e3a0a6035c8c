package ui

import (
	"errors"
	"time"
)

// both tells two UIs.
type both struct{ first, second UI }

// Both returns a UI that passes everything on to two others.
func Both(first, second UI) UI { return both{first, second} }

func (b both) Connecting(url string) { b.first.Connecting(url); b.second.Connecting(url) }

func (b both) Connected(c Connected) { b.first.Connected(c); b.second.Connected(c) }

func (b both) Disconnected(reason string) {
	b.first.Disconnected(reason)
	b.second.Disconnected(reason)
}

func (b both) Reconnecting(after time.Duration, reason string) {
	b.first.Reconnecting(after, reason)
	b.second.Reconnecting(after, reason)
}

func (b both) Refused(reason, remedy string) {
	b.first.Refused(reason, remedy)
	b.second.Refused(reason, remedy)
}

func (b both) Stopping(running int) { b.first.Stopping(running); b.second.Stopping(running) }

func (b both) Approval(a Approval) { b.first.Approval(a); b.second.Approval(a) }

func (b both) Transfer(t Transfer) { b.first.Transfer(t); b.second.Transfer(t) }

func (b both) Close() error { return errors.Join(b.first.Close(), b.second.Close()) }

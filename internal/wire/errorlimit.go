package wire

import "time"

// maxErrorsPerSecond bounds the error frames of a connection.
const maxErrorsPerSecond = 50

// errorLimit lets at most maxErrorsPerSecond through in any second and counts the
// rest. It is for the reading goroutine and for SendError's callers, under the
// connection's mutex.
type errorLimit struct {
	sent    [maxErrorsPerSecond]time.Time
	next    int // the oldest of sent
	dropped int
}

// allow reports whether an error frame may go out now. First is true for the first
// one that may not, since a limit is worth one line in the log and no more.
func (l *errorLimit) allow(now time.Time) (ok, first bool) {
	if oldest := l.sent[l.next]; !oldest.IsZero() && now.Sub(oldest) < time.Second {
		l.dropped++
		return false, l.dropped == 1
	}
	l.sent[l.next] = now
	l.next = (l.next + 1) % len(l.sent)
	return true, false
}

package transfer

import "time"

const (
	// tellsPerSecond is how often mere progress may be told, and tellEvery the
	// shortest time between two such tellings.
	tellsPerSecond = 4
	tellEvery      = time.Second / tellsPerSecond
)

// pace thins out what one listener hears of a transfer: each new state at once,
// and progress within a state at most four times a second, new states counted in.
type pace struct {
	state State
	bytes int64
	last  [tellsPerSecond]time.Time
	next  int // the oldest of last
}

// due reports whether v is to be told now, and counts it as told.
func (p *pace) due(v view, now time.Time) bool {
	if v.state == p.state {
		newest := p.last[(p.next+tellsPerSecond-1)%tellsPerSecond]
		if v.bytes == p.bytes || now.Sub(newest) < tellEvery || now.Sub(p.last[p.next]) < time.Second {
			return false
		}
	}
	p.state, p.bytes = v.state, v.bytes
	p.last[p.next] = now
	p.next = (p.next + 1) % tellsPerSecond
	return true
}

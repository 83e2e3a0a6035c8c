package wire

import (
	"errors"
	"math/rand/v2"
	"time"
)

// The values of a zero Backoff, and the time after which a connection was good.
const (
	DefaultReconnectMin = time.Second
	DefaultReconnectMax = 30 * time.Second
	goodConnection      = time.Minute
)

// laterFactor is how much longer a peer that asked for it is left alone.
const laterFactor = 4

// Backoff says how long to wait before the next attempt to connect. The wait is a
// random part of a window that begins at Min and doubles with each attempt up to
// Max, so that Feet that lost the same Brain come back spread out, from the very
// first attempt. It is for one goroutine.
type Backoff struct {
	Min, Max time.Duration
	// Rand returns a number in [0, 1). Nil takes the process's random numbers.
	Rand func() float64

	attempts int
}

// Next returns the time to wait before the next attempt. Cause is why the last
// attempt or the last connection failed: a Brain that restarts, drains or asked to
// be left alone has a longer window.
func (b *Backoff) Next(cause error) time.Duration {
	window := b.window(cause)
	if b.attempts < 62 {
		b.attempts++
	}
	random := b.Rand
	if random == nil {
		random = rand.Float64
	}
	return time.Duration(random() * float64(window))
}

func (b *Backoff) window(cause error) time.Duration {
	least, most := b.Min, b.Max
	if least <= 0 {
		least = DefaultReconnectMin
	}
	if most <= 0 {
		most = DefaultReconnectMax
	}
	most = max(least, most)
	window := least
	if wantsLater(cause) {
		window = min(most, window*laterFactor)
	}
	for range b.attempts {
		if window >= most/2 {
			return most
		}
		window *= 2
	}
	return min(window, most)
}

// Reset goes back to the minimum. It is called once a byte was acknowledged.
func (b *Backoff) Reset() { b.attempts = 0 }

// Ended tells how long a connection had lasted; after a good one the waits begin
// at the minimum again.
func (b *Backoff) Ended(lasted time.Duration) {
	if lasted >= goodConnection {
		b.Reset()
	}
}

func wantsLater(cause error) bool {
	var closed *CloseError
	if errors.As(cause, &closed) {
		return closed.Later()
	}
	var dial *DialError
	return errors.As(cause, &dial) && dial.Kind == DialUnavailable
}

package transfer

import "time"

// phaseClock is the time a phase may last. Setting it anew is cheap, as it
// happens with every chunk: the timer that runs is left alone and looks at the
// deadline when it fires. All but fire runs with the transfer locked.
type phaseClock struct {
	fire     func()
	timer    *time.Timer
	deadline time.Time // zero: no phase runs
	fires    time.Time // when the running timer fires, zero: none runs
}

func (c *phaseClock) set(d time.Duration) {
	c.deadline = time.Now().Add(d)
	if c.fires.IsZero() || c.deadline.Before(c.fires) {
		c.start(d)
	}
}

func (c *phaseClock) start(d time.Duration) {
	c.fires = time.Now().Add(d)
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.fire)
		return
	}
	c.timer.Reset(d)
}

func (c *phaseClock) stop() {
	c.deadline, c.fires = time.Time{}, time.Time{}
	if c.timer != nil {
		c.timer.Stop()
	}
}

// due is called when the timer fired: it reports whether the phase is over,
// and otherwise starts the timer for the rest.
func (c *phaseClock) due() bool {
	c.fires = time.Time{}
	if c.deadline.IsZero() {
		return false
	}
	if rest := time.Until(c.deadline); rest > 0 {
		c.start(rest)
		return false
	}
	c.deadline = time.Time{}
	return true
}

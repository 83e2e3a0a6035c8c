package wire

import "time"

// keepAlive begins with the pings. It is called once the handshake is over, which
// the phase timeout bounds.
func (c *Conn) keepAlive() {
	c.meter.guard(c.cfg.stall())
	go c.keepalive()
}

// pingsOf is how often a Foot pings: as often as its Brain says unless its own
// interval is shorter, and never more than once a second, whatever a Brain says.
func pingsOf(own, brain time.Duration) time.Duration {
	if brain <= 0 {
		return own
	}
	return min(own, max(brain, time.Second))
}

// keepalive asks the writer for pings and ends the connection of a dead peer: two
// intervals without a sign of life, and two pings in them that nobody answered.
// The second of these goes out after half an interval, so that silence is called
// after two intervals however it fell between the pings.
func (c *Conn) keepalive() {
	interval := c.cfg.PingInterval
	pinged := time.Now()
	alive := pinged
	unanswered := 0
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-timer.C:
		}
		now := time.Now()
		if seen := c.meter.lastAlive(); seen.After(alive) {
			alive = seen
			if !alive.Before(pinged) {
				unanswered = 0
			}
		}
		if unanswered >= 2 && now.Sub(alive) >= 2*interval {
			c.lost(lost(nil, "the peer was silent for %v and answered no ping", 2*interval))
			return
		}
		due := pinged.Add(interval)
		if unanswered == 1 {
			due = pinged.Add(interval / 2)
		}
		if !now.Before(due) {
			c.out.putPing()
			pinged = now
			unanswered++
			due = now.Add(interval)
			if unanswered == 1 {
				due = now.Add(interval / 2)
			}
		}
		if dead := alive.Add(2 * interval); unanswered >= 2 && dead.Before(due) {
			due = dead
		}
		timer.Reset(due.Sub(now))
	}
}

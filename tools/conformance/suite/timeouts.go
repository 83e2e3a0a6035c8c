package suite

import (
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

// timeoutRules are about what happens when nothing happens.
var timeoutRules = []*Rule{
	{Name: "timeout/chunk", Source: "spec 5.5", Role: Both,
		Says: `a receiver that gets no chunk fails with "chunk timeout", and nothing is published`,
		run: func(c *Check) {
			phase := c.hasty()
			in := c.offer(offer{path: c.newPath(), content: contentOf(1000)})
			in.chunk(in.content[:100], false)
			c.patiently(phase, func() { in.fails(common.ErrorCodeChunkTimeout, "chunk timeout") })
			c.lacks(in.path)
		}},
	{Name: "timeout/chunks-count-anew", Source: "spec 5.5", Role: Both,
		Says: "the timeout is of each chunk, not of the transfer",
		run: func(c *Check) {
			phase := c.hasty()
			in := c.offer(offer{path: c.newPath(), content: contentOf(400)})
			for i := range 4 {
				if i > 0 {
					c.sleep(phase * 6 / 10)
				}
				in.chunk(in.content[i*100:(i+1)*100], i == 3)
			}
			in.published()
		}},
	{Name: "timeout/init", Source: "spec 5.5", Role: Both,
		Says: `a sender whose offer is not answered gives up with "init timeout"`,
		run: func(c *Check) {
			phase := c.hasty()
			out := c.fetchNew(contentOf(100))
			c.patiently(phase, func() { out.gives(common.ErrorCodeInitTimeout, "init timeout") })
		}},
	{Name: "timeout/complete", Source: "spec 5.5", Role: Both,
		Says: `a sender that is not told the end gives up with "complete timeout"`,
		run: func(c *Check) {
			phase := c.hasty()
			out := c.fetchNew(contentOf(100))
			out.accept()
			out.receive()
			c.patiently(phase, func() { out.gives(common.ErrorCodeCompleteTimeout, "complete timeout") })
		}},
	{Name: "timeout/request", Source: "ruling: upload request unanswered", Role: Brain,
		Says: `an upload request that the Foot does not answer fails the call with "init timeout"`,
		run: func(c *Check) {
			phase := c.hasty()
			in := c.propose(offer{path: c.newPath(), content: contentOf(100)}).opened()
			c.patiently(phase, func() { c.callFails(in.call, common.ErrorCodeInitTimeout) })
			c.loose = true // the Brain may tell the Foot that it gave up
		}},
	{Name: "timeout/progress", Source: "extension progress", Role: Both, Features: frames.FeatureProgress,
		Says: "news of progress that move on keep a phase alive, those that do not move on do not",
		run: func(c *Check) {
			phase := c.hasty()
			out := c.fetchNew(contentOf(100))
			for n := range 3 {
				c.sleep(phase * 6 / 10)
				c.send(&frames.TransferProgress{TransferID: out.id, State: frames.ProgressStateStreaming, Bytes: int64(n + 1), TotalBytes: 100})
			}
			c.silent(out.id, "progress that moves on")
			// Nothing moves from here on: it ends although news keep coming.
			end := time.Now().Add(2*phase + c.Patience)
			for time.Now().Before(end) {
				c.send(&frames.TransferProgress{TransferID: out.id, State: frames.ProgressStateStreaming, Bytes: 3, TotalBytes: 100})
				if m, err := c.conn.Await(phase/4, peer.Of[*frames.TransferFinish](out.id)); err == nil {
					f := m.Frame.(*frames.TransferFinish)
					c.failure("transfer_finish", f.ErrorCode, f.Error, common.ErrorCodeInitTimeout, "init timeout")
					c.callFails(out.call, common.ErrorCodeInitTimeout)
					c.must(c.conn.Barrier(c.Patience), "awaiting a pong")
					return
				}
			}
			c.failf("news that do not move on keep the transfer alive")
		}},
	{Name: "timeout/hello", Source: "ruling: broken handshake", Role: Brain,
		Says: "a connection without a hello is closed after the phase timeout with handshake_failed and 1008",
		run: func(c *Check) {
			phase := c.hasty()
			c.apart(func() {
				c.patiently(phase, func() {
					c.awaitError(common.ErrorCodeHandshakeFailed)
					c.closes(1008, "")
				})
			})
		}},
	{Name: "timeout/welcome", Source: "ruling: broken handshake", Role: Foot,
		Says: "a Foot that gets no welcome closes with handshake_failed and 1008, and comes back",
		run: func(c *Check) {
			// No welcome has told it any timeout: its own counts, which is not known.
			if c.MaxWait < usualTerms().phaseTimeout {
				c.skip("a Foot's own phase timeout is %v by default; --max-wait allows %v", usualTerms().phaseTimeout, c.MaxWait)
			}
			c.backAtOnce()
			c.disconnect()
			c.openFoot()
			c.patiently(c.MaxWait, func() {
				c.awaitError(common.ErrorCodeHandshakeFailed)
				c.closes(1008, "")
			})
			c.connect(usualTerms())
		}},
	{Name: "timeout/pings", Source: "ruling: keepalive", Role: Both,
		Says: "the peer pings every pingIntervalMs",
		run: func(c *Check) {
			interval := c.lively()
			at, err := c.conn.AwaitPings(3*interval+c.Patience, 3)
			if err != nil {
				c.failf("%d pings came, want three: %v", len(at), err)
			}
			if took := at[2].Sub(at[0]); took > 2*interval+interval/2+time.Second {
				c.failf("three pings take %v, want two intervals of %v", took.Round(time.Millisecond), interval)
			}
		}},
	{Name: "timeout/dead-peer", Source: "ruling: keepalive", Role: Both,
		Says: "a connection on which two pings find no answer, and nothing else comes, is ended",
		run: func(c *Check) {
			interval := c.lively()
			c.conn.Mute.Store(true)
			began := time.Now()
			if _, _, err := c.conn.AwaitEnd(3*interval + c.Patience); err != nil {
				c.failf("the connection goes on after %v of silence", time.Since(began).Round(time.Millisecond))
			}
			if took := time.Since(began); took < interval {
				c.failf("the connection is ended after %v, before two pings of %v could find no answer", took, interval)
			}
		}},
}

// hasty makes sure of a peer whose phases end soon and returns how long they are.
func (c *Check) hasty() time.Duration {
	phase := 2 * time.Second
	if c.Role == Foot {
		t := usualTerms()
		t.phaseTimeout = phase
		c.connect(t)
	} else {
		phase = time.Duration(c.conn.Welcome.Settings.PhaseTimeoutMs) * time.Millisecond
	}
	c.bearable(phase, "phaseTimeoutMs")
	return phase
}

// lively makes sure of a connection of its own on which pings come often and
// returns how often.
func (c *Check) lively() time.Duration {
	interval := time.Second
	if c.Role == Foot {
		t := usualTerms()
		t.pingInterval = interval
		c.fresh(t)
	} else {
		interval = time.Duration(c.conn.Welcome.Settings.PingIntervalMs) * time.Millisecond
		c.bearable(interval, "pingIntervalMs")
		c.fresh(usualTerms())
	}
	return interval
}

func (c *Check) bearable(d time.Duration, setting string) {
	if d > c.MaxWait {
		c.skip("the Brain's %s is %v; --max-wait allows %v", setting, d, c.MaxWait)
	}
}

// patiently waits for more than one phase in what is awaited.
func (c *Check) patiently(phase time.Duration, do func()) {
	usual := c.Patience
	c.Patience += phase + phase/2
	defer func() { c.Patience = usual }()
	do()
}

// sleep lets time pass, which is what the rule is about.
func (c *Check) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
}

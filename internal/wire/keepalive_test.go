package wire

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// slowConn delivers what it reads at a number of bytes a second.
type slowConn struct {
	net.Conn
	rate int
}

func (c slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), max(1, c.rate/10))])
	time.Sleep(time.Duration(n) * time.Second / time.Duration(c.rate))
	return n, err
}

// slowFoot is rawFoot whose peer reads slowly.
func slowFoot(t *testing.T, o brainOptions, rate int) (*Conn, *websocket.Conn) {
	t.Helper()
	b := startBrain(t, o)
	dial := b.dial
	b.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return slowConn{c, rate}, err
	}
	ws := b.raw(t)
	if err := ws.WriteMessage(websocket.TextMessage, encoded(t, testHello())); err != nil {
		t.Fatal(err)
	}
	readFrame(t, ws)
	a := b.accept(t)
	if a.err != nil {
		t.Fatal(a.err)
	}
	t.Cleanup(func() { a.conn.lost(io.EOF) })
	return a.conn, ws
}

// answerNoPing makes a raw peer one that never pongs.
func answerNoPing(ws *websocket.Conn) { ws.SetPingHandler(func(string) error { return nil }) }

// expectDead wants the connection to end as lost between two moments from began.
func expectDead(t *testing.T, c *Conn, began time.Time, least, most time.Duration) {
	t.Helper()
	await(t, "the end", c.Done())
	if took := time.Since(began); took < least || took > most {
		t.Fatalf("dead after %v, want between %v and %v", took, least, most)
	}
	if code := fault.CodeOf(c.Err()); code != common.ErrorCodeConnectionLost {
		t.Fatalf("code %s: %v", code, c.Err())
	}
	await(t, "the end of the socket", c.Gone())
}

func expectAlive(t *testing.T, c *Conn) {
	t.Helper()
	if c.isDone() {
		t.Fatalf("ended: %v", c.Err())
	}
}

func TestPeerThatFallsSilentIsDeadAfterTwoIntervals(t *testing.T) {
	for _, last := range []time.Duration{0, time.Second, 19 * time.Second, 21 * time.Second, 35 * time.Second} {
		t.Run(last.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				brain, ws := rawFoot(t, brainOptions{})
				answerNoPing(ws)
				drain(t, ws)
				ended := serve(brain, newCollector())
				time.Sleep(last)
				began := time.Now()
				if err := ws.WriteMessage(websocket.TextMessage, encoded(t, finish(newID()))); err != nil {
					t.Fatal(err)
				}
				expectDead(t, brain, began, 2*DefaultPingInterval, 2*DefaultPingInterval)
				await(t, "Serve's end", ended)
			})
		})
	}
}

func TestPeerThatNeitherReadsNorSendsIsDeadAfterTwoIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, _ := rawFoot(t, brainOptions{})
		serve(brain, newCollector())
		began := time.Now()
		expectDead(t, brain, began, 2*DefaultPingInterval, 2*DefaultPingInterval)
	})
}

func TestFootFindsADeadBrainAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, peers := startRawBrain(t)
		go func() {
			ws := <-peers
			answerNoPing(ws)
			ws.ReadMessage()
			ws.WriteMessage(websocket.TextMessage, encoded(t, testWelcome(Config{})))
			readAway(ws)
		}()
		foot := b.foot(t, Config{PingInterval: time.Second})
		serve(foot, newCollector())
		began := time.Now()
		expectDead(t, foot, began, 2*time.Second, 2*time.Second)
	})
}

func TestPeerThatOnlyAnswersPingsLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		pings := 0
		ws.SetPingHandler(func(s string) error {
			pings++
			return ws.WriteControl(websocket.PongMessage, []byte(s), time.Time{})
		})
		drain(t, ws)
		serve(brain, newCollector())
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		expectAlive(t, brain)
		if pings != 30 {
			t.Fatalf("%d pings in ten minutes", pings)
		}
	})
}

func TestBothSidesOfAnIdleConnectionLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, foot := pair(t, brainOptions{}, Config{})
		serve(brain, newCollector())
		serve(foot, newCollector())
		time.Sleep(10 * time.Minute)
		expectAlive(t, brain)
		expectAlive(t, foot)
	})
}

func TestInboundFramesKeepAPeerAliveThatAnswersNoPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		answerNoPing(ws)
		drain(t, ws)
		serve(brain, newCollector())
		for range 20 {
			time.Sleep(39 * time.Second)
			if err := ws.WriteMessage(websocket.TextMessage, encoded(t, finish(newID()))); err != nil {
				t.Fatal(err)
			}
		}
		expectAlive(t, brain)
	})
}

// python-websockets#1005: a long message on a slow line must not look like death.
func TestLongMessageThatTricklesInKeepsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		answerNoPing(ws)
		drain(t, ws)
		h := newCollector()
		serve(brain, h)
		id := newID()
		w, err := ws.NextWriter(websocket.TextMessage)
		if err != nil {
			t.Fatal(err)
		}
		message := encoded(t, chunk(id, 0, 64<<10))
		// Twelve minutes for one frame that gorilla writes as it comes.
		began := time.Now()
		for len(message) > 0 {
			piece := message[:min(len(message), 4<<10)]
			message = message[len(piece):]
			if _, err := w.Write(piece); err != nil {
				t.Fatal(err)
			}
			time.Sleep(35 * time.Second)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if f, ok := h.next(t).(*frames.TransferChunk); !ok || f.TransferID != id || len(f.Bytes) != 64<<10 {
			t.Fatal("the message did not arrive whole")
		}
		if time.Since(began) < 10*time.Minute {
			t.Fatal("that was too fast to prove anything")
		}
		expectAlive(t, brain)
	})
}

func TestSlowDownloadOfTenMinutesKeepsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The peer takes 10 kB/s, sends nothing, and answers no ping.
		brain, ws := slowFoot(t, brainOptions{}, 10_000)
		answerNoPing(ws)
		drain(t, ws)
		serve(brain, newCollector())
		id := newID()
		began := time.Now()
		for seq := int64(0); time.Since(began) < 10*time.Minute; seq++ {
			if err := brain.SendData(t.Context(), id, chunk(id, seq, 1<<20)); err != nil {
				t.Fatalf("after %v: %v", time.Since(began), err)
			}
		}
		expectAlive(t, brain)
	})
}

func TestPeerThatSendsButNeverReadsIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		serve(brain, newCollector())
		background(t, func() { ws.Close() }, func() {
			for ws.WriteMessage(websocket.TextMessage, encoded(t, finish(newID()))) == nil {
				time.Sleep(time.Second)
			}
		})
		id := newID()
		began := time.Now()
		if err := brain.SendData(t.Context(), id, chunk(id, 0, 1000)); err != nil {
			t.Fatal(err)
		}
		stall := Config{}.withDefaults().stall()
		expectDead(t, brain, began, stall, stall+stall/stallSteps)
		if !strings.Contains(brain.Err().Error(), "writing failed") {
			t.Fatal(brain.Err())
		}
	})
}

func TestSlowReaderAtTenKilobytesASecondIsNotDeadAndOneThatStopsIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := slowFoot(t, brainOptions{}, 10_000)
		answerNoPing(ws)
		serve(brain, newCollector())
		stop := make(chan struct{})
		background(t, func() { ws.Close() }, func() {
			b := make([]byte, 1000)
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := ws.NetConn().Read(b); err != nil {
						return
					}
				}
			}
		})
		go func() {
			id := newID()
			for seq := int64(0); brain.SendData(t.Context(), id, chunk(id, seq, 64<<10)) == nil; seq++ {
			}
		}()
		time.Sleep(5 * time.Minute)
		expectAlive(t, brain)
		close(stop)
		expectDead(t, brain, time.Now(), DefaultPingInterval, 3*DefaultPingInterval)
	})
}

// A receiver holds its handler to slow the peer down; the silence is its own.
func TestHandlerThatHoldsTheReaderIsNotTakenForADeadPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, foot := pair(t, brainOptions{}, Config{})
		release := make(chan struct{})
		h := newCollector()
		h.err = func(frames.Frame) error { <-release; return nil }
		serve(brain, h)
		serve(foot, newCollector())
		if err := foot.SendControl(finish(newID())); err != nil {
			t.Fatal(err)
		}
		// Three intervals; a pipe has no buffer, so that not even pings get through.
		time.Sleep(3 * DefaultPingInterval)
		expectAlive(t, brain)
		expectAlive(t, foot)
		close(release)
		second := newID()
		if err := foot.SendControl(finish(second)); err != nil {
			t.Fatal(err)
		}
		h.next(t)
		if f := h.next(t).(*frames.TransferFinish); f.TransferID != second {
			t.Fatal("another frame came")
		}
	})
}

func TestPingsAndPongsSlipBetweenTheFragmentsOfALongMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A message of 1.4 MB takes 140 s at 10 kB/s.
		brain, ws := slowFoot(t, brainOptions{}, 10_000)
		serve(brain, newCollector())
		began := time.Now()
		var pings, pongs []time.Duration
		ws.SetPingHandler(func(string) error { pings = append(pings, time.Since(began)); return nil })
		ws.SetPongHandler(func(string) error { pongs = append(pongs, time.Since(began)); return nil })
		id := newID()
		if err := brain.SendData(t.Context(), id, chunk(id, 0, 1<<20)); err != nil {
			t.Fatal(err)
		}
		background(t, func() {}, func() {
			for range 5 {
				ws.WriteControl(websocket.PingMessage, nil, time.Time{})
				time.Sleep(20 * time.Second)
			}
		})
		if _, _, err := ws.ReadMessage(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 2*time.Minute {
			t.Fatalf("the message took only %v", took)
		}
		if len(pings) < 5 || pings[0] > 30*time.Second {
			t.Fatalf("pings came at %v", pings)
		}
		if len(pongs) < 5 || pongs[0] > 10*time.Second {
			t.Fatalf("pongs came at %v", pongs)
		}
	})
}

// A Foot learns from the welcome how often its Brain wants a sign of life.
func TestAFootPingsAsOftenAsItsBrainSaysAndAtMostOnceASecond(t *testing.T) {
	for _, c := range []struct{ own, brain, want time.Duration }{
		{20 * time.Second, 3 * time.Second, 3 * time.Second},
		{2 * time.Second, 20 * time.Second, 2 * time.Second},
		{20 * time.Second, time.Millisecond, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var pings []time.Time
			o := brainOptions{cfg: Config{PingInterval: c.brain}}
			brain, foot := pair(t, o, Config{PingInterval: c.own})
			brain.ws.SetPingHandler(func(payload string) error {
				mu.Lock()
				defer mu.Unlock()
				pings = append(pings, time.Now())
				brain.out.putPong(payload)
				return nil
			})
			began := time.Now()
			serve(brain, newCollector())
			serve(foot, newCollector())
			time.Sleep(10*c.want + c.want/2)
			mu.Lock()
			defer mu.Unlock()
			// One more where a pong was not seen yet when the next ping was due.
			if len(pings) < 10 || len(pings) > 12 {
				t.Fatalf("own %v, brain %v: %d pings came in %v, want one every %v", c.own, c.brain, len(pings), time.Since(began), c.want)
			}
		})
	}
}

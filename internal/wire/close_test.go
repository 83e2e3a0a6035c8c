package wire

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// Each row is how a Brain closes, and what that tells the Foot.
func TestCloseCodesReachTheFootAsWhatTheyMean(t *testing.T) {
	rows := []struct {
		code                       int
		reason                     string
		replaced, tokenGone, later bool
		fault                      common.ErrorCode
	}{
		{ClosePolicy, ReasonReplaced, true, false, false, common.ErrorCodeConnectionLost},
		{ClosePolicy, ReasonTokenRevoked, false, true, false, common.ErrorCodeAccessDenied},
		{ClosePolicy, ReasonTokenExpired, false, true, false, common.ErrorCodeAccessDenied},
		{ClosePolicy, "other", false, false, false, common.ErrorCodeConnectionLost},
		{CloseRestart, "restarting", false, false, true, common.ErrorCodeConnectionLost},
		{CloseTryLater, "", false, false, true, common.ErrorCodeConnectionLost},
		{CloseGoingAway, ReasonReplaced, false, false, false, common.ErrorCodeConnectionLost},
		{CloseNormal, "", false, false, false, common.ErrorCodeConnectionLost},
	}
	for _, row := range rows {
		synctest.Test(t, func(t *testing.T) {
			brain, foot := pair(t, brainOptions{}, Config{})
			brainEnded := serve(brain, newCollector())
			ended := serve(foot, newCollector())
			brain.Close(row.code, row.reason)
			err := await(t, "the Foot's end", ended)
			var closed *CloseError
			if !errors.As(err, &closed) {
				t.Fatal(err)
			}
			if closed.Code != row.code || closed.Reason != row.reason || !closed.Remote {
				t.Errorf("%+v, want %+v", closed, row)
			}
			if closed.Replaced() != row.replaced || closed.TokenGone() != row.tokenGone || closed.Later() != row.later {
				t.Errorf("%+v: %v %v %v", row, closed.Replaced(), closed.TokenGone(), closed.Later())
			}
			if code := fault.CodeOf(err); code != row.fault {
				t.Errorf("%+v: fault %s", row, code)
			}
			await(t, "the Brain's end", brainEnded)
			if code := fault.CodeOf(brain.Err()); code != row.fault {
				t.Errorf("%+v: the Brain's fault is %s", row, code)
			}
		})
	}
}

func TestCloseIsInstantForTheCallerAndOrderlyForThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		ended := serve(brain, newCollector())
		brain.SendError(fault.New(common.ErrorCodeInternal), nil)
		brain.Close(ClosePolicy, "first")
		brain.Close(CloseNormal, "second")
		select {
		case <-brain.Done():
		default:
			t.Fatal("Done is not closed at once")
		}
		if err := brain.SendControl(finish(newID())); err != brain.Err() {
			t.Fatal(err)
		}
		if err := brain.SendData(t.Context(), newID(), chunk(newID(), 0, 1)); err != brain.Err() {
			t.Fatal(err)
		}
		expectError(t, readFrame(t, ws), common.ErrorCodeInternal)
		if code, reason := closeOf(t, ws); code != ClosePolicy || reason != "first" {
			t.Fatalf("closed with %d %q", code, reason)
		}
		await(t, "Serve's end", ended)
	})
}

func TestFramesThatComeAfterTheCloseAreNotHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		h := newCollector()
		ended := serve(brain, h)
		brain.Close(ClosePolicy, ReasonReplaced)
		for range 3 {
			if err := ws.WriteMessage(websocket.TextMessage, encoded(t, finish(newID()))); err != nil {
				t.Fatal(err)
			}
		}
		closeOf(t, ws)
		await(t, "Serve's end", ended)
		if len(h.frames) != 0 {
			t.Fatal("they were")
		}
	})
}

func TestPeerThatDoesNotAnswerTheCloseFrameIsNotWaitedFor(t *testing.T) {
	for name, reads := range map[string]bool{"it reads": true, "it does not read": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				brain, ws := rawFoot(t, brainOptions{})
				ws.SetCloseHandler(func(int, string) error { return nil })
				if reads {
					background(t, func() { ws.Close() }, func() { io.Copy(io.Discard, ws.NetConn()) })
				}
				ended := serve(brain, newCollector())
				began := time.Now()
				brain.Close(CloseRestart, "")
				await(t, "Serve's end", ended)
				if took := time.Since(began); took > closeGrace {
					t.Fatalf("after %v", took)
				}
			})
		})
	}
}

func TestConnectionNobodyServesEndsAfterItsClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		brain.Close(CloseTryLater, "full")
		if code, _ := closeOf(t, ws); code != CloseTryLater {
			t.Fatalf("closed with %d", code)
		}
		await(t, "the end", brain.Gone())
	})
}

func TestLongReasonIsCutToWhatACloseFrameHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		brain.Close(ClosePolicy, strings.Repeat("é", 100))
		if code, reason := closeOf(t, ws); code != ClosePolicy || reason != strings.Repeat("é", 61) {
			t.Fatalf("closed with %d %q", code, reason)
		}
		await(t, "the end", brain.Gone())
	})
}

func TestReasonFromThePeerIsSafeForATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		ended := serve(brain, newCollector())
		ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4000, "a\x1b[2J\n\u202eb"), time.Time{})
		closeOf(t, ws)
		err := await(t, "Serve's end", ended)
		if text := err.Error(); strings.ContainsAny(text, "\x1b\n\u202e") || !strings.Contains(text, "4000") {
			t.Fatalf("%q", text)
		}
	})
}

func TestPeerThatClosesWithoutACodeIsUnderstood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		ended := serve(brain, newCollector())
		ws.WriteControl(websocket.CloseMessage, nil, time.Time{})
		if code, _ := closeOf(t, ws); code != CloseNoStatus {
			t.Fatalf("answered with %d", code)
		}
		var closed *CloseError
		if err := await(t, "Serve's end", ended); !errors.As(err, &closed) || closed.Code != CloseNoStatus {
			t.Fatal(err)
		}
	})
}

func TestPeerThatVanishesEndsTheConnectionAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		ended := serve(brain, newCollector())
		began := time.Now()
		ws.NetConn().Close()
		err := await(t, "Serve's end", ended)
		var closed *CloseError
		if fault.CodeOf(err) != common.ErrorCodeConnectionLost || errors.As(err, &closed) {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Fatalf("after %v", took)
		}
	})
}

func TestSenderThatWaitsLearnsOfTheEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		serve(brain, newCollector())
		id := newID()
		result := make(chan error, 1)
		go func() {
			for seq := int64(0); ; seq++ {
				if err := brain.SendData(context.Background(), id, chunk(id, seq, 1000)); err != nil {
					result <- err
					return
				}
			}
		}()
		synctest.Wait() // nobody reads: the sender waits
		ws.NetConn().Close()
		if err := await(t, "the sender's end", result); fault.CodeOf(err) != common.ErrorCodeConnectionLost {
			t.Fatal(err)
		}
	})
}

func TestContextOfServeClosesTheConnectionByItsRole(t *testing.T) {
	for _, foot := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b, f := pair(t, brainOptions{}, Config{})
			near, far, want := b, f, CloseRestart
			if foot {
				near, far, want = f, b, CloseGoingAway
			}
			ended := serve(far, newCollector())
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			near.Serve(ctx, newCollector())
			var closed *CloseError
			if err := await(t, "the peer's end", ended); !errors.As(err, &closed) || closed.Code != want {
				t.Fatalf("%v, want %d", err, want)
			}
		})
	}
}

func TestBothSidesMayCloseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, foot := pair(t, brainOptions{}, Config{})
		brainEnded, footEnded := serve(brain, newCollector()), serve(foot, newCollector())
		began := time.Now()
		go brain.Close(CloseRestart, "")
		go foot.Close(CloseGoingAway, "")
		await(t, "the Brain's end", brainEnded)
		await(t, "the Foot's end", footEnded)
		if took := time.Since(began); took > closeWait {
			t.Fatalf("after %v", took)
		}
	})
}

func TestTapSeesEachMessageOfBothDirections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type record struct {
			d Direction
			m string
		}
		records := make(chan record, 16)
		tap := func(d Direction, m []byte) { records <- record{d, string(m)} }
		brain, foot := pair(t, brainOptions{cfg: Config{Tap: tap}}, Config{})
		h := newCollector()
		serve(brain, newCollector())
		serve(foot, h)
		id := newID()
		if err := brain.SendData(t.Context(), id, chunk(id, 0, 100_000)); err != nil {
			t.Fatal(err)
		}
		h.next(t)
		for _, want := range []struct {
			d    Direction
			kind frames.FrameType
			size int
		}{{Received, frames.FrameTypeHello, 0}, {Sent, frames.FrameTypeWelcome, 0}, {Sent, frames.FrameTypeTransferChunk, 100_000}} {
			r := await(t, "a record", records)
			if r.d != want.d || !strings.Contains(r.m, `"`+string(want.kind)+`"`) || len(r.m) < want.size {
				t.Fatalf("%s %.80s, want %s %s", r.d, r.m, want.d, want.kind)
			}
		}
	})
}

// After 100 connections, ended in each way, nothing is left running.
func TestConnectionsLeaveNothingBehind(t *testing.T) {
	b := startBrain(t, brainOptions{tcp: true})
	open := func() (brain, foot *Conn) {
		foot = b.foot(t, Config{})
		return b.accept(t).conn, foot
	}
	round := func(i int) {
		brain, foot := open()
		brainEnded, footEnded := serve(brain, newCollector()), serve(foot, newCollector())
		id := newID()
		if err := foot.SendData(t.Context(), id, chunk(id, 0, 100)); err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0:
			foot.Close(CloseGoingAway, "")
		case 1:
			brain.Close(CloseRestart, "")
		case 2:
			foot.meter.Close()
		}
		await(t, "the Brain's end", brainEnded)
		await(t, "the Foot's end", footEnded)
	}
	round(0)
	before := settled(0)
	for i := range 100 {
		round(i)
	}
	if after := settled(before); after > before {
		stacks := make([]byte, 1<<20)
		t.Fatalf("%d goroutines before, %d after\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
	}
}

// settled returns the number of goroutines once it is at most want, or as it is
// after two seconds.
func settled(want int) int {
	deadline := time.Now().Add(2 * time.Second)
	for runtime.NumGoroutine() > want && time.Now().Before(deadline) {
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	return runtime.NumGoroutine()
}

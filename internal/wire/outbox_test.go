package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func put(t *testing.T, o *outbox, id uuid.UUID, text string) {
	t.Helper()
	if err := o.putData(t.Context(), id, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func expectJobs(t *testing.T, o *outbox, want ...string) {
	t.Helper()
	for _, w := range want {
		j := o.next()
		got := string(j.payload)
		switch j.kind {
		case jobNone:
			got = "nothing"
		case jobPing:
			got = "ping"
		case jobPong:
			got = "pong " + got
		case jobClose:
			got = fmt.Sprint("close ", j.code)
		}
		if got != w {
			t.Fatalf("next is %q, want %q", got, w)
		}
	}
}

func TestKeepaliveGoesFirstThenControlThenData(t *testing.T) {
	o := newOutbox()
	put(t, o, newID(), "data")
	o.putControl([]byte("control 1"))
	o.putControl([]byte("control 2"))
	o.putPing()
	o.putPong("a")
	expectJobs(t, o, "pong a", "ping", "control 1", "control 2", "data", "nothing")
}

func TestFloodOfPingsLeavesOnePong(t *testing.T) {
	o := newOutbox()
	for i := range 10000 {
		o.putPong(fmt.Sprint(i))
	}
	expectJobs(t, o, "pong 9999", "nothing")
}

func TestPingWithoutPayloadIsAnswered(t *testing.T) {
	o := newOutbox()
	o.putPong("")
	expectJobs(t, o, "pong ", "nothing")
}

func TestStreamsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox()
		ids := []uuid.UUID{newID(), newID(), newID()}
		const rounds = 5
		for i, id := range ids {
			go func() {
				for n := range rounds {
					put(t, o, id, fmt.Sprint(i, "/", n))
				}
			}()
			synctest.Wait()
		}
		for n := range rounds {
			for i := range ids {
				expectJobs(t, o, fmt.Sprint(i, "/", n))
				synctest.Wait()
			}
		}
		expectJobs(t, o, "nothing")
		if len(o.streams) != 0 {
			t.Fatalf("%d streams are remembered", len(o.streams))
		}
	})
}

func TestSecondFrameOfAStreamWaitsForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, id := newOutbox(), newID()
		put(t, o, id, "first")
		queued := false
		go func() {
			put(t, o, id, "second")
			queued = true
		}()
		synctest.Wait()
		if queued {
			t.Fatal("two frames of one stream are queued")
		}
		expectJobs(t, o, "first")
		synctest.Wait()
		if !queued {
			t.Fatal("the place was not freed")
		}
		expectJobs(t, o, "second", "nothing")
	})
}

func TestDroppedStreamForgetsItsFrameAndTurnsAwayWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, id, other := newOutbox(), newID(), newID()
		put(t, o, id, "first")
		put(t, o, other, "other")
		waiting := make(chan error, 1)
		go func() { waiting <- o.putData(t.Context(), id, []byte("second")) }()
		synctest.Wait()
		o.drop(id)
		if err := <-waiting; !errors.Is(err, ErrDropped) {
			t.Fatal(err)
		}
		expectJobs(t, o, "other", "nothing")
		o.drop(id)
		put(t, o, id, "later")
		expectJobs(t, o, "later", "nothing")
		if len(o.streams) != 0 {
			t.Fatalf("%d streams are remembered", len(o.streams))
		}
	})
}

func TestContextEndsTheWaitForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, id := newOutbox(), newID()
		put(t, o, id, "first")
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("cancelled by a person")
		waiting := make(chan error, 1)
		go func() { waiting <- o.putData(ctx, id, []byte("second")) }()
		synctest.Wait()
		cancel(reason)
		if err := <-waiting; !errors.Is(err, reason) {
			t.Fatal(err)
		}
		if err := o.putData(ctx, newID(), []byte("third")); !errors.Is(err, reason) {
			t.Fatal(err)
		}
		expectJobs(t, o, "first", "nothing")
		if len(o.streams) != 0 {
			t.Fatalf("%d streams are remembered", len(o.streams))
		}
	})
}

func TestEndSendsTheQueuedControlFramesThenTheCloseFrameAndNoData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, id := newOutbox(), newID()
		put(t, o, id, "data")
		o.putControl([]byte("error frame"))
		waiting := make(chan error, 1)
		go func() { waiting <- o.putData(t.Context(), id, []byte("second")) }()
		synctest.Wait()
		o.end(ClosePolicy, "x")
		o.end(CloseNormal, "y")
		if err := <-waiting; !errors.Is(err, errShut) {
			t.Fatal(err)
		}
		if err := o.putControl([]byte("late")); !errors.Is(err, errShut) {
			t.Fatal(err)
		}
		if err := o.putData(t.Context(), newID(), []byte("late")); !errors.Is(err, errShut) {
			t.Fatal(err)
		}
		expectJobs(t, o, "error frame", "close 1008")
		if len(o.streams) != 0 {
			t.Fatalf("%d streams are remembered", len(o.streams))
		}
	})
}

func TestControlQueueIsBoundedInFramesAndInBytes(t *testing.T) {
	o := newOutbox()
	n := 0
	for ; o.putControl([]byte("x")) == nil; n++ {
	}
	if n != maxControlFrames {
		t.Fatalf("%d frames", n)
	}
	o = newOutbox()
	n = 0
	for frame := make([]byte, MaxControlFrame); o.putControl(frame) == nil; n++ {
	}
	if n != maxControlBytes/MaxControlFrame {
		t.Fatalf("%d large frames", n)
	}
	for o.next().kind == jobControl {
	}
	if o.waiting != 0 {
		t.Fatalf("%d bytes are counted in an empty queue", o.waiting)
	}
	if err := o.putControl([]byte("x")); err != nil {
		t.Fatal(err)
	}
}

// Any mix of streams, drops and writes delivers each stream's frames in order, and
// leaves nothing behind.
func TestOutboxKeepsTheOrderOfEachStreamWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOutbox()
		ids := []uuid.UUID{newID(), newID(), newID(), newID()}
		queued := map[uuid.UUID]string{}
		sent := 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			id := rapid.SampledFrom(ids).Draw(t, "stream")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				if _, full := queued[id]; full {
					continue
				}
				sent++
				queued[id] = fmt.Sprint(id, sent)
				if err := o.putData(context.Background(), id, []byte(queued[id])); err != nil {
					t.Fatal(err)
				}
			case 2:
				o.drop(id)
				delete(queued, id)
			case 3:
				j := o.next()
				if j.kind == jobNone {
					if len(queued) > 0 {
						t.Fatalf("%d frames do not come", len(queued))
					}
					continue
				}
				found := false
				for id, text := range queued {
					if text == string(j.payload) {
						delete(queued, id)
						found = true
					}
				}
				if !found {
					t.Fatalf("%q came twice or after a drop", j.payload)
				}
			}
			if len(o.streams) != len(queued) || len(o.ready) != len(queued) {
				t.Fatalf("%d streams, %d ready, %d queued", len(o.streams), len(o.ready), len(queued))
			}
		}
	})
}

func TestProgressTakesThePlaceOfOlderProgressOfItsTransfer(t *testing.T) {
	o := newOutbox()
	one, two := uuid.New(), uuid.New()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(o.putNews(one, []byte("one 1")))
	must(o.putControl([]byte("control")))
	must(o.putNews(two, []byte("two 1")))
	must(o.putNews(one, []byte("one, the second")))
	expectJobs(t, o, "one, the second", "control", "two 1", "nothing")
	must(o.putNews(one, []byte("one 3")))
	for range 10 * maxControlFrames {
		must(o.putNews(two, []byte("two 2")))
	}
	if control, _ := o.backlog(); control != 2 {
		t.Errorf("%d frames are queued, want one a transfer", control)
	}
	expectJobs(t, o, "one 3", "two 2", "nothing")
	if o.waiting != 0 || len(o.news) != 0 {
		t.Errorf("%d bytes and %d transfers are still counted", o.waiting, len(o.news))
	}
}

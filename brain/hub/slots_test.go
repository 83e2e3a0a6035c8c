package hub

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

func oneAtATime(c *Config) { c.MaxConcurrent = 1 }

// awaitState waits until a transfer of that state is told.
func (w *world) awaitState(t *testing.T, state common.TransferState) uuid.UUID {
	t.Helper()
	deadline := time.Now().Add(hubtest.Patience)
	for time.Now().Before(deadline) {
		for _, told := range w.Transfers(acme) {
			if told.State == state {
				return told.TransferID
			}
		}
		time.Sleep(time.Millisecond) // polling: the books tell nobody
	}
	t.Fatalf("no transfer is %s", state)
	return uuid.Nil
}

// onlySlotTaken starts an upload that has the only slot, and a second that waits.
func onlySlotTaken(ctx context.Context, t *testing.T, w *world) (f *hubtest.Foot, id uuid.UUID, first, second <-chan outcome) {
	t.Helper()
	w.dir(t, "in")
	f = w.foot(t, "laptop")
	first = start(t.Context(), w.Upload, upload("in", "a"))
	request := hubtest.Next[*frames.ClientFileUploadRequest](f)
	f.Offer(request, []byte("one"))
	if a := hubtest.Next[*frames.TransferInitResponse](f); !a.Ok {
		t.Fatal(*a.Error)
	}
	second = start(ctx, w.Upload, upload("in", "b"))
	w.awaitState(t, common.TransferStateQueued)
	return f, request.TransferID, first, second
}

func TestATransferBeyondMaxConcurrentWaitsAsQueuedAndNothingOfItIsSent(t *testing.T) {
	w := newWorld(t, oneAtATime)
	f, id, first, second := onlySlotTaken(t.Context(), t, w)
	f.Quiet()
	f.Stream(id, []byte("one"), 3)
	if done := hubtest.Next[*frames.TransferComplete](f); !done.Ok {
		t.Fatal(*done.Error)
	}
	f.Send(&frames.TransferFinish{TransferID: id, Ok: true})
	if o := await(t, first); o.err != nil {
		t.Error(o.err)
	}
	f.Upload([]byte("two"))
	if o := await(t, second); o.err != nil {
		t.Error(o.err)
	}
}

func TestATransferThatWaitsEndsWithItsCall(t *testing.T) {
	w := newWorld(t, oneAtATime)
	ctx, cancel := context.WithCancel(t.Context())
	f, _, _, second := onlySlotTaken(ctx, t, w)
	cancel()
	await(t, second).wantCode(t, common.ErrorCodeCancelled)
	f.Quiet()
}

func TestATransferThatWaitsEndsWithItsConnection(t *testing.T) {
	w := newWorld(t, oneAtATime)
	f, _, first, second := onlySlotTaken(t.Context(), t, w)
	f.Cut()
	await(t, first).wantCode(t, common.ErrorCodeConnectionLost)
	await(t, second).wantCode(t, common.ErrorCodeConnectionLost)
}

func TestATransferThatWaitsIsRefusedByTheDrain(t *testing.T) {
	w := newWorld(t, oneAtATime)
	_, _, first, second := onlySlotTaken(t.Context(), t, w)
	ctx, cancel := context.WithCancel(t.Context())
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		w.Drain(ctx)
	}()
	await(t, second).wantCode(t, common.ErrorCodeDraining)
	cancel()
	await(t, first).wantCode(t, common.ErrorCodeCancelled)
	<-drained
}

func TestEachFootHasItsOwnSlots(t *testing.T) {
	w := newWorld(t, oneAtATime)
	onlySlotTaken(t.Context(), t, w)
	other := w.foot(t, "desktop")
	r := upload("in", "c")
	r.Foot = "desktop"
	done := start(t.Context(), w.Upload, r)
	other.Upload([]byte("three"))
	if o := await(t, done); o.err != nil {
		t.Error(o.err)
	}
}

func noWait() {}

func TestTurnsComeInTheOrderOfTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		if err := s.enter(t.Context(), noWait); err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 5 {
			go func() {
				if err := s.enter(t.Context(), noWait); err != nil {
					t.Error(err)
				}
				order = append(order, i) // one at a time: the slots order it
				s.leave()
			}()
			synctest.Wait()
		}
		s.leave()
		synctest.Wait()
		for i, got := range order {
			if i != got {
				t.Fatalf("the order is %v", order)
			}
		}
		if len(order) != 5 || s.free != 1 {
			t.Errorf("%v had a turn, %d slots are free", order, s.free)
		}
	})
}

func TestTheThousandAndFirstThatWaitsIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		for range 2 {
			if err := s.enter(t.Context(), noWait); err != nil {
				t.Fatal(err)
			}
		}
		ended := make(chan error, maxWaiting)
		for range maxWaiting {
			go func() { ended <- s.enter(t.Context(), noWait) }()
		}
		synctest.Wait()
		if err := s.enter(t.Context(), noWait); fault.CodeOf(err) != common.ErrorCodeLimit {
			t.Errorf("got %v", err)
		}
		if len(ended) != 0 {
			t.Errorf("%d got a turn", len(ended))
		}
		s.close(fault.New(common.ErrorCodeConnectionLost))
		for range maxWaiting {
			if err := <-ended; fault.CodeOf(err) != common.ErrorCodeConnectionLost {
				t.Fatal(err)
			}
		}
	})
}

// Hazard: a call that is cancelled just as its turn comes keeps the slot for ever.
func TestATurnThatComesAsTheCallEndsIsPassedOn(t *testing.T) {
	for range 500 {
		s := newSlots(1)
		if err := s.enter(t.Context(), noWait); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			err := s.enter(ctx, noWait)
			if err == nil {
				s.leave()
			}
			ended <- err
		}()
		go cancel()
		s.leave()
		<-ended
		cancel()
		s.mu.Lock()
		free, waiting := s.free, len(s.waiting)
		s.mu.Unlock()
		if free != 1 || waiting != 0 {
			t.Fatalf("%d slots are free, %d wait", free, waiting)
		}
	}
}

package transfer

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// In these tests the other end is the test itself: it sees every frame and sends
// what it likes.

// outcomeOf runs a call that a tool would make.
type outcomeOf struct {
	done   chan struct{}
	result Result
	err    error
}

func begin(f func() (Result, error)) *outcomeOf {
	o := &outcomeOf{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.result, o.err = f()
	}()
	synctest.Wait()
	return o
}

func (o *outcomeOf) ended() bool {
	synctest.Wait()
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// tell gives a frame to the session and waits until it has settled.
func tell(s *Session, f frames.Frame) error {
	var err error
	switch f := f.(type) {
	case *frames.TransferInit:
		err = s.HandleTransferInit(f)
	case *frames.TransferInitResponse:
		err = s.HandleTransferInitResponse(f)
	case *frames.TransferChunk:
		err = s.HandleTransferChunk(f)
	case *frames.TransferComplete:
		err = s.HandleTransferComplete(f)
	case *frames.TransferFinish:
		err = s.HandleTransferFinish(f)
	case *frames.TransferProgress:
		err = s.HandleTransferProgress(f)
	case *frames.TransferCancel:
		err = s.HandleTransferCancel(f)
	case *frames.ClientFileUploadRequest:
		err = s.HandleClientFileUploadRequest(f)
	}
	synctest.Wait()
	return err
}

func mustTell(t *testing.T, s *Session, all ...frames.Frame) {
	t.Helper()
	for _, f := range all {
		if err := tell(s, f); err != nil {
			t.Fatalf("%s: %v", f.FrameType(), err)
		}
	}
}

// in runs a test in a bubble of fake time, with a session whose peer is the test.
func in(t *testing.T, cfg func(*disk) Config, f func(t *testing.T, s *Session, p *peer, d *disk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d, p := newDisk(), &peer{}
		s := NewSession(p, cfg(d))
		f(t, s, p, d)
		finish(t, s)
		d.check(t)
	})
}

func brainOf(*disk) Config { return brainConfig() }

func receiveFrom(s *Session, d *disk, id uuid.UUID) func() (Result, error) {
	return func() (Result, error) {
		return s.Receive(context.Background(), ReceiveRequest{ID: id, LocalPath: "l", DirName: "d", RemotePath: "f",
			Open: d.accept})
	}
}

func sendOf(ctx context.Context, s *Session, src Source, id uuid.UUID) func() (Result, error) {
	return func() (Result, error) {
		return s.Send(ctx, SendRequest{ID: id, Target: "f", Path: "f", Open: opens(src)})
	}
}

func offerTo(id uuid.UUID, data []byte) *frames.TransferInit {
	f := initFor(id, "f", data)
	f.DirName = ptr("d")
	return f
}

func TestAFootTakesAFile(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		data, id := content(3*chunk+17), uuid.New()
		mustTell(t, s, initFor(id, "a/f", data))
		if r := lastOf[*frames.TransferInitResponse](t, p); !r.Ok || r.Error != nil {
			t.Fatalf("refused: %v", deref(r.Error))
		}
		for _, c := range chunksOf(id, data, chunk) {
			mustTell(t, s, c)
		}
		done := lastOf[*frames.TransferComplete](t, p)
		if !done.Ok || done.BytesWritten != int64(len(data)) || *done.HashCheck != frames.HashCheckOk {
			t.Fatalf("complete: %+v", done)
		}
		d.want(t, "a/f", data)
		if s.Len() != 1 {
			t.Errorf("%d transfers before the finish, want 1", s.Len())
		}
		mustTell(t, s, &frames.TransferFinish{TransferID: id, Ok: true})
		if s.Len() != 0 {
			t.Errorf("%d transfers after the finish, want none", s.Len())
		}
	})
}

// The four phases of the spec's 5.5.

func TestTheSenderStopsWithinOneChunkOfAFailure(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		id, src := uuid.New(), sourceOf(content(50*chunk))
		p.gate = make(chan struct{})
		o := begin(sendOf(t.Context(), s, src, id))
		mustTell(t, s, &frames.TransferInitResponse{TransferID: id, Ok: true})
		p.gate <- struct{}{}
		p.gate <- struct{}{}
		mustTell(t, s, failComplete(id, fault.New(common.ErrorCodeDiskFull), chunk, nil))
		close(p.gate) // whoever still wants to send may
		if !o.ended() {
			t.Fatal("not answered")
		}
		wantCode(t, o.err, common.ErrorCodeDiskFull)
		if n := p.chunks(); n > 3 {
			t.Errorf("%d chunks after the failure", n-2)
		}
		if f := lastOf[*frames.TransferFinish](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeDiskFull {
			t.Errorf("finish: %+v", f)
		}
		sent := p.frames()
		if _, is := sent[len(sent)-1].(*frames.TransferFinish); !is || src.closed != 1 || p.dropped == 0 {
			t.Errorf("the last frame is %s, the source was closed %d times, dropped %d times",
				sent[len(sent)-1].FrameType(), src.closed, p.dropped)
		}
	})
}

func TestAPanickingLinkOrObserverEndsOneTransferAtMost(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		data, id := content(10), uuid.New()
		s.cfg.OnEvent = func(Event) { panic("observer") }
		mustTell(t, s, initFor(id, "f", data), chunksOf(id, data, chunk)[0])
		d.want(t, "f", data)

		p.panics = true
		lost := uuid.New()
		mustTell(t, s, initFor(lost, "g", data))
		if s.Len() != 1 {
			t.Errorf("%d in the map, want the first alone", s.Len())
		}
		p.panics = false
		d.check2(t, 0)
	})
}

func TestEmptyAndExactFiles(t *testing.T) {
	for _, n := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2*chunk + 1} {
		for _, extra := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, extra empty last chunk %v", n, extra), func(t *testing.T) {
				in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
					data, id := content(n), uuid.New()
					mustTell(t, s, initFor(id, "f", data))
					all := chunksOf(id, data, chunk)
					if extra {
						all[len(all)-1].Last = false
						all = append(all, &frames.TransferChunk{TransferID: id, Seq: int64(len(all)), Last: true})
					}
					for _, c := range all {
						mustTell(t, s, c)
					}
					if f := lastOf[*frames.TransferComplete](t, p); !f.Ok || f.BytesWritten != int64(n) {
						t.Errorf("complete: %+v %v", f, deref(f.Error))
					}
					d.want(t, "f", data)
				})
			})
		}
	}
}

func TestTheCauseOfTheContextIsTheFailure(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		ctx, cancel := context.WithCancelCause(context.Background())
		o := begin(sendOf(ctx, s, sourceOf(content(5)), uuid.New()))
		cancel(fault.New(common.ErrorCodeAccessDenied))
		if !o.ended() {
			t.Fatal("not answered")
		}
		wantCode(t, o.err, common.ErrorCodeAccessDenied)
		if f := lastOf[*frames.TransferFinish](t, p); *f.ErrorCode != common.ErrorCodeAccessDenied {
			t.Errorf("finish: %+v", f)
		}
	})
}

func TestALostConnectionEndsEverythingAtOnceAndInSilence(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		data, up, down := content(4*chunk), uuid.New(), uuid.New()
		p.gate = make(chan struct{})
		start := time.Now()
		receiving := begin(receiveFrom(s, d, up))
		sending := begin(sendOf(t.Context(), s, sourceOf(data), down))
		waiting := begin(receiveFrom(s, d, uuid.New()))
		mustTell(t, s, offerTo(up, data), chunksOf(up, data, chunk)[0], &frames.TransferInitResponse{TransferID: down, Ok: true})
		before := len(p.frames())
		s.Close(nil)
		for _, o := range []*outcomeOf{receiving, sending, waiting} {
			<-o.done
			wantCode(t, o.err, common.ErrorCodeConnectionLost)
		}
		if time.Since(start) != 0 {
			t.Errorf("it took %v", time.Since(start))
		}
		if after := len(p.frames()); after != before || s.Len() != 0 {
			t.Errorf("%d frames after the end, %d in the map", after-before, s.Len())
		}
		d.check(t)
		_, err := s.Send(t.Context(), SendRequest{ID: uuid.New(), Open: opens(sourceOf(data))})
		wantCode(t, err, common.ErrorCodeConnectionLost)
	})
}

func TestALinkThatFailsIsALostConnection(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		p.broken = errBoom
		o := begin(sendOf(t.Context(), s, sourceOf(content(5)), uuid.New()))
		if !o.ended() {
			t.Fatal("not answered")
		}
		wantCode(t, o.err, common.ErrorCodeConnectionLost)
	})
}

func TestEventsTellEveryStateAndFourTimesASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p := newDisk(), &peer{}
		var events []Event
		cfg := footConfig(d)
		cfg.OnEvent = func(e Event) { events = append(events, e) }
		s := NewSession(p, cfg)
		data, id := content(100*1024), uuid.New()
		mustTell(t, s, initFor(id, "f", data))
		for _, c := range chunksOf(id, data, 1024) {
			time.Sleep(20 * time.Millisecond) // 2 s in all
			mustTell(t, s, c)
		}
		finish(t, s)
		var states []State
		progress := 0
		for i, e := range events {
			if e.ID != id || e.Direction != Download || e.Path != "f" {
				t.Fatalf("event %+v", e)
			}
			if i == 0 || e.State != events[i-1].State {
				states = append(states, e.State)
			} else {
				progress++
			}
			if i > 0 && e.Bytes < events[i-1].Bytes {
				t.Error("the bytes run backwards")
			}
		}
		if got := fmt.Sprint(states); got != "[hashing streaming verifying complete]" {
			t.Errorf("the states are %v", got)
		}
		if progress < 5 || progress > 8 {
			t.Errorf("%d events of progress in 2 s", progress)
		}
		if last := events[len(events)-1]; last.Bytes != int64(len(data)) || last.TotalBytes != int64(len(data)) {
			t.Errorf("the last event: %+v", last)
		}
	})
}

func TestAFailedTransferTellsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last Event
		cfg := brainConfig()
		cfg.OnEvent = func(e Event) { last = e }
		s := NewSession(&peer{}, cfg)
		o := begin(func() (Result, error) {
			return s.Send(t.Context(), SendRequest{ID: uuid.New(), Path: "x/y", Open: func(context.Context) (*Outgoing, error) {
				return nil, fault.New(common.ErrorCodeNotFound)
			}})
		})
		if !o.ended() || last.State != StateFailed || last.Err == nil || last.Err.Code != common.ErrorCodeNotFound || last.Path != "x/y" {
			t.Errorf("the last event is %+v", last)
		}
		finish(t, s)
	})
}

func TestDrainingLetsRunningTransfersEndAndCancelsTheRest(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		data, good, stuck := content(2*chunk), uuid.New(), uuid.New()
		mustTell(t, s, initFor(good, "good", data), initFor(stuck, "stuck", data))
		drained := make(chan struct{})
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		start := time.Now()
		go func() { s.Drain(ctx, "it stops"); close(drained) }()
		synctest.Wait()
		mustTell(t, s, initFor(uuid.New(), "late", data))
		if f := lastOf[*frames.TransferInitResponse](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeDraining {
			t.Errorf("a new one while draining: %+v", f)
		}
		for _, c := range chunksOf(good, data, chunk) {
			mustTell(t, s, c)
		}
		<-drained
		if time.Since(start) != 5*time.Second {
			t.Errorf("it took %v", time.Since(start))
		}
		d.want(t, "good", data)
		f := lastOf[*frames.TransferComplete](t, p)
		if f.TransferID != stuck || f.Ok || *f.ErrorCode != common.ErrorCodeCancelled || *f.Error != "cancelled: it stops" {
			t.Errorf("the stuck one: %+v", f)
		}
	})
}

func TestCancelEndsOneTransferById(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		mustTell(t, s, initFor(id, "f", content(5)))
		if s.Cancel(uuid.New(), fault.New(common.ErrorCodeCancelled)) {
			t.Error("an unknown one was cancelled")
		}
		if !s.Cancel(id, fault.New(common.ErrorCodeCancelled)) {
			t.Error("it is unknown")
		}
		synctest.Wait()
		if f := lastOf[*frames.TransferComplete](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeCancelled {
			t.Errorf("complete: %+v", f)
		}
	})
}

func TestAnAnswerMayComeBeforeTheLinkReturns(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		p.onLast = func() {
			if err := s.HandleTransferComplete(&frames.TransferComplete{TransferID: id, Ok: true, BytesWritten: 5}); err != nil {
				t.Error(err)
			}
		}
		o := begin(sendOf(t.Context(), s, sourceOf(content(5)), id))
		mustTell(t, s, &frames.TransferInitResponse{TransferID: id, Ok: true})
		if !o.ended() || o.err != nil {
			t.Errorf("the outcome is %v", o.err)
		}
	})
}

func TestAChunkThatWasQueuedWhileStoppingIsDropped(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		p.gate, p.deaf = make(chan struct{}), true
		o := begin(sendOf(t.Context(), s, sourceOf(content(9*chunk)), id))
		mustTell(t, s, &frames.TransferInitResponse{TransferID: id, Ok: true})
		s.Cancel(id, fault.New(common.ErrorCodeCancelled))
		synctest.Wait()
		if countOf[*frames.TransferFinish](p) != 0 {
			t.Fatal("the finish does not wait for the chunk on its way")
		}
		p.gate <- struct{}{} // the chunk on its way enters the queue after all
		if !o.ended() {
			t.Fatal("not answered")
		}
		if p.behind != 0 || p.chunks() != 1 {
			t.Errorf("%d chunks are still queued behind the finish", p.behind)
		}
	})
}

func TestATransferThatIsCancelledBeforeItBeginsSendsNothing(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := s.Send(ctx, SendRequest{ID: uuid.New(), Open: opens(sourceOf(nil))})
		wantCode(t, err, common.ErrorCodeCancelled)
		if len(p.frames()) != 0 {
			t.Errorf("sent %v", p.types())
		}
	})
}

func TestAFrameThatCannotBeSentFailsItsTransferAlone(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		p.broken = fault.New(common.ErrorCodeInternal)
		o := begin(sendOf(t.Context(), s, sourceOf(content(5)), uuid.New()))
		if !o.ended() {
			t.Fatal("not answered")
		}
		wantCode(t, o.err, common.ErrorCodeInternal)
	})
}

package transfer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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

func TestPhase1NoInitResponseIsInitTimeout(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		start := time.Now()
		o := begin(sendOf(t.Context(), s, sourceOf(content(10)), uuid.New()))
		<-o.done
		wantCode(t, o.err, common.ErrorCodeInitTimeout)
		if took := time.Since(start); took != phase {
			t.Errorf("it took %v, want %v", took, phase)
		}
		f := lastOf[*frames.TransferFinish](t, p)
		wantText(t, f.Error, "init timeout")
		if f.Ok || s.Len() != 0 {
			t.Errorf("finish ok %v, %d in the map", f.Ok, s.Len())
		}
	})
}

func TestPhase2NoChunkIsChunkTimeout(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		d.files["f"] = []byte("old")
		data, id := content(3*chunk), uuid.New()
		mustTell(t, s, initFor(id, "f", data))
		all := chunksOf(id, data, chunk)
		mustTell(t, s, all[0])
		time.Sleep(phase - time.Second)
		mustTell(t, s, all[1]) // a chunk in time begins the phase anew
		time.Sleep(phase - time.Second)
		synctest.Wait()
		if countOf[*frames.TransferComplete](p) != 0 {
			t.Fatal("it timed out though chunks came")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		f := lastOf[*frames.TransferComplete](t, p)
		wantText(t, f.Error, "chunk timeout")
		if f.Ok || *f.ErrorCode != common.ErrorCodeChunkTimeout || s.Len() != 0 {
			t.Errorf("complete %+v, %d in the map", f, s.Len())
		}
		d.check(t)
		d.want(t, "f", []byte("old"))
		// One answer, then silence.
		time.Sleep(10 * cleanup)
		mustTellQuietly(t, s, p, all[2])
		if n := countOf[*frames.TransferComplete](p); n != 1 {
			t.Errorf("%d answers, want 1", n)
		}
	})
}

func mustTellQuietly(t *testing.T, s *Session, p *peer, f frames.Frame) {
	t.Helper()
	before := len(p.frames())
	_ = tell(s, f) // whether it is late or unknown by now is another test
	if after := len(p.frames()); after != before {
		t.Errorf("%s made the session send %d frames", f.FrameType(), after-before)
	}
}

func TestPhase3NoCompleteIsCompleteTimeout(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		o := begin(sendOf(t.Context(), s, sourceOf(content(chunk+1)), id))
		mustTell(t, s, &frames.TransferInitResponse{TransferID: id, Ok: true})
		if p.chunks() != 2 {
			t.Fatalf("%d chunks, want 2", p.chunks())
		}
		<-o.done
		wantCode(t, o.err, common.ErrorCodeCompleteTimeout)
		f := lastOf[*frames.TransferFinish](t, p)
		wantText(t, f.Error, "complete timeout")
		if s.Len() != 0 {
			t.Errorf("%d in the map", s.Len())
		}
	})
}

func TestPhase4ALostFinishEmptiesTheMapAndKeepsTheFile(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		data, id := content(chunk), uuid.New()
		mustTell(t, s, initFor(id, "f", data))
		mustTell(t, s, chunksOf(id, data, chunk)[0])
		if !lastOf[*frames.TransferComplete](t, p).Ok {
			t.Fatal("it failed")
		}
		time.Sleep(cleanup)
		synctest.Wait()
		if s.Len() != 0 {
			t.Errorf("%d in the map after the sweep", s.Len())
		}
		d.want(t, "f", data)
		if n := len(p.frames()); n != 2 {
			t.Errorf("%d frames were sent, want the two answers", n)
		}
	})
}

func TestAnUnansweredUploadRequestIsInitTimeout(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		start := time.Now()
		o := begin(receiveFrom(s, d, uuid.New()))
		<-o.done
		wantCode(t, o.err, common.ErrorCodeInitTimeout)
		if time.Since(start) != phase || s.Len() != 0 {
			t.Errorf("after %v, %d in the map", time.Since(start), s.Len())
		}
	})
}

func TestBrainAnswersBeforeTheFinish(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		data, id := content(100), uuid.New()
		o := begin(receiveFrom(s, d, id))
		req := lastOf[*frames.ClientFileUploadRequest](t, p)
		if req.LocalPath != "l" || req.DirName != "d" || req.RemotePath != "f" || req.TransferID != id {
			t.Fatalf("request: %+v", req)
		}
		mustTell(t, s, offerTo(id, data))
		mustTell(t, s, chunksOf(id, data, chunk)[0])
		if !o.ended() || o.err != nil {
			t.Fatalf("not answered: %v", o.err)
		}
		if o.result.BytesWritten != 100 || o.result.Hash != sumOf(data) || o.result.Path != "f" || o.result.ID != id {
			t.Errorf("result: %+v", o.result)
		}
		d.check(t) // staging and hold are gone when the tool hears
	})
}

func TestALocalFailureAtTheFootEndsTheUpload(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		o := begin(receiveFrom(s, d, id))
		mustTell(t, s, failFinish(id, fault.New(common.ErrorCodeNotFound)))
		if !o.ended() {
			t.Fatal("not answered")
		}
		wantCode(t, o.err, common.ErrorCodeNotFound)
		if s.Len() != 0 || len(p.frames()) != 1 {
			t.Errorf("%d in the map, sent %v", s.Len(), p.types())
		}
	})
}

func TestAnUploadRequestThatCannotBeServedIsAFinishAndNothingElse(t *testing.T) {
	for name, serve := range map[string]func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error){
		"not found": func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error) {
			return nil, fault.New(common.ErrorCodeNotFound)
		},
		"too large": func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error) {
			src := sourceOf(nil)
			src.size, src.readErr = 1<<40, errors.New("read before the size was judged")
			return &Outgoing{Source: src}, nil
		},
		"unreadable": func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error) {
			src := sourceOf(content(10))
			src.readErr = fault.New(common.ErrorCodePermissionDenied)
			return &Outgoing{Source: src}, nil
		},
		"panics": func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error) { panic("serve") },
	} {
		want := map[string]common.ErrorCode{"not found": common.ErrorCodeNotFound, "too large": common.ErrorCodeSizeLimit,
			"unreadable": common.ErrorCodePermissionDenied, "panics": common.ErrorCodeInternal}[name]
		t.Run(name, func(t *testing.T) {
			in(t, func(d *disk) Config { c := footConfig(d); c.Serve = serve; return c },
				func(t *testing.T, s *Session, p *peer, d *disk) {
					mustTell(t, s, &frames.ClientFileUploadRequest{TransferID: uuid.New(), LocalPath: "l", DirName: "d", RemotePath: "r"})
					f := lastOf[*frames.TransferFinish](t, p)
					if f.Ok || *f.ErrorCode != want || f.Error == nil || len(p.frames()) != 1 || s.Len() != 0 {
						t.Errorf("finish %v %v, sent %v, %d in the map", f.Ok, deref(f.ErrorCode), p.types(), s.Len())
					}
				})
		})
	}
}

func TestAnUploadOffersThePlaceThatWasAskedFor(t *testing.T) {
	src := sourceOf(content(5))
	serve := func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error) {
		return &Outgoing{Source: src, Name: "l.txt"}, nil
	}
	in(t, func(d *disk) Config { c := footConfig(d); c.Serve = serve; return c },
		func(t *testing.T, s *Session, p *peer, d *disk) {
			mustTell(t, s, &frames.ClientFileUploadRequest{TransferID: uuid.New(), LocalPath: "l", DirName: "d",
				RemotePath: "a/../r", Attrs: &common.FileAttrs{Mode: ptr("0600")}})
			f := lastOf[*frames.TransferInit](t, p)
			if f.Target != "a/../r" || *f.DirName != "d" || *f.Source != "l.txt" || f.TotalSize != 5 || *f.Hash != sumOf(src.data) {
				t.Errorf("init: %+v", f)
			}
			if *f.Attrs.Mode != "0600" || !f.Attrs.Mtime.Equal(src.ModTime()) || f.Attrs.Mtime.Location() != time.UTC {
				t.Errorf("attrs: %v %v", *f.Attrs.Mode, f.Attrs.Mtime)
			}
		})
}

func TestAttributesOfTheToolWinOverThoseInTheInit(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		id, data := uuid.New(), content(3)
		var got *frames.TransferInit
		o := begin(func() (Result, error) {
			return s.Receive(t.Context(), ReceiveRequest{ID: id, LocalPath: "l", DirName: "d", RemotePath: "a/../f",
				Attrs: &common.FileAttrs{Mode: ptr("0600")},
				Open: func(ctx context.Context, init *frames.TransferInit) (*Incoming, error) {
					got = init
					return d.accept(ctx, init)
				}})
		})
		offer := offerTo(id, data) // spells the path another way
		offer.Attrs = &common.FileAttrs{Mode: ptr("0755"), Mtime: ptr(time.Unix(1, 0).UTC())}
		mustTell(t, s, offer, chunksOf(id, data, chunk)[0])
		if !o.ended() || o.err != nil {
			t.Fatal(o.err)
		}
		if *got.Attrs.Mode != "0600" || got.Attrs.Mtime.Unix() != 1 || got.Target != "a/../f" {
			t.Errorf("opened with %v %v at %s", *got.Attrs.Mode, got.Attrs.Mtime, got.Target)
		}
	})
}

func TestAnInitNobodyAskedForAtBrainIsUnknown(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		mustTell(t, s, offerTo(uuid.New(), content(1)))
		f := lastOf[*frames.TransferInitResponse](t, p)
		if f.Ok || *f.ErrorCode != common.ErrorCodeUnknownTransfer || s.Len() != 0 {
			t.Errorf("response: %+v, %d in the map", f, s.Len())
		}
	})
}

func TestFramesOfAnUnknownIdAreAnErrorWithoutEffect(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		for _, f := range []frames.Frame{&frames.TransferInitResponse{TransferID: id, Ok: true},
			&frames.TransferChunk{TransferID: id}, &frames.TransferComplete{TransferID: id, Ok: true},
			&frames.TransferFinish{TransferID: id, Ok: true}} {
			wantCode(t, tell(s, f), common.ErrorCodeUnknownTransfer)
		}
		if len(p.frames()) != 0 || s.Len() != 0 {
			t.Errorf("sent %v, %d in the map", p.types(), s.Len())
		}
	})
}

func TestADuplicateInitLeavesTheFirstUntouched(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		data, id := content(2*chunk), uuid.New()
		all := chunksOf(id, data, chunk)
		mustTell(t, s, initFor(id, "f", data), all[0])
		mustTell(t, s, initFor(id, "other", content(5)))
		f := lastOf[*frames.TransferInitResponse](t, p)
		wantText(t, f.Error, "duplicate transferId")
		mustTell(t, s, all[1])
		if !lastOf[*frames.TransferComplete](t, p).Ok {
			t.Fatal("the first failed")
		}
		d.want(t, "f", data)
		mustTell(t, s, &frames.TransferFinish{TransferID: id, Ok: true})
		// The id of an ended one is a duplicate too, as long as it is remembered.
		mustTell(t, s, initFor(id, "g", data))
		wantText(t, lastOf[*frames.TransferInitResponse](t, p).Error, "duplicate transferId")
		time.Sleep(cleanup + time.Second)
		mustTell(t, s, initFor(id, "g", data))
		if !lastOf[*frames.TransferInitResponse](t, p).Ok {
			t.Error("the id is remembered for too long")
		}
	})
}

func TestADuplicateUploadRequestLeavesTheFirstUntouched(t *testing.T) {
	serve := func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error) {
		return &Outgoing{Source: sourceOf(content(5))}, nil
	}
	in(t, func(d *disk) Config { c := footConfig(d); c.Serve = serve; return c },
		func(t *testing.T, s *Session, p *peer, d *disk) {
			req := &frames.ClientFileUploadRequest{TransferID: uuid.New(), LocalPath: "l", DirName: "d", RemotePath: "r"}
			mustTell(t, s, req)
			wantCode(t, tell(s, req), common.ErrorCodeDuplicateTransfer)
			if n := len(p.frames()); n != 1 {
				t.Errorf("sent %v, want the one init", p.types())
			}
			mustTell(t, s, &frames.TransferInitResponse{TransferID: req.TransferID, Ok: true})
			mustTell(t, s, &frames.TransferComplete{TransferID: req.TransferID, Ok: true, BytesWritten: 5})
			if !lastOf[*frames.TransferFinish](t, p).Ok {
				t.Error("the first failed")
			}
			mustTell(t, s, req)
			if f := lastOf[*frames.TransferFinish](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeDuplicateTransfer {
				t.Errorf("finish of the repeated request: %+v", f)
			}
		})
}

func TestReplayAfterCompletionChangesNothing(t *testing.T) {
	for _, finished := range []bool{false, true} {
		t.Run(fmt.Sprintf("finished=%v", finished), func(t *testing.T) {
			in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
				data, id := content(3*chunk), uuid.New()
				mustTell(t, s, initFor(id, "f", data))
				for _, c := range chunksOf(id, data, chunk) {
					mustTell(t, s, c)
				}
				if finished {
					mustTell(t, s, &frames.TransferFinish{TransferID: id, Ok: true})
				}
				before := len(p.frames())
				for _, c := range chunksOf(id, data, chunk) {
					mustTell(t, s, c)
				}
				mustTell(t, s, failFinish(id, fault.New(common.ErrorCodeCancelled)))
				if after := len(p.frames()); after != before {
					t.Errorf("%d answers to late frames", after-before)
				}
				d.want(t, "f", data)
			})
		})
	}
}

func TestASecondOKStartsNoSecondStream(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		id, data := uuid.New(), content(4*chunk)
		p.gate = make(chan struct{})
		o := begin(sendOf(t.Context(), s, sourceOf(data), id))
		ok := &frames.TransferInitResponse{TransferID: id, Ok: true}
		mustTell(t, s, ok)
		p.gate <- struct{}{}
		wantCode(t, tell(s, ok), common.ErrorCodeUnknownTransfer)
		for range 3 {
			p.gate <- struct{}{}
		}
		synctest.Wait()
		var got []byte
		for _, f := range p.frames() {
			if c, is := f.(*frames.TransferChunk); is {
				if c.Seq != int64(len(got)/chunk) {
					t.Fatalf("seq %d after %d bytes", c.Seq, len(got))
				}
				got = append(got, c.Bytes...)
			}
		}
		if sumOf(got) != sumOf(data) {
			t.Error("the stream has another digest")
		}
		mustTell(t, s, &frames.TransferComplete{TransferID: id, Ok: true, BytesWritten: int64(len(data)), HashCheck: ptr(frames.HashCheckOk)})
		if !o.ended() || o.err != nil {
			t.Error(o.err)
		}
	})
}

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

func TestFalseSuccessFailsTheTransfer(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		p.gate = make(chan struct{})
		o := begin(sendOf(t.Context(), s, sourceOf(content(5*chunk)), id))
		mustTell(t, s, &frames.TransferInitResponse{TransferID: id, Ok: true})
		mustTell(t, s, &frames.TransferComplete{TransferID: id, Ok: true, BytesWritten: 5 * chunk})
		if !o.ended() {
			t.Fatal("not answered")
		}
		wantCode(t, o.err, common.ErrorCodeSizeMismatch)
		if f := lastOf[*frames.TransferFinish](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeSizeMismatch {
			t.Errorf("finish: %+v", f)
		}
	})
}

func TestAFinishWhileStreamingRemovesTheStaging(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		d.files["f"] = []byte("old")
		data, id := content(3*chunk), uuid.New()
		mustTell(t, s, initFor(id, "f", data), chunksOf(id, data, chunk)[0])
		mustTell(t, s, failFinish(id, fault.New(common.ErrorCodeCancelled)))
		d.check(t)
		d.want(t, "f", []byte("old"))
		if s.Len() != 0 || countOf[*frames.TransferComplete](p) != 0 {
			t.Errorf("%d in the map, sent %v", s.Len(), p.types())
		}
	})
}

func TestTheSourceIsComparedBeforeAndAfter(t *testing.T) {
	for look, name := range map[int]string{1: "after the hash", 2: "before the last chunk"} {
		t.Run(name, func(t *testing.T) {
			in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
				id, src := uuid.New(), sourceOf(content(2*chunk))
				src.changed, src.changeAt = fault.New(common.ErrorCodeSourceChanged), look
				o := begin(sendOf(t.Context(), s, src, id))
				if look > 1 {
					mustTell(t, s, &frames.TransferInitResponse{TransferID: id, Ok: true})
					f := lastOf[*frames.TransferFinish](t, p)
					wantText(t, f.Error, "source changed during transfer")
					if p.chunks() != 1 {
						t.Errorf("%d chunks, want all but the last", p.chunks())
					}
				}
				if !o.ended() {
					t.Fatal("not answered")
				}
				wantCode(t, o.err, common.ErrorCodeSourceChanged)
			})
		})
	}
}

func TestAFileThatShrinksIsASourceThatChanged(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		src := sourceOf(content(100))
		src.size = 101
		o := begin(sendOf(t.Context(), s, src, uuid.New()))
		if !o.ended() {
			t.Fatal("not answered")
		}
		wantCode(t, o.err, common.ErrorCodeSourceChanged)
		if len(p.frames()) != 0 {
			t.Errorf("sent %v before the offer", p.types())
		}
	})
}

func TestEachFailureLeavesTheOldFileWhole(t *testing.T) {
	data := content(3*chunk + 1)
	other := content(3*chunk + 2)
	full := fault.New(common.ErrorCodeDiskFull)
	cases := map[string]struct {
		disk func(*disk)
		send func(id uuid.UUID) []frames.Frame
		code common.ErrorCode
	}{
		"disk full at the first write":  {disk: func(d *disk) { d.failWrite = full }, code: common.ErrorCodeDiskFull},
		"disk full at the second write": {disk: func(d *disk) { d.failWrite, d.failAt = full, 1 }, code: common.ErrorCodeDiskFull},
		"a short write":                 {disk: func(d *disk) { d.shortWrite = true }, code: common.ErrorCodeDiskFull},
		"a write that panics":           {disk: func(d *disk) { d.panics = "write" }, code: common.ErrorCodeInternal},
		"a sync that fails":             {disk: func(d *disk) { d.failPublish = full }, code: common.ErrorCodeDiskFull},
		"a publication that panics":     {disk: func(d *disk) { d.panics = "publish" }, code: common.ErrorCodeInternal},
		"an unknown error":              {disk: func(d *disk) { d.failWrite = errBoom }, code: common.ErrorCodeInternal},
		"another digest": {send: func(id uuid.UUID) []frames.Frame {
			out := []frames.Frame{initFor(id, "f", data)}
			for _, c := range chunksOf(id, other[:len(data)], chunk) {
				out = append(out, c)
			}
			return out
		}, code: common.ErrorCodeHashMismatch},
		"a chunk left out": {send: func(id uuid.UUID) []frames.Frame {
			all := chunksOf(id, data, chunk)
			return []frames.Frame{initFor(id, "f", data), all[0], all[2]}
		}, code: common.ErrorCodeOutOfOrder},
		"a chunk twice": {send: func(id uuid.UUID) []frames.Frame {
			return []frames.Frame{initFor(id, "f", data), chunksOf(id, data, chunk)[0], chunksOf(id, data, chunk)[0]}
		}, code: common.ErrorCodeOutOfOrder},
		"a short last": {send: func(id uuid.UUID) []frames.Frame {
			return []frames.Frame{initFor(id, "f", data), &frames.TransferChunk{TransferID: id, Bytes: data[:9], Last: true}}
		}, code: common.ErrorCodeSizeMismatch},
		"too much": {send: func(id uuid.UUID) []frames.Frame {
			out := []frames.Frame{initFor(id, "f", data)}
			for _, c := range chunksOf(id, other, chunk) {
				out = append(out, c)
			}
			return out
		}, code: common.ErrorCodeSizeExceeded},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
				d.files["f"] = []byte("old")
				if c.disk != nil {
					c.disk(d)
				}
				id := uuid.New()
				sending := []frames.Frame{initFor(id, "f", data)}
				for _, f := range chunksOf(id, data, chunk) {
					sending = append(sending, f)
				}
				if c.send != nil {
					sending = c.send(id)
				}
				mustTell(t, s, sending...) // what comes after the failure is late, not wrong
				f := lastOf[*frames.TransferComplete](t, p)
				if f.Ok || *f.ErrorCode != c.code || f.Error == nil || countOf[*frames.TransferComplete](p) != 1 {
					t.Errorf("complete %v %v, %d of them", f.Ok, deref(f.ErrorCode), countOf[*frames.TransferComplete](p))
				}
				if c.code == common.ErrorCodeHashMismatch && *f.HashCheck != frames.HashCheckMismatch {
					t.Error("hashCheck does not say mismatch")
				}
				d.check(t)
				d.want(t, "f", []byte("old"))
				if s.Len() != 0 {
					t.Errorf("%d in the map", s.Len())
				}
			})
		})
	}
}

func TestAPlaceThatPanicsRefusesItsInitAlone(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		id, good := uuid.New(), uuid.New()
		data := content(10)
		mustTell(t, s, initFor(good, "good", data))
		d.panics = "open"
		mustTell(t, s, initFor(id, "f", data))
		if f := lastOf[*frames.TransferInitResponse](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeInternal {
			t.Errorf("response: %+v", f)
		}
		d.panics = ""
		mustTell(t, s, chunksOf(good, data, chunk)[0])
		d.want(t, "good", data)
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

// check2 is check for a moment when transfers may run.
func (d *disk) check2(t *testing.T, staged int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.staged != staged {
		t.Errorf("%d staging files, want %d", d.staged, staged)
	}
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

func TestCancellingAnUploadBeforeItsInitRefusesIt(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		ctx, cancel := context.WithCancel(context.Background())
		o := begin(func() (Result, error) {
			return s.Receive(ctx, ReceiveRequest{ID: id, LocalPath: "l", DirName: "d", RemotePath: "f", Open: d.accept})
		})
		cancel()
		if !o.ended() {
			t.Fatal("not answered")
		}
		wantCode(t, o.err, common.ErrorCodeCancelled)
		mustTell(t, s, offerTo(id, content(5)))
		f := lastOf[*frames.TransferInitResponse](t, p)
		wantText(t, f.Error, "cancelled")
		if f.Ok || s.Len() != 0 {
			t.Errorf("ok %v, %d in the map", f.Ok, s.Len())
		}
	})
}

func TestACancelledUploadThatNeverBeginsLeavesTheMap(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		ctx, cancel := context.WithCancel(context.Background())
		o := begin(func() (Result, error) {
			return s.Receive(ctx, ReceiveRequest{ID: uuid.New(), LocalPath: "l", DirName: "d", RemotePath: "f", Open: d.accept})
		})
		cancel()
		<-o.done
		time.Sleep(phase)
		synctest.Wait()
		if s.Len() != 0 {
			t.Errorf("%d in the map", s.Len())
		}
	})
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

func TestAHangingDiskFailsItsTransferByThePhaseTimeout(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		d.stall = make(chan struct{})
		data, id := content(3*chunk), uuid.New()
		mustTell(t, s, initFor(id, "f", data), chunksOf(id, data, chunk)[0])
		time.Sleep(phase + stopGrace)
		synctest.Wait()
		f := lastOf[*frames.TransferComplete](t, p)
		if f.Ok || *f.ErrorCode != common.ErrorCodeChunkTimeout || s.Len() != 0 {
			t.Errorf("complete %v %v, %d in the map", f.Ok, deref(f.Error), s.Len())
		}
		d.check2(t, 1)
		close(d.stall) // the disk comes back: the worker clears away
		synctest.Wait()
		d.check(t)
		d.want(t, "f", nil)
	})
}

func TestAHangingSyncFailsItsTransferAndNeverPublishes(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		d.stallSync = make(chan struct{})
		data, id := content(chunk), uuid.New()
		mustTell(t, s, initFor(id, "f", data), chunksOf(id, data, chunk)[0])
		time.Sleep(phase + stopGrace)
		synctest.Wait()
		if f := lastOf[*frames.TransferComplete](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeCompleteTimeout {
			t.Errorf("complete: %+v", f)
		}
		close(d.stallSync)
		synctest.Wait()
		d.want(t, "f", nil)
	})
}

func TestACancelThatComesAfterTheRenameIsTooLate(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		d.stallDone = make(chan struct{})
		data, id := content(chunk), uuid.New()
		ctx, cancel := context.WithCancel(context.Background())
		o := begin(func() (Result, error) {
			return s.Receive(ctx, ReceiveRequest{ID: id, LocalPath: "l", DirName: "d", RemotePath: "f", Open: d.accept})
		})
		mustTell(t, s, offerTo(id, data), chunksOf(id, data, chunk)[0])
		cancel()
		synctest.Wait()
		close(d.stallDone)
		if !o.ended() || o.err != nil {
			t.Errorf("the file is there, the answer is %v", o.err)
		}
		if !lastOf[*frames.TransferComplete](t, p).Ok {
			t.Error("the peer was told of a failure")
		}
		d.want(t, "f", data)
	})
}

func TestAHangingDiskStopsTheReaderAndHarmsNobodyElse(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		healthy := newDisk()
		s.cfg.Accept = func(ctx context.Context, init *frames.TransferInit) (*Incoming, error) {
			if init.Target == "slow" {
				return d.accept(ctx, init)
			}
			return healthy.accept(ctx, init)
		}
		slow, quick := uuid.New(), uuid.New()
		big, small := content(12<<20), content(2*chunk)
		d.stall = make(chan struct{})
		mustTell(t, s, initFor(quick, "quick", small), initFor(slow, "slow", big))
		mustTell(t, s, chunksOf(quick, small, chunk)[0])
		time.Sleep(20 * time.Second)
		// The reading goroutine: all of the slow one, then the rest of the quick one.
		read := make(chan struct{})
		go func() {
			defer close(read)
			for _, c := range chunksOf(slow, big, chunk) {
				if err := s.HandleTransferChunk(c); err != nil {
					t.Error(err)
				}
			}
			if err := s.HandleTransferChunk(chunksOf(quick, small, chunk)[1]); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		s.budget.mu.Lock()
		held, waiting := s.budget.held, !s.budget.waitingSince.IsZero()
		s.budget.mu.Unlock()
		if held > unwrittenLimit || held < unwrittenLimit/2 || !waiting {
			t.Errorf("%d unwritten bytes are held, the reader waits: %v", held, waiting)
		}
		// The quick one's last chunk came 20 s ago, so its time ends before the
		// slow one's: it must not pay for the reader that stands still.
		<-read
		synctest.Wait()
		healthy.want(t, "quick", small)
		time.Sleep(stopGrace)
		synctest.Wait()
		var failed *frames.TransferComplete
		for _, f := range p.frames() {
			if c, is := f.(*frames.TransferComplete); is && c.TransferID == slow {
				failed = c
			}
		}
		if failed == nil || failed.Ok || *failed.ErrorCode != common.ErrorCodeChunkTimeout {
			t.Errorf("the slow one: %+v", failed)
		}
		close(d.stall)
		synctest.Wait()
		healthy.check(t)
	})
}

func TestClosingFreesAReaderThatWaits(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		d.stall = make(chan struct{})
		id, big := uuid.New(), content(12<<20)
		mustTell(t, s, initFor(id, "slow", big))
		read := make(chan struct{})
		go func() {
			defer close(read)
			for _, c := range chunksOf(id, big, chunk) {
				_ = s.HandleTransferChunk(c) // of a session that is being closed
			}
		}()
		synctest.Wait()
		s.Close(nil)
		<-read
		close(d.stall)
	})
}

func TestTheMemoryOfEveryChunkIsGivenBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p := newDisk(), &peer{}
		given := map[*byte]int{}
		cfg := footConfig(d)
		var lock = make(chan struct{}, 1)
		cfg.Release = func(b []byte) {
			lock <- struct{}{}
			given[&b[:1][0]]++
			<-lock
		}
		s := NewSession(p, cfg)
		data := content(4 * chunk)
		feed := func(id uuid.UUID, all []*frames.TransferChunk) (n int) {
			for _, c := range all {
				_ = tell(s, c) // rejected or not, its memory comes back
				n++
			}
			return n
		}
		total := 0
		good, gap, unknown := uuid.New(), uuid.New(), uuid.New()
		mustTell(t, s, initFor(good, "good", data), initFor(gap, "gap", data))
		total += feed(good, chunksOf(good, data, chunk))
		total += feed(gap, chunksOf(gap, data, chunk)[1:])
		total += feed(unknown, chunksOf(unknown, data, chunk))
		total += feed(good, chunksOf(good, data, chunk))
		d.stall = make(chan struct{})
		cut := uuid.New()
		mustTell(t, s, initFor(cut, "cut", data))
		total += feed(cut, chunksOf(cut, data, chunk)[:3])
		s.Close(nil)
		close(d.stall)
		finish(t, s)
		if len(given) != total {
			t.Errorf("%d of %d chunks came back", len(given), total)
		}
		for _, n := range given {
			if n != 1 {
				t.Errorf("a chunk came back %d times", n)
			}
		}
	})
}

func TestASchemaInvalidFrameFailsItsTransfer(t *testing.T) {
	bad := func(id uuid.UUID, typ frames.FrameType, code common.ErrorCode) *frames.DecodeError {
		return &frames.DecodeError{Code: code, Place: "/bytes", Reason: "bad", Type: typ, TransferID: &id}
	}
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		data := content(10)
		// A bad chunk, by its own code.
		for _, c := range []struct {
			code common.ErrorCode
			text string
		}{
			{common.ErrorCodeMalformedChunk, "malformed chunk encoding"},
			{common.ErrorCodeChunkTooLarge, "chunk exceeds 1 MiB limit"},
			{common.ErrorCodeInvalidFrame, "invalid frame: /bytes: bad"},
		} {
			id := uuid.New()
			mustTell(t, s, initFor(id, "f", data))
			if !s.HandleInvalid(bad(id, frames.FrameTypeTransferChunk, c.code)) {
				t.Fatal("not answered")
			}
			synctest.Wait()
			f := lastOf[*frames.TransferComplete](t, p)
			wantText(t, f.Error, c.text)
			if f.Ok || *f.ErrorCode != c.code || f.TransferID != id || s.Len() != 0 {
				t.Errorf("complete: %+v, %d in the map", f, s.Len())
			}
			// It ended: late ones are dropped.
			if !s.HandleInvalid(bad(id, frames.FrameTypeTransferChunk, c.code)) {
				t.Error("a late bad chunk gets an error frame")
			}
		}
		d.check(t)

		// A bad init with a readable id is always answered by a response.
		id := uuid.New()
		if !s.HandleInvalid(bad(id, frames.FrameTypeTransferInit, common.ErrorCodePathEscapesSandbox)) {
			t.Error("a bad init is not answered")
		}
		wantText(t, lastOf[*frames.TransferInitResponse](t, p).Error, "path escapes project sandbox")

		// A bad upload request by a finish.
		if !s.HandleInvalid(bad(uuid.New(), frames.FrameTypeClientFileUploadRequest, common.ErrorCodeInvalidFrame)) {
			t.Error("a bad upload request is not answered")
		}
		if f := lastOf[*frames.TransferFinish](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeInvalidFrame {
			t.Errorf("finish: %+v", f)
		}

		// Everything else is the caller's: an error frame.
		id = uuid.New()
		mustTell(t, s, initFor(id, "f", data))
		twice := bad(id, frames.FrameTypeTransferChunk, common.ErrorCodeInvalidFrame)
		twice.DuplicateMember = true
		unknownType := bad(id, "", common.ErrorCodeUnknownType)
		noID := bad(id, frames.FrameTypeTransferChunk, common.ErrorCodeInvalidFrame)
		noID.TransferID = nil
		before := len(p.frames())
		for _, e := range []*frames.DecodeError{twice, unknownType, noID,
			bad(uuid.New(), frames.FrameTypeTransferChunk, common.ErrorCodeInvalidFrame),
			bad(id, frames.FrameTypeTransferComplete, common.ErrorCodeInvalidFrame)} {
			if s.HandleInvalid(e) {
				t.Errorf("%+v was answered", e)
			}
		}
		synctest.Wait()
		if s.Len() != 1 || len(p.frames()) != before {
			t.Errorf("%d in the map, %d frames", s.Len(), len(p.frames())-before)
		}
		mustTell(t, s, chunksOf(id, data, chunk)[0])
		d.want(t, "f", data)
	})
}

func TestRememberedIdsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endedIDs{ttl: cleanup}
		first := uuid.New()
		e.add(first)
		for range rememberedIDs - 1 {
			e.add(uuid.New())
		}
		if !e.has(first) {
			t.Error("forgotten too early")
		}
		e.add(uuid.New())
		if e.has(first) || len(e.at) != rememberedIDs || len(e.order) != rememberedIDs {
			t.Errorf("has the first: %v, %d and %d ids", e.has(first), len(e.at), len(e.order))
		}
		time.Sleep(cleanup + 1)
		if e.has(uuid.New()) || len(e.at) != 0 || len(e.order) != 0 {
			t.Errorf("%d and %d ids after their time", len(e.at), len(e.order))
		}
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
		go func() { s.Drain(ctx); close(drained) }()
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
		if f.TransferID != stuck || f.Ok || *f.ErrorCode != common.ErrorCodeCancelled {
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

func TestAPeersTextCannotReachTheTerminal(t *testing.T) {
	long := ""
	for range 1000 {
		long += "é"
	}
	got := peerFault(ptr("a\x1b[2J\nb\u202e"), nil)
	if got.Text != `a\x1b[2J\nb\u202e` && got.Text != `a\x1b[2J\nb\u{202e}` {
		t.Errorf("the text is %q", got.Text)
	}
	if got := peerFault(&long, nil); len(got.Text) > maxPeerText+10 {
		t.Errorf("the text has %d bytes", len(got.Text))
	}
	if got := peerFault(ptr("path escapes project sandbox"), nil); got.Code != common.ErrorCodePathEscapesSandbox {
		t.Errorf("a text of the base protocol has the code %s", got.Code)
	}
	if got := peerFault(nil, nil); got.Code != common.ErrorCodeInternal || got.Text == "" {
		t.Errorf("nothing at all is %+v", got)
	}
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

func TestAFileLargerThanTheMemoryPasses(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		data, id := content(3*unwrittenLimit), uuid.New()
		start := time.Now()
		mustTell(t, s, initFor(id, "f", data))
		for _, c := range chunksOf(id, data, 1<<20) {
			if err := s.HandleTransferChunk(c); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		d.want(t, "f", data)
		if took := time.Since(start); took != 0 {
			t.Errorf("a quick disk was waited for: %v", took)
		}
	})
}

func TestFramesOfAnotherConnectionsTransferReachNothing(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		elsewhere := NewSession(&peer{}, footConfig(newDisk()))
		defer finish(t, elsewhere)
		data, id := content(2*chunk), uuid.New()
		all := chunksOf(id, data, chunk)
		mustTell(t, s, initFor(id, "f", data), all[0])
		for _, f := range []frames.Frame{all[1], failFinish(id, fault.New(common.ErrorCodeCancelled)),
			&frames.TransferInitResponse{TransferID: id, Ok: true}, &frames.TransferComplete{TransferID: id, Ok: true}} {
			wantCode(t, tell(elsewhere, f), common.ErrorCodeUnknownTransfer)
		}
		mustTell(t, s, chunksOf(id, data, chunk)[1])
		d.want(t, "f", data)
	})
}

// TestARandomPeerAndARandomDisk plays frames in any order to a Foot whose disk
// fails now and then. Whatever happens: the target is the old file or the new
// one, and in the end nothing is left. The seed is the name of the failing test.
func TestARandomPeerAndARandomDisk(t *testing.T) {
	for seed := range uint64(400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) { playRandomly(t, r, s, p, d) })
		})
	}
}

func playRandomly(t *testing.T, r *rand.Rand, s *Session, p *peer, d *disk) {
	const size = 1000
	data, old := content(4*size+1), []byte("old")
	d.files["f"] = old
	switch r.IntN(8) {
	case 0:
		d.failWrite, d.failAt = errBoom, r.IntN(4)
	case 1:
		d.failPublish = errBoom
	case 2:
		d.panics = []string{"open", "write", "publish", "discard"}[r.IntN(4)]
	}
	ids := []uuid.UUID{uuid.New(), uuid.New()}
	next := map[uuid.UUID]int{}
	for range 60 {
		id := ids[r.IntN(len(ids))]
		all := chunksOf(id, data, size)
		switch r.IntN(24) {
		case 0, 1:
			f := initFor(id, "f", data)
			if r.IntN(8) == 0 {
				f.TotalSize += int64(r.IntN(3)) - 1
			}
			_ = tell(s, f)
		case 2:
			_ = tell(s, all[r.IntN(len(all))]) // drop, repeat, reorder
		case 3:
			_ = tell(s, []frames.Frame{&frames.TransferFinish{TransferID: id, Ok: true}, failFinish(id, fault.New(common.ErrorCodeCancelled)),
				&frames.TransferInitResponse{TransferID: id, Ok: true}, &frames.TransferComplete{TransferID: id, Ok: true}}[r.IntN(4)])
		case 4:
			s.HandleInvalid(&frames.DecodeError{Code: common.ErrorCodeInvalidFrame, TransferID: &id, Type: []frames.FrameType{
				frames.FrameTypeTransferInit, frames.FrameTypeTransferChunk, frames.FrameTypeTransferFinish}[r.IntN(3)]})
		case 5:
			time.Sleep(time.Duration(r.IntN(40)) * time.Second)
		case 6:
			s.Cancel(id, fault.New(common.ErrorCodeCancelled))
		default:
			if n := next[id]; n < len(all) {
				_ = tell(s, all[n])
				next[id]++
			}
		}
		d.mu.Lock()
		got := sumOf(d.files["f"])
		d.mu.Unlock()
		if got != sumOf(old) && got != sumOf(data) {
			t.Fatal("the target is neither the old nor the new file")
		}
	}
	for _, id := range ids {
		ok := 0
		for _, f := range p.frames() {
			if c, is := f.(*frames.TransferComplete); is && c.TransferID == id && c.Ok {
				ok++
			}
		}
		if ok > 1 {
			t.Errorf("success was said %d times", ok)
		}
	}
	time.Sleep(2 * cleanup)
	synctest.Wait()
	if n := s.Len(); n != 0 {
		t.Errorf("%d transfers stay in the map", n)
	}
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

func TestALostConnectionIsToldWithinASecondWhateverTheDiskDoes(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		d.stall = make(chan struct{})
		data, up, stuck := content(chunk), uuid.New(), sourceOf(content(5))
		stuck.stall = make(chan struct{})
		receiving := begin(receiveFrom(s, d, up))
		sending := begin(sendOf(t.Context(), s, stuck, uuid.New()))
		mustTell(t, s, offerTo(up, data), chunksOf(up, data, chunk)[0])
		start := time.Now()
		s.Close(nil)
		<-receiving.done
		<-sending.done
		wantCode(t, receiving.err, common.ErrorCodeConnectionLost)
		wantCode(t, sending.err, common.ErrorCodeConnectionLost)
		if took := time.Since(start); took >= time.Second {
			t.Errorf("it took %v", took)
		}
		close(d.stall)
		close(stuck.stall)
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

func TestTooManyTransfersOfOneConnectionAreRefused(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		for range maxLive {
			if err := s.HandleTransferInit(initFor(uuid.New(), "f", []byte("x"))); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		mustTell(t, s, initFor(uuid.New(), "f", []byte("x")))
		if f := lastOf[*frames.TransferInitResponse](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeLimit {
			t.Errorf("one too many: %+v", f)
		}
	})
}

func TestWhatTheDecoderRefusesFailsTheTransferByItsCode(t *testing.T) {
	large := strings.Repeat("A", 4*((1<<20)/3+2))
	for name, c := range map[string]struct {
		message string
		code    common.ErrorCode
		text    string
	}{
		"base64 of the URL alphabet": {`{"type":"transfer_chunk","transferId":"ID","seq":0,"bytes":"_-__","last":false}`, common.ErrorCodeMalformedChunk, "malformed chunk encoding"},
		"base64 without padding":     {`{"type":"transfer_chunk","transferId":"ID","seq":0,"bytes":"QQ","last":false}`, common.ErrorCodeMalformedChunk, "malformed chunk encoding"},
		"base64 with a line break":   {`{"type":"transfer_chunk","transferId":"ID","seq":0,"bytes":"QUFB\nQUFB","last":false}`, common.ErrorCodeMalformedChunk, "malformed chunk encoding"},
		"a chunk above 1 MiB":        {`{"type":"transfer_chunk","transferId":"ID","seq":0,"bytes":"` + large + `","last":false}`, common.ErrorCodeChunkTooLarge, "chunk exceeds 1 MiB limit"},
		"a negative seq":             {`{"type":"transfer_chunk","transferId":"ID","seq":-1,"bytes":"QUFB","last":false}`, common.ErrorCodeInvalidFrame, ""},
		"no seq":                     {`{"type":"transfer_chunk","transferId":"ID","bytes":"QUFB","last":false}`, common.ErrorCodeInvalidFrame, ""},
		"a finish without ok":        {`{"type":"transfer_finish","transferId":"ID"}`, common.ErrorCodeInvalidFrame, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
				d.files["f"] = []byte("old")
				id := uuid.New()
				mustTell(t, s, initFor(id, "f", content(3<<20)))
				f, err := new(frames.Decoder).DecodeForFoot([]byte(strings.Replace(c.message, "ID", id.String(), 1)))
				var invalid *frames.DecodeError
				if !errors.As(err, &invalid) {
					t.Fatalf("decoded to %+v, %v", f, err)
				}
				if !s.HandleInvalid(invalid) {
					t.Fatal("not answered")
				}
				synctest.Wait()
				answer := lastOf[*frames.TransferComplete](t, p)
				if answer.Ok || *answer.ErrorCode != c.code || c.text != "" && *answer.Error != c.text {
					t.Errorf("the answer is %s %q", *answer.ErrorCode, *answer.Error)
				}
				d.want(t, "f", []byte("old"))
			})
		})
	}
}

func TestWhatNoFrameCanSayIsRefusedWithoutOne(t *testing.T) {
	in(t, brainOf, func(t *testing.T, s *Session, p *peer, d *disk) {
		for name, c := range map[string]struct {
			path string
			code common.ErrorCode
		}{
			"NUL":      {"a\x00b", common.ErrorCodePathEscapesSandbox},
			"too long": {strings.Repeat("a", 5000), common.ErrorCodeInvalidPath},
		} {
			_, up := s.Receive(t.Context(), ReceiveRequest{ID: uuid.New(), LocalPath: c.path, DirName: "d", RemotePath: "r", Open: d.accept})
			_, down := s.Send(t.Context(), SendRequest{ID: uuid.New(), Target: c.path, Open: opens(sourceOf(nil))})
			if fault.CodeOf(up) != c.code || fault.CodeOf(down) != c.code {
				t.Errorf("%s: %v and %v, want %s", name, up, down, c.code)
			}
		}
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

func TestAnErrorTextAlwaysFitsItsFrame(t *testing.T) {
	why := fault.Texted(common.ErrorCodeSymlinkNotAllowed, "symlink not allowed: \xff"+strings.Repeat("é", 4000))
	for _, f := range []frames.Frame{refuse(someID, why), failComplete(someID, why, 0, nil), failFinish(someID, why)} {
		if err := f.Validate(); err != nil {
			t.Errorf("%s: %v", f.FrameType(), err)
		}
		if _, err := f.AppendJSON(nil); err != nil {
			t.Errorf("%s: %v", f.FrameType(), err)
		}
	}
}

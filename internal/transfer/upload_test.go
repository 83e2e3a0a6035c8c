package transfer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

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

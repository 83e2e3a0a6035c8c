package transfer

import (
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

// The sender of a refused offer closes the exchange with a finish.
func TestTheFinishOfARefusedOfferIsNoError(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		if !s.HandleInvalid(&frames.DecodeError{Code: common.ErrorCodeHashRequired, Place: "/hash", Type: frames.FrameTypeTransferInit, TransferID: &id}) {
			t.Fatal("not answered")
		}
		if f := lastOf[*frames.TransferInitResponse](t, p); f.Ok || f.TransferID != id || *f.ErrorCode != common.ErrorCodeHashRequired {
			t.Fatalf("answered with %+v", f)
		}
		if err := s.HandleTransferFinish(&frames.TransferFinish{TransferID: id}); err != nil {
			t.Errorf("the finish is refused: %v", err)
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

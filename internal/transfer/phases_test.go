package transfer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

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

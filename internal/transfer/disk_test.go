package transfer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

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

// check2 is check for a moment when transfers may run.
func (d *disk) check2(t *testing.T, staged int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.staged != staged {
		t.Errorf("%d staging files, want %d", d.staged, staged)
	}
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

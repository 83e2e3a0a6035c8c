package transfer

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// The extensions over a session in fake time.

const confirmTime = 5 * time.Minute

func with(features frames.FeatureSet, cfg func(*disk) Config) func(*disk) Config {
	return func(d *disk) Config {
		c := cfg(d)
		c.Features, c.ConfirmTimeout = features, confirmTime
		return c
	}
}

func progressOf(id uuid.UUID, state frames.ProgressState, bytes, total int64) *frames.TransferProgress {
	return &frames.TransferProgress{TransferID: id, State: state, Bytes: bytes, TotalBytes: total}
}

// wantEnd waits for the end of a call and checks when it came and why.
func wantEnd(t *testing.T, o *outcomeOf, begun time.Time, after time.Duration, code common.ErrorCode) {
	t.Helper()
	<-o.done
	wantCode(t, o.err, code)
	if took := time.Since(begun); took != after {
		t.Errorf("it took %v, want %v", took, after)
	}
}

func TestProgressThatMovesKeepsAnUploadRequestWaiting(t *testing.T) {
	in(t, with(Features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		o := begin(receiveFrom(s, d, id))
		for i := range int64(30) { // ten minutes of hashing
			time.Sleep(phase - 10*time.Second)
			mustTell(t, s, progressOf(id, "hashing", i+1, 100))
			if o.ended() {
				t.Fatalf("it ended after %d moves: %v", i, o.err)
			}
		}
		stood := time.Now()
		for range 2 { // and now it stands still
			time.Sleep(phase / 3)
			mustTell(t, s, progressOf(id, "hashing", 30, 100))
		}
		wantEnd(t, o, stood, phase, common.ErrorCodeInitTimeout)
		if f := lastOf[*frames.TransferCancel](t, p); f.Reason != "init timeout" {
			t.Errorf("the Foot hears %q", f.Reason)
		}
	})
}

func TestProgressForEverWithoutMovingTimesOut(t *testing.T) {
	talk := map[string]func(id uuid.UUID, i int64) *frames.TransferProgress{
		"the same again": func(id uuid.UUID, _ int64) *frames.TransferProgress { return progressOf(id, "streaming", 5, 10) },
		"back and forth": func(id uuid.UUID, i int64) *frames.TransferProgress {
			return progressOf(id, []frames.ProgressState{"streaming", "hashing"}[i%2], 5, 10)
		},
		"beyond the file": func(id uuid.UUID, i int64) *frames.TransferProgress { return progressOf(id, "streaming", 10+i, 10) },
		"suspended":       func(id uuid.UUID, i int64) *frames.TransferProgress { return progressOf(id, "suspended", i, 1000) },
		"waiting for approval": func(id uuid.UUID, i int64) *frames.TransferProgress {
			return progressOf(id, "waiting_for_approval", i, 1000)
		},
	}
	for name, say := range talk {
		t.Run("sender verifying/"+name, func(t *testing.T) {
			in(t, with(Features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
				id := uuid.New()
				o := begin(sendOf(t.Context(), s, sourceOf(content(10)), id))
				mustTell(t, s, &frames.TransferInitResponse{TransferID: id, Ok: true}, say(id, 0))
				begun := time.Now()
				for i := int64(1); i < 10; i++ {
					time.Sleep(phase / 10)
					mustTell(t, s, say(id, i))
				}
				wantEnd(t, o, begun, phase, common.ErrorCodeCompleteTimeout)
			})
		})
		t.Run("receiver between chunks/"+name, func(t *testing.T) {
			in(t, with(Features, footConfig), func(t *testing.T, s *Session, p *peer, d *disk) {
				id, data := uuid.New(), content(2*chunk)
				mustTell(t, s, initFor(id, "f", data), chunksOf(id, data, chunk)[0], say(id, 0))
				for i := int64(1); i < 10; i++ {
					time.Sleep(phase / 10)
					mustTell(t, s, say(id, i))
				}
				if countOf[*frames.TransferComplete](p) != 0 {
					t.Fatal("it ended too early")
				}
				time.Sleep(phase / 10)
				synctest.Wait()
				wantText(t, lastOf[*frames.TransferComplete](t, p).Error, "chunk timeout")
			})
		})
	}
}

func TestProgressThatMovesKeepsAPhaseAlive(t *testing.T) {
	t.Run("the receiver writes and verifies", func(t *testing.T) {
		in(t, with(Features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
			id := uuid.New()
			o := begin(sendOf(t.Context(), s, sourceOf(content(10)), id))
			mustTell(t, s, &frames.TransferInitResponse{TransferID: id, Ok: true})
			for i := range int64(10) {
				time.Sleep(phase - time.Second)
				mustTell(t, s, progressOf(id, "streaming", i+1, 10))
			}
			time.Sleep(phase - time.Second)
			mustTell(t, s, progressOf(id, "verifying", 10, 10))
			wantEnd(t, o, time.Now(), phase, common.ErrorCodeCompleteTimeout)
		})
	})
	t.Run("the sender moves between chunks", func(t *testing.T) {
		in(t, with(Features, footConfig), func(t *testing.T, s *Session, p *peer, d *disk) {
			id, data := uuid.New(), content(2*chunk)
			all := chunksOf(id, data, chunk)
			mustTell(t, s, initFor(id, "f", data), all[0])
			for i := range int64(5) {
				time.Sleep(phase - time.Second)
				mustTell(t, s, progressOf(id, "streaming", chunk+i, 2*chunk))
			}
			mustTell(t, s, all[1])
			if f := lastOf[*frames.TransferComplete](t, p); !f.Ok {
				t.Errorf("it failed: %v", deref(f.Error))
			}
		})
	})
}

func TestWaitingForApprovalLastsTheConfirmTimeoutAndIsDeclined(t *testing.T) {
	for name, features := range map[string]frames.FeatureSet{"": Features, " without cancel": frames.FeatureProgress} {
		t.Run("download"+name, func(t *testing.T) {
			in(t, with(features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
				id := uuid.New()
				o := begin(sendOf(t.Context(), s, sourceOf(content(10)), id))
				time.Sleep(phase - time.Second)
				begun := time.Now()
				mustTell(t, s, progressOf(id, "waiting_for_approval", 0, 10))
				for range 9 { // saying it again is no new time
					time.Sleep(confirmTime / 10)
					mustTell(t, s, progressOf(id, "waiting_for_approval", 0, 10))
				}
				wantEnd(t, o, begun, confirmTime, common.ErrorCodeDeclined)
				if f := lastOf[*frames.TransferFinish](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeDeclined {
					t.Errorf("the Foot hears %+v", f)
				}
			})
		})
		t.Run("upload"+name, func(t *testing.T) {
			in(t, with(features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
				id := uuid.New()
				o := begin(receiveFrom(s, d, id))
				begun := time.Now()
				mustTell(t, s, progressOf(id, "waiting_for_approval", 0, 10))
				wantEnd(t, o, begun, confirmTime, common.ErrorCodeDeclined)
				if told := countOf[*frames.TransferCancel](p); told != map[bool]int{true: 1}[features == Features] {
					t.Errorf("%d times transfer_cancel", told)
				}
			})
		})
	}
}

func TestAfterTheApprovalThePhasesTimeIsBack(t *testing.T) {
	in(t, with(Features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		o := begin(receiveFrom(s, d, id))
		mustTell(t, s, progressOf(id, "waiting_for_approval", 0, 10))
		time.Sleep(confirmTime - time.Second)
		begun := time.Now()
		mustTell(t, s, progressOf(id, "hashing", 0, 10))
		wantEnd(t, o, begun, phase, common.ErrorCodeInitTimeout)
	})
}

func TestABrainThatWaitsForApprovalGetsNoTime(t *testing.T) {
	cfg := func(d *disk) Config {
		c := footConfig(d)
		c.Serve = func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error) {
			return &Outgoing{Source: sourceOf(content(10))}, nil
		}
		return c
	}
	in(t, with(Features, cfg), func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		mustTell(t, s, &frames.ClientFileUploadRequest{TransferID: id, LocalPath: "l", DirName: "d", RemotePath: "f"})
		lastOf[*frames.TransferInit](t, p)
		mustTell(t, s, progressOf(id, "waiting_for_approval", 0, 10))
		time.Sleep(phase)
		synctest.Wait()
		wantText(t, lastOf[*frames.TransferFinish](t, p).Error, "init timeout")
	})
}

// slowly is a source on a disk that needs a while for each read.
type slowly struct {
	*memSource
	each time.Duration
}

func (s slowly) ReadAt(p []byte, off int64) (int, error) {
	time.Sleep(s.each)
	return s.memSource.ReadAt(p, off)
}

// told are the progress frames among what a session sent, and which frame came
// before the first of them.
func told(p *peer) (all []*frames.TransferProgress, before frames.Frame) {
	sent := p.frames()
	for i, f := range sent {
		if f, ok := f.(*frames.TransferProgress); ok {
			if len(all) == 0 && i > 0 {
				before = sent[i-1]
			}
			all = append(all, f)
		}
	}
	return all, before
}

func TestASenderTellsEachStateAndItsBytesFourTimesASecond(t *testing.T) {
	cfg := func(d *disk) Config {
		c := footConfig(d)
		c.Serve = func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error) {
			return &Outgoing{Source: slowly{sourceOf(content(100 * hashBuffer)), 50 * time.Millisecond}}, nil
		}
		return c
	}
	in(t, with(Features, cfg), func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		mustTell(t, s, &frames.ClientFileUploadRequest{TransferID: id, LocalPath: "l", DirName: "d", RemotePath: "f"})
		time.Sleep(5*time.Second + time.Millisecond) // 100 reads
		synctest.Wait()
		hashing, _ := told(p)
		if n := len(hashing); n < 18 || n > 21 {
			t.Errorf("%d times in five seconds of hashing", n)
		}
		for i, f := range hashing {
			if f.State != "hashing" || f.TotalBytes != 100*hashBuffer || i > 0 && f.Bytes <= hashing[i-1].Bytes {
				t.Errorf("news %d: %+v", i, f)
			}
		}
		mustTell(t, s, &frames.TransferInitResponse{TransferID: id, Ok: true})
		time.Sleep(30 * time.Second)
		synctest.Wait()
		var states []frames.ProgressState
		everything, _ := told(p)
		for _, f := range everything {
			states = append(states, f.State)
		}
		if got := slices.Compact(states); !slices.Equal(got, []frames.ProgressState{"hashing", "streaming", "verifying"}) {
			t.Errorf("the states are %v", got)
		}
		if n := len(everything); n > 4*(5+11)+3 {
			t.Errorf("%d times in all", n)
		}
	})
}

func TestAPeerHearsOfNoTransferBeforeItsFirstFrame(t *testing.T) {
	in(t, with(Features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		o := begin(sendOf(t.Context(), s, slowly{sourceOf(content(20 * hashBuffer)), time.Second}, id))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(p.frames()); n != 0 {
			t.Errorf("%d frames while a download is hashed", n)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if _, before := told(p); before == nil || before.FrameType() != frames.FrameTypeTransferInit {
			t.Errorf("before the first news came %v", before)
		}
		if o.ended() {
			t.Error(o.err)
		}
	})
}

func TestALocalFailureIsAFinishAndNothingElse(t *testing.T) {
	cfg := func(d *disk) Config {
		c := footConfig(d)
		c.Serve = func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error) {
			time.Sleep(time.Second)
			return nil, fault.New(common.ErrorCodeNotFound)
		}
		return c
	}
	in(t, with(Features, cfg), func(t *testing.T, s *Session, p *peer, d *disk) {
		mustTell(t, s, &frames.ClientFileUploadRequest{TransferID: uuid.New(), LocalPath: "l", DirName: "d", RemotePath: "f"})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := p.types(); len(got) != 1 || got[0] != frames.FrameTypeTransferFinish {
			t.Errorf("the Foot sent %v", got)
		}
	})
}

func TestAReceiverTellsWhatIsOnItsDisk(t *testing.T) {
	in(t, with(Features, footConfig), func(t *testing.T, s *Session, p *peer, d *disk) {
		id, data := uuid.New(), content(3*chunk)
		mustTell(t, s, initFor(id, "f", data))
		for _, c := range chunksOf(id, data, chunk) {
			mustTell(t, s, c)
			time.Sleep(time.Second)
		}
		var got []frames.TransferProgress
		news, _ := told(p)
		for _, f := range news {
			got = append(got, *f)
		}
		want := []frames.TransferProgress{
			*progressOf(id, "streaming", 0, 3*chunk), *progressOf(id, "streaming", chunk, 3*chunk),
			*progressOf(id, "verifying", 2*chunk, 3*chunk),
		}
		if !slices.Equal(got, want) {
			t.Errorf("told %+v\nwant %+v", got, want)
		}
	})
}

func TestWithoutFeaturesNoFrameOfThemIsSent(t *testing.T) {
	in(t, with(0, footConfig), func(t *testing.T, s *Session, p *peer, d *disk) {
		id, data := uuid.New(), content(3*chunk)
		mustTell(t, s, initFor(id, "f", data))
		for _, c := range chunksOf(id, data, chunk)[:2] {
			mustTell(t, s, c)
			time.Sleep(time.Second)
		}
		s.Cancel(id, fault.New(common.ErrorCodeCancelled))
		synctest.Wait()
		if got := p.types(); !slices.Equal(got, []frames.FrameType{frames.FrameTypeTransferInitResponse, frames.FrameTypeTransferComplete}) {
			t.Errorf("the session sent %v", got)
		}
		wantText(t, lastOf[*frames.TransferComplete](t, p).Error, "cancelled")
	})
}

func TestACancelByThePeerLeavesNothingAndIsSilent(t *testing.T) {
	t.Run("receiver", func(t *testing.T) {
		in(t, with(Features, footConfig), func(t *testing.T, s *Session, p *peer, d *disk) {
			d.files["f"] = []byte("old")
			id, data := uuid.New(), content(3*chunk)
			all := chunksOf(id, data, chunk)
			mustTell(t, s, initFor(id, "f", data), all[0])
			mustTellQuietly(t, s, p, &frames.TransferCancel{TransferID: id, Reason: "enough"})
			d.check(t)
			d.want(t, "f", []byte("old"))
			if s.Len() != 0 {
				t.Errorf("%d in the map", s.Len())
			}
			// What was on its way is late, not wrong, and begins nothing anew.
			mustTell(t, s, all[1], &frames.TransferCancel{TransferID: id}, progressOf(id, "streaming", 1, 2))
			mustTell(t, s, initFor(id, "f", data))
			wantText(t, lastOf[*frames.TransferInitResponse](t, p).Error, "duplicate transferId")
		})
	})
	t.Run("sender", func(t *testing.T) {
		in(t, with(Features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
			p.gate = make(chan struct{})
			id := uuid.New()
			o := begin(sendOf(t.Context(), s, sourceOf(content(3*chunk)), id))
			mustTell(t, s, &frames.TransferInitResponse{TransferID: id, Ok: true})
			mustTellQuietly(t, s, p, &frames.TransferCancel{TransferID: id, Reason: "enough"})
			<-o.done
			wantCode(t, o.err, common.ErrorCodeCancelled)
			if p.chunks() != 0 || s.Len() != 0 {
				t.Errorf("%d chunks, %d in the map", p.chunks(), s.Len())
			}
		})
	})
	t.Run("an unbegun upload", func(t *testing.T) {
		in(t, with(Features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
			id := uuid.New()
			o := begin(receiveFrom(s, d, id))
			mustTellQuietly(t, s, p, &frames.TransferCancel{TransferID: id, Reason: "not now"})
			<-o.done
			wantCode(t, o.err, common.ErrorCodeCancelled)
		})
	})
}

func TestACancelAfterTheSuccessKeepsTheFile(t *testing.T) {
	in(t, with(Features, footConfig), func(t *testing.T, s *Session, p *peer, d *disk) {
		id, data := uuid.New(), content(10)
		mustTell(t, s, initFor(id, "f", data), chunksOf(id, data, chunk)[0])
		if !lastOf[*frames.TransferComplete](t, p).Ok {
			t.Fatal("it failed")
		}
		mustTellQuietly(t, s, p, &frames.TransferCancel{TransferID: id, Reason: "too late"})
		d.want(t, "f", data)
		if s.Len() != 0 {
			t.Errorf("%d in the map", s.Len())
		}
	})
}

func TestACancelOfAnUnknownTransferIsRejected(t *testing.T) {
	in(t, with(Features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
		wantCode(t, tell(s, &frames.TransferCancel{TransferID: uuid.New()}), common.ErrorCodeUnknownTransfer)
		wantCode(t, tell(s, progressOf(uuid.New(), "hashing", 0, 0)), common.ErrorCodeUnknownTransfer)
	})
}

func TestAnUploadCancelledBeforeItsInit(t *testing.T) {
	t.Run("is told with cancel", func(t *testing.T) {
		in(t, with(Features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
			id := uuid.New()
			o := begin(receiveFrom(s, d, id))
			s.Cancel(id, fault.New(common.ErrorCodeCancelled))
			<-o.done
			wantCode(t, o.err, common.ErrorCodeCancelled)
			if f := lastOf[*frames.TransferCancel](t, p); f.TransferID != id || f.Reason != "cancelled" || s.Len() != 0 {
				t.Errorf("the Foot hears %+v, %d in the map", f, s.Len())
			}
		})
	})
	t.Run("is refused at its init without", func(t *testing.T) {
		in(t, with(Features&^frames.FeatureCancel, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
			id := uuid.New()
			o := begin(receiveFrom(s, d, id))
			s.Cancel(id, fault.New(common.ErrorCodeCancelled))
			<-o.done
			wantCode(t, o.err, common.ErrorCodeCancelled)
			mustTell(t, s, offerTo(id, content(10)))
			wantText(t, lastOf[*frames.TransferInitResponse](t, p).Error, "cancelled")
			if countOf[*frames.TransferCancel](p) != 0 || s.Len() != 0 {
				t.Errorf("the Foot hears %v, %d in the map", p.types(), s.Len())
			}
		})
	})
}

func TestAnOfferSaysWhatToDoAboutAnExistingTarget(t *testing.T) {
	for _, c := range []struct {
		features frames.FeatureSet
		wanted   common.OnExisting
		sent     any
		code     common.ErrorCode
	}{
		{Features, "keep_both", common.OnExistingKeepBoth, ""},
		{Features, "error", common.OnExistingError, ""},
		{Features, "replace", nil, ""},
		{Features, "", nil, ""},
		{0, "replace", nil, ""},
		{0, "", nil, ""},
		{Features &^ frames.FeatureOnExisting, "error", nil, common.ErrorCodeUnsupported},
		{0, "keep_both", nil, common.ErrorCodeUnsupported},
	} {
		t.Run(string(c.wanted)+map[bool]string{true: " base"}[c.features == 0], func(t *testing.T) {
			in(t, with(c.features, brainOf), func(t *testing.T, s *Session, p *peer, d *disk) {
				src := sourceOf(content(10))
				opened := false
				o := begin(func() (Result, error) {
					return s.Send(context.Background(), SendRequest{ID: uuid.New(), Target: "f", OnExisting: c.wanted,
						Open: func(context.Context) (*Outgoing, error) { opened = true; return &Outgoing{Source: src}, nil }})
				})
				if c.code != "" {
					<-o.done
					wantCode(t, o.err, c.code)
					if len(p.frames()) != 0 || opened {
						t.Errorf("sent %v, opened %v", p.types(), opened)
					}
					return
				}
				if f := lastOf[*frames.TransferInit](t, p); deref(f.OnExisting) != c.sent {
					t.Errorf("sent %v, want %v", deref(f.OnExisting), c.sent)
				}
			})
		})
	}
}

func TestAFrameOfTheWrongDirectionOrFeatureTouchesNoTransfer(t *testing.T) {
	in(t, footConfig, func(t *testing.T, s *Session, p *peer, d *disk) {
		id, data := uuid.New(), content(2*chunk)
		all := chunksOf(id, data, chunk)
		mustTell(t, s, initFor(id, "f", data), all[0])
		before := len(p.frames())
		for _, typ := range []frames.FrameType{frames.FrameTypeTransferProgress, frames.FrameTypeTransferCancel, frames.FrameTypeHello} {
			if s.HandleInvalid(&frames.DecodeError{Code: common.ErrorCodeUnexpectedFrame, Type: typ, TransferID: &id}) {
				t.Errorf("%s was answered by the transfer", typ)
			}
		}
		unknown := uuid.New()
		if s.HandleInvalid(&frames.DecodeError{Code: common.ErrorCodeUnexpectedFrame, Type: frames.FrameTypeClientFileUploadRequest, TransferID: &unknown}) {
			t.Error("an upload request of the wrong direction was answered by transfer_finish")
		}
		if len(p.frames()) != before {
			t.Errorf("sent %v", p.types())
		}
		mustTell(t, s, all[1])
		d.want(t, "f", data)
	})
}

func TestABrokenProgressFailsItsTransfer(t *testing.T) {
	in(t, with(Features, footConfig), func(t *testing.T, s *Session, p *peer, d *disk) {
		id, data := uuid.New(), content(2*chunk)
		mustTell(t, s, initFor(id, "f", data))
		e := &frames.DecodeError{Code: common.ErrorCodeInvalidFrame, Place: "/state", Reason: "must be known",
			Type: frames.FrameTypeTransferProgress, TransferID: &id}
		if !s.HandleInvalid(e) {
			t.Error("nobody was told")
		}
		synctest.Wait()
		wantText(t, lastOf[*frames.TransferComplete](t, p).Error, "invalid frame: /state: must be known")
		unknown := uuid.New()
		e.TransferID = &unknown
		if s.HandleInvalid(e) {
			t.Error("a broken frame of no transfer counts as answered")
		}
	})
}

func TestEventsNameWhatWasPublished(t *testing.T) {
	var last Event
	cfg := func(d *disk) Config {
		c := footConfig(d)
		c.OnEvent = func(e Event) { last = e }
		c.Accept = func(_ context.Context, init *frames.TransferInit) (*Incoming, error) {
			in, err := d.place("f-1") // a free name
			if err == nil {
				in.Path = init.Target
			}
			return in, err
		}
		return c
	}
	in(t, with(Features, cfg), func(t *testing.T, s *Session, p *peer, d *disk) {
		id, data := uuid.New(), content(10)
		mustTell(t, s, initFor(id, "f", data), chunksOf(id, data, chunk)[0])
		if last.State != StateComplete || last.Path != "f-1" {
			t.Errorf("the last event is %+v", last)
		}
	})
}

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

// A Foot whose person is asked, over a session in fake time.

// person answers when the test says so.
type person struct {
	answer chan error
	asked  int
	ended  int
}

func (p *person) ask(ctx context.Context) error {
	p.asked++
	defer func() { p.ended++ }()
	select {
	case err := <-p.answer:
		return err
	case <-ctx.Done():
		return fault.New(common.ErrorCodeCancelled)
	}
}

// confirming is a Foot that asks a person about everything.
func confirming(who *person, src *memSource) func(*disk) Config {
	return func(d *disk) Config {
		who.answer = make(chan error, 1) // of the bubble that the test runs in
		c := footConfig(d)
		c.Accept = func(_ context.Context, init *frames.TransferInit) (*Incoming, error) {
			d.mu.Lock()
			d.held++
			d.mu.Unlock()
			return &Incoming{Path: init.Target, Ask: who.ask,
				Stage: func(context.Context) (Staging, error) {
					in, err := d.place(init.Target)
					if err != nil {
						return nil, err
					}
					in.Release() // the hold is the Incoming's own
					return in.Staging, nil
				},
				Release: func() {
					d.mu.Lock()
					defer d.mu.Unlock()
					d.held--
				}}, nil
		}
		c.Serve = func(context.Context, *frames.ClientFileUploadRequest) (*Outgoing, error) {
			return &Outgoing{Source: src, Name: "l", Ask: who.ask}, nil
		}
		return c
	}
}

func toldStates(p *peer) (states []frames.ProgressState) {
	for _, f := range p.frames() {
		if f, ok := f.(*frames.TransferProgress); ok {
			states = append(states, f.State)
		}
	}
	return states
}

func TestNothingIsWrittenAndNoTimeRunsWhileAPersonDecides(t *testing.T) {
	who := &person{}
	in(t, with(Features, confirming(who, nil)), func(t *testing.T, s *Session, p *peer, d *disk) {
		id, data := uuid.New(), content(10)
		mustTell(t, s, initFor(id, "f", data))
		time.Sleep(10 * phase)
		synctest.Wait()
		if d.staged != 0 || countOf[*frames.TransferInitResponse](p) != 0 {
			t.Fatalf("%d staging files, frames %v before the approval", d.staged, p.types())
		}
		if f := lastOf[*frames.TransferProgress](t, p); f.State != "waiting_for_approval" || f.TotalBytes != 0 {
			t.Errorf("the Brain hears %+v", f)
		}
		who.answer <- nil
		synctest.Wait()
		if f := lastOf[*frames.TransferInitResponse](t, p); !f.Ok {
			t.Fatalf("refused: %v", deref(f.Error))
		}
		mustTell(t, s, chunksOf(id, data, chunk)[0])
		synctest.Wait()
		d.want(t, "f", data)
		if got := toldStates(p); len(got) < 3 || got[1] != "hashing" || got[2] != "streaming" {
			t.Errorf("after the approval the Brain hears %v", got)
		}
	})
}

func TestADeclinedDownloadLeavesNothing(t *testing.T) {
	who := &person{}
	in(t, with(Features, confirming(who, nil)), func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		mustTell(t, s, initFor(id, "f", content(10)))
		who.answer <- fault.New(common.ErrorCodeDeclined)
		synctest.Wait()
		if f := lastOf[*frames.TransferInitResponse](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeDeclined {
			t.Errorf("the Brain hears %+v", f)
		}
		d.want(t, "f", nil)
	})
}

func TestAQuestionEndsWithItsTransfer(t *testing.T) {
	ends := map[string]func(t *testing.T, s *Session, id uuid.UUID){
		"the sender gave up": func(t *testing.T, s *Session, id uuid.UUID) {
			mustTell(t, s, failFinish(id, fault.New(common.ErrorCodeInitTimeout)))
		},
		"the sender cancelled": func(t *testing.T, s *Session, id uuid.UUID) {
			mustTell(t, s, &frames.TransferCancel{TransferID: id, Reason: "enough"})
		},
		"the connection was lost": func(_ *testing.T, s *Session, _ uuid.UUID) { s.Close(nil) },
		"this side cancelled": func(_ *testing.T, s *Session, id uuid.UUID) {
			s.Cancel(id, fault.New(common.ErrorCodeCancelled))
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			who := &person{}
			in(t, with(Features, confirming(who, nil)), func(t *testing.T, s *Session, p *peer, d *disk) {
				id := uuid.New()
				mustTell(t, s, initFor(id, "f", content(10)))
				synctest.Wait()
				end(t, s, id)
				synctest.Wait()
				if who.asked != 1 || who.ended != 1 || s.Len() != 0 {
					t.Errorf("asked %d, ended %d, %d transfers left", who.asked, who.ended, s.Len())
				}
			})
		})
	}
}

func TestAnUploadIsNotReadBeforeItsApproval(t *testing.T) {
	who, src := &person{}, sourceOf(content(10))
	in(t, with(Features, confirming(who, src)), func(t *testing.T, s *Session, p *peer, d *disk) {
		src.stall = make(chan struct{}) // whoever reads it waits for ever
		id := uuid.New()
		mustTell(t, s, &frames.ClientFileUploadRequest{TransferID: id, LocalPath: "l", DirName: "d", RemotePath: "f"})
		time.Sleep(10 * phase)
		synctest.Wait()
		if f := lastOf[*frames.TransferProgress](t, p); f.State != "waiting_for_approval" || f.TotalBytes != 0 {
			t.Errorf("the Brain hears %+v", f)
		}
		close(src.stall)
		who.answer <- nil
		synctest.Wait()
		if f := lastOf[*frames.TransferInit](t, p); f.TotalSize != 10 {
			t.Errorf("offered %+v", f)
		}
	})
}

func TestADeclinedUploadIsAFinish(t *testing.T) {
	who, src := &person{}, sourceOf(content(10))
	in(t, with(frames.FeatureSet(0), confirming(who, src)), func(t *testing.T, s *Session, p *peer, d *disk) {
		id := uuid.New()
		mustTell(t, s, &frames.ClientFileUploadRequest{TransferID: id, LocalPath: "l", DirName: "d", RemotePath: "f"})
		who.answer <- fault.New(common.ErrorCodeDeclined)
		synctest.Wait()
		if f := lastOf[*frames.TransferFinish](t, p); f.Ok || *f.ErrorCode != common.ErrorCodeDeclined {
			t.Errorf("the Brain hears %+v", f)
		}
		if src.closed != 1 || countOf[*frames.TransferProgress](p) != 0 {
			t.Errorf("closed %d times, frames %v", src.closed, p.types())
		}
	})
}

package transfer

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// receiveWorker hashes and writes what a receiver took, and publishes it.
type receiveWorker struct {
	open   func(ctx context.Context, init *frames.TransferInit) (*Incoming, error)
	in     *Incoming
	digest hash.Hash
}

func (w *receiveWorker) do(t *transfer, next task) {
	var err error
	switch next.job {
	case jobOpen:
		err = w.openPlace(t, next.init)
	case jobAsk:
		if err = w.in.Ask(t.ctx); err == nil {
			t.drive(event{kind: evApproved})
		}
	case jobStage:
		err = w.stage(t)
	case jobWrite:
		err = w.write(t, next)
	case jobPublish:
		err = w.publish(t)
	}
	if err != nil {
		t.drive(event{kind: evFailed, fault: fault.From(err)})
	}
}

func (w *receiveWorker) openPlace(t *transfer, init *frames.TransferInit) error {
	in, err := w.open(t.ctx, init)
	if err != nil {
		return err
	}
	w.in, w.digest = in, sha256.New()
	if in.Ask != nil {
		t.drive(event{kind: evAsk, path: in.Path})
		return nil
	}
	t.drive(event{kind: evOpened, path: in.Path})
	return nil
}

// stage opens the place that a person has approved.
func (w *receiveWorker) stage(t *transfer) error {
	staging, err := w.in.Stage(t.ctx)
	if err != nil {
		return err
	}
	w.in.Staging = staging
	t.drive(event{kind: evOpened})
	return nil
}

func (w *receiveWorker) write(t *transfer, next task) error {
	n := len(next.payload)
	err := w.append(next.payload)
	t.session.release(next.payload)
	t.session.budget.give(&t.share, next.cost)
	if err != nil {
		return err
	}
	ev := event{kind: evWritten, n: int64(n), last: next.last}
	if next.last {
		ev.hash = digestText(w.digest)
	}
	t.drive(ev)
	return nil
}

func (w *receiveWorker) append(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	w.digest.Write(p)
	n, err := w.in.Staging.Write(p)
	if err == nil && n < len(p) {
		return fault.Wrap(common.ErrorCodeDiskFull, io.ErrShortWrite)
	}
	return err
}

func (w *receiveWorker) publish(t *transfer) error {
	path, err := w.in.Staging.Publish(t.ctx)
	if err != nil {
		return err
	}
	// The hold is given back before anybody hears of success: who hears may
	// write the same target at once.
	w.letGo(t)
	t.drive(event{kind: evPublished, path: path})
	return nil
}

// letGo closes the staging, which removes it unless it was published, and gives
// back the hold.
func (w *receiveWorker) letGo(t *transfer) {
	if w.in == nil {
		return
	}
	in := w.in
	w.in = nil
	if in.Release != nil {
		defer in.Release()
	}
	if in.Staging == nil { // it was not approved
		return
	}
	if err := in.Staging.Discard(); err != nil {
		t.session.log.Warn("a staging file could not be removed", "transferId", t.id, "error", err)
	}
}

func (w *receiveWorker) putAway(t *transfer) { w.letGo(t) }

package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"runtime"
	"sync"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// hashBuffer is how much of a source is read at once for its hash.
const hashBuffer = 128 << 10

// sendWorker reads one source: for its hash first, then in chunks.
type sendWorker struct {
	open func(ctx context.Context) (*Outgoing, error)
	// target and dirName go into the offer; attrs win over the file's own.
	target  string
	dirName *string
	attrs   *common.FileAttrs
	// onExisting goes into the offer, nil where the receiver replaces.
	onExisting *common.OnExisting
	chunk      int

	out    *Outgoing
	size   int64
	buffer []byte
}

func (w *sendWorker) do(t *transfer, next task) {
	var err error
	switch next.job {
	case jobOpen:
		err = w.openSource(t)
	case jobAsk:
		if err = w.out.Ask(t.ctx); err == nil {
			t.drive(event{kind: evApproved})
		}
	case jobHash:
		err = w.hashSource(t)
	case jobStream:
		err = w.stream(t)
	}
	if err != nil {
		t.drive(event{kind: evFailed, fault: fault.From(err)})
	}
}

func (w *sendWorker) openSource(t *transfer) error {
	out, err := w.open(t.ctx)
	if err != nil {
		return err
	}
	w.out, w.size = out, out.Source.Size()
	offer := &frames.TransferInit{TransferID: t.id, Target: w.target, DirName: w.dirName, TotalSize: w.size,
		Attrs: mergeAttrs(w.attrs, attrsOf(out.Source)), OnExisting: w.onExisting}
	if out.Name != "" {
		offer.Source = &out.Name
	}
	t.drive(event{kind: evOpened, n: w.size, init: offer, asks: out.Ask != nil})
	return nil
}

// attrsOf are a file's attributes as they are sent. A time that RFC 3339 cannot
// hold is left out.
func attrsOf(src Source) *common.FileAttrs {
	mode := rootfs.FormatMode(src.Mode())
	attrs := &common.FileAttrs{Mode: &mode}
	if mtime := src.ModTime().UTC(); mtime.Year() >= 1 && mtime.Year() <= 9999 {
		attrs.Mtime = &mtime
	}
	return attrs
}

func (w *sendWorker) hashSource(t *transfer) error {
	size := max(hashBuffer, w.chunk)
	if w.size < int64(size) {
		size = int(w.size)
	}
	w.buffer = make([]byte, size)
	digest := sha256.New()
	hashParts := w.hashInTurns
	if w.size > int64(2*size) {
		hashParts = w.hashWhileReading
	}
	if err := hashParts(t, digest); err != nil {
		return err
	}
	if err := w.out.Source.CheckUnchanged(); err != nil {
		return err
	}
	t.drive(event{kind: evHashed, hash: digestText(digest)})
	return nil
}

// hashInTurns reads a part, hashes it, and so on.
func (w *sendWorker) hashInTurns(t *transfer, digest hash.Hash) error {
	for offset := int64(0); offset < w.size; {
		if t.ctx.Err() != nil {
			return fault.New(common.ErrorCodeCancelled)
		}
		part := w.buffer[:min(int64(len(w.buffer)), w.size-offset)]
		if err := w.read(part, offset); err != nil {
			return err
		}
		w.hashPart(t, digest, part)
		offset += int64(len(part))
	}
	return nil
}

// hashWhileReading hashes one part while the next is read: nothing else of the
// transfer runs yet, so that a processor is free for it.
func (w *sendWorker) hashWhileReading(t *transfer, digest hash.Hash) error {
	ctx, stop := context.WithCancel(t.ctx)
	full, free := make(chan readPart), make(chan []byte, 2)
	free <- w.buffer
	free <- make([]byte, len(w.buffer))
	var reader sync.WaitGroup
	reader.Go(func() { w.readParts(ctx, full, free) })
	defer reader.Wait()
	defer stop()
	for part := range full {
		if part.err != nil {
			return part.err
		}
		w.hashPart(t, digest, part.bytes)
		free <- part.bytes[:len(w.buffer)]
	}
	if t.ctx.Err() != nil {
		return fault.New(common.ErrorCodeCancelled)
	}
	return nil
}

// hashPart hashes a part and lets others run. Many transfers that hash at once
// would otherwise each keep a processor for as long as the scheduler allows,
// about 10 ms, and a ping would wait for all of them.
func (w *sendWorker) hashPart(t *transfer, digest hash.Hash, part []byte) {
	digest.Write(part)
	t.drive(event{kind: evRead, n: int64(len(part))})
	runtime.Gosched()
}

// readPart is a part of the source, or why it could not be read.
type readPart struct {
	bytes []byte
	err   error
}

// readParts reads the whole source into buffers that come from free, and closes
// full at the end, after an error, or when ctx is done.
func (w *sendWorker) readParts(ctx context.Context, full chan<- readPart, free <-chan []byte) {
	defer close(full)
	for offset := int64(0); offset < w.size; {
		var part readPart
		select {
		case buffer := <-free:
			part.bytes = buffer[:min(int64(len(buffer)), w.size-offset)]
		case <-ctx.Done():
			return
		}
		part.err = w.read(part.bytes, offset)
		select {
		case full <- part:
		case <-ctx.Done():
			return
		}
		if part.err != nil {
			return
		}
		offset += int64(len(part.bytes))
	}
}

// read fills part. A file that ends before its size has changed.
func (w *sendWorker) read(part []byte, offset int64) error {
	n, err := w.out.Source.ReadAt(part, offset)
	switch {
	case n == len(part):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fault.New(common.ErrorCodeSourceChanged)
	}
	return err
}

// stream sends the chunks. The source is compared before the last one goes out,
// so that no receiver publishes a file that changed under the sender.
func (w *sendWorker) stream(t *transfer) error {
	f := &frames.TransferChunk{TransferID: t.id}
	for offset := int64(0); !f.Last; f.Seq++ {
		if t.ctx.Err() != nil {
			return nil // whoever ended it knows why
		}
		f.Bytes = w.buffer[:min(int64(w.chunk), w.size-offset)]
		if err := w.read(f.Bytes, offset); err != nil {
			return err
		}
		n := int64(len(f.Bytes))
		offset += n
		f.Last = offset == w.size
		if f.Last {
			if err := w.out.Source.CheckUnchanged(); err != nil {
				return err
			}
		}
		t.drive(event{kind: evSending, n: n, last: f.Last})
		if err := t.session.link.SendData(t.ctx, t.id, f); err != nil {
			if t.ctx.Err() == nil {
				t.drive(linkFailure(err))
			}
			return nil
		}
		t.drive(event{kind: evSent, n: n, last: f.Last})
	}
	return nil
}

func (w *sendWorker) putAway(t *transfer) {
	// A chunk that was queued while the transfer was being stopped.
	t.session.link.DropData(t.id)
	if w.out == nil {
		return
	}
	out := w.out
	w.out = nil
	if out.Release != nil {
		defer out.Release()
	}
	if err := out.Source.Close(); err != nil {
		t.session.log.Warn("a sent file did not close", "transferId", t.id, "error", err)
	}
}

// digestText is a digest as it is written in frames.
func digestText(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

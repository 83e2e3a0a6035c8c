package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// maxLive is how many transfers a connection may hold whatever its peer asks for.
const maxLive = 2048

// defaultConfirmTimeout is that of the settings.
const defaultConfirmTimeout = 5 * time.Minute

// Session is all transfers of one connection. Nothing of another connection can
// reach them: a frame finds its transfer in the session of its own connection
// or not at all.
type Session struct {
	link    Link
	cfg     Config
	log     *slog.Logger
	budget  *budget
	workers sync.WaitGroup

	mu     sync.Mutex
	live   map[uuid.UUID]*transfer
	ended  endedIDs
	closed *fault.Error // why it takes no new transfers, nil while it does
}

// NewSession returns the session of a connection.
func NewSession(link Link, cfg Config) *Session {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if cfg.ConfirmTimeout == 0 {
		cfg.ConfirmTimeout = defaultConfirmTimeout
	}
	return &Session{link: link, cfg: cfg, log: log, budget: newBudget(unwrittenLimit),
		live: make(map[uuid.UUID]*transfer), ended: endedIDs{ttl: cfg.CleanupInterval}}
}

// Send sends a file and returns when the receiver has published it, or with a
// *fault.Error. When ctx ends the transfer is cancelled: with the cause of ctx
// when that is a fault, else as cancelled. The failure of opening or hashing the
// file is returned without a frame.
func (s *Session) Send(ctx context.Context, req SendRequest) (Result, error) {
	onExisting, why := s.onExisting(req.OnExisting)
	if why != nil {
		return Result{ID: req.ID}, why
	}
	none := sha256.Sum256(nil)
	draft := &frames.TransferInit{TransferID: req.ID, Target: req.Target, DirName: optional(req.DirName),
		Attrs: req.Attrs, OnExisting: onExisting, Hash: optional("sha256:" + hex.EncodeToString(none[:]))}
	if why := askable(draft); why != nil {
		return Result{ID: req.ID}, why
	}
	t := newTransfer(ctx, s, req.ID, newSender(req.ID, s.cfg.MaxSendSize, false, s.terms()),
		&sendWorker{open: req.Open, target: req.Target, dirName: optional(req.DirName), attrs: req.Attrs,
			onExisting: onExisting, chunk: s.cfg.ChunkSize})
	t.direction, t.path = s.sends(), req.Path
	return s.run(ctx, t)
}

// onExisting is what an offer says about a target that exists: nothing for
// replace, which is what a receiver does by itself. A receiver that knows nothing
// else would replace where it must not, so it is not even asked.
func (s *Session) onExisting(wanted common.OnExisting) (*common.OnExisting, *fault.Error) {
	switch {
	case wanted == "" || wanted == common.OnExistingReplace:
		return nil, nil
	case !s.cfg.Features.Has(frames.FeatureOnExisting):
		return nil, fault.Newf(common.ErrorCodeUnsupported, "the receiver can only replace, not obey onExisting %q", string(wanted))
	}
	return &wanted, nil
}

// Receive asks the peer for a file and returns when it is published here, or
// with a *fault.Error. It does not wait for the peer's transfer_finish.
func (s *Session) Receive(ctx context.Context, req ReceiveRequest) (Result, error) {
	request := &frames.ClientFileUploadRequest{TransferID: req.ID, LocalPath: req.LocalPath,
		DirName: req.DirName, RemotePath: req.RemotePath, Attrs: req.Attrs}
	if why := askable(request); why != nil {
		return Result{ID: req.ID}, why
	}
	t := newTransfer(ctx, s, req.ID, newReceiver(req.ID, s.cfg.MaxReceiveSize, request, s.terms()), &receiveWorker{open: req.Open})
	t.direction, t.path, t.dirName = s.receives(), req.RemotePath, req.DirName
	return s.run(ctx, t)
}

func (s *Session) run(ctx context.Context, t *transfer) (Result, error) {
	if ctx.Err() != nil {
		return Result{ID: t.id}, cancelCause(ctx)
	}
	if why := s.add(t); why != nil {
		return Result{ID: t.id}, why
	}
	t.drive(event{kind: evBegin})
	return t.wait(ctx)
}

// HandleTransferInit and its sisters take the frames of the connection, on its
// reading goroutine. An error is a *fault.Error that goes to the peer as an
// error frame.
func (s *Session) HandleTransferInit(f *frames.TransferInit) error {
	known, ended := s.find(f.TransferID)
	switch {
	case known != nil:
		return rejection(known.drive(event{kind: evInit, frame: f}))
	case ended:
		s.answer(refuse(f.TransferID, fault.New(common.ErrorCodeDuplicateTransfer)))
		return nil
	case s.cfg.Accept == nil:
		s.answer(refuse(f.TransferID, fault.New(common.ErrorCodeUnknownTransfer)))
		return nil
	}
	t := newTransfer(context.Background(), s, f.TransferID, newReceiver(f.TransferID, s.cfg.MaxReceiveSize, nil, s.terms()),
		&receiveWorker{open: s.cfg.Accept})
	t.direction, t.path = s.receives(), f.Target
	if why := s.add(t); why != nil {
		s.turnDown(f.TransferID, why)
		return nil
	}
	t.drive(event{kind: evInit, frame: f})
	return nil
}

// HandleTransferInitResponse takes the answer to an offer of this side.
func (s *Session) HandleTransferInitResponse(f *frames.TransferInitResponse) error {
	return s.deliver(f.TransferID, &event{kind: evResponse, frame: f})
}

// HandleTransferChunk owns f.Bytes from now on. It blocks while the session
// holds too many unwritten bytes.
func (s *Session) HandleTransferChunk(f *frames.TransferChunk) error {
	ev := &event{kind: evChunk, frame: f, payload: f.Bytes, cost: int64(cap(f.Bytes)) + chunkOverhead}
	t, _ := s.find(f.TransferID)
	if t != nil {
		s.budget.take(&t.share, ev.cost)
	}
	err := s.deliver(f.TransferID, ev)
	if ev.payload != nil {
		// Nobody kept it.
		s.release(ev.payload)
		if t != nil {
			s.budget.give(&t.share, ev.cost)
		}
	}
	return err
}

// HandleTransferComplete takes the receiver's word on a file of this side.
func (s *Session) HandleTransferComplete(f *frames.TransferComplete) error {
	return s.deliver(f.TransferID, &event{kind: evComplete, frame: f})
}

// HandleTransferFinish takes the sender's last word.
func (s *Session) HandleTransferFinish(f *frames.TransferFinish) error {
	return s.deliver(f.TransferID, &event{kind: evFinish, frame: f})
}

// HandleTransferProgress takes the peer's word on how far it has come.
func (s *Session) HandleTransferProgress(f *frames.TransferProgress) error {
	return s.deliver(f.TransferID, &event{kind: evProgress, frame: f})
}

// HandleTransferCancel takes the peer's wish to end a transfer.
func (s *Session) HandleTransferCancel(f *frames.TransferCancel) error {
	return s.deliver(f.TransferID, &event{kind: evPeerCancel, frame: f})
}

// HandleClientFileUploadRequest begins to send the file that the peer asks for.
// What goes wrong here is told by transfer_finish and nothing else.
func (s *Session) HandleClientFileUploadRequest(f *frames.ClientFileUploadRequest) error {
	if s.cfg.Serve == nil {
		s.answer(failFinish(f.TransferID, fault.New(common.ErrorCodeUnsupported)))
		return nil
	}
	if t, _ := s.find(f.TransferID); t != nil {
		// A transfer_finish would end the first one.
		return fault.New(common.ErrorCodeDuplicateTransfer)
	}
	open := func(ctx context.Context) (*Outgoing, error) { return s.cfg.Serve(ctx, f) }
	t := newTransfer(context.Background(), s, f.TransferID, newSender(f.TransferID, s.cfg.MaxSendSize, true, s.terms()),
		&sendWorker{open: open, target: f.RemotePath, dirName: &f.DirName, attrs: f.Attrs, chunk: s.cfg.ChunkSize})
	t.direction, t.path = s.sends(), f.LocalPath
	if why := s.add(t); why != nil {
		s.answer(failFinish(f.TransferID, why))
		return nil
	}
	t.drive(event{kind: evBegin})
	return nil
}

// HandleInvalid takes a message that broke its schema. With the id of a live
// transfer it fails that transfer by its normal failing answer. False: nobody
// was told, the caller answers with an error frame.
func (s *Session) HandleInvalid(e *frames.DecodeError) (answered bool) {
	if e.TransferID == nil || e.DuplicateMember || e.Code == common.ErrorCodeUnexpectedFrame {
		return false
	}
	id, why := *e.TransferID, invalidFault(e)
	t, ended := s.find(id)
	ev := &event{kind: evInvalid, frameType: e.Type, fault: why}
	switch e.Type {
	case frames.FrameTypeTransferInit:
		switch {
		case t == nil:
			s.turnDown(id, why)
		case t.deliver(ev):
			s.answer(refuse(id, why))
		}
		return true
	case frames.FrameTypeClientFileUploadRequest:
		if t != nil {
			return false
		}
		s.answer(failFinish(id, why))
		return true
	case frames.FrameTypeTransferInitResponse, frames.FrameTypeTransferChunk,
		frames.FrameTypeTransferComplete, frames.FrameTypeTransferFinish,
		frames.FrameTypeTransferProgress, frames.FrameTypeTransferCancel:
		return ended || t != nil && !t.deliver(ev)
	}
	return false
}

// invalidFault is a broken frame as the failure of its transfer.
func invalidFault(e *frames.DecodeError) *fault.Error {
	if e.Code == common.ErrorCodeInvalidFrame {
		if e.Place == "" {
			return fault.Newf(e.Code, "%s", e.Reason)
		}
		return fault.Newf(e.Code, "%s: %s", e.Place, e.Reason)
	}
	return fault.New(e.Code)
}

// Cancel ends a transfer by its normal failing answer. False: there is none of
// that id.
func (s *Session) Cancel(id uuid.UUID, cause *fault.Error) bool {
	t, _ := s.find(id)
	if t == nil {
		return false
	}
	t.drive(event{kind: evCancel, fault: cause})
	return true
}

// Drain refuses new transfers, waits for the running ones until ctx is done,
// and then cancels the rest, with why as the reason.
func (s *Session) Drain(ctx context.Context, why string) {
	for _, t := range s.shut(fault.New(common.ErrorCodeDraining)) {
		select {
		case <-t.done:
		case <-ctx.Done():
			t.drive(event{kind: evCancel, fault: fault.Newf(common.ErrorCodeCancelled, "%s", why)})
			<-t.done
		}
	}
}

// Len returns how many transfers the session holds.
func (s *Session) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

// Close ends every transfer at once, without a frame: the connection is gone.
// cause is what their callers get; nil means connection_lost.
func (s *Session) Close(cause *fault.Error) {
	if cause == nil {
		cause = fault.New(common.ErrorCodeConnectionLost)
	}
	for _, t := range s.shut(cause) {
		t.drive(event{kind: evLost, fault: cause})
	}
}

// Wait returns when no goroutine of the session runs any more, or ctx is done.
// It is called after Close.
func (s *Session) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		s.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shut makes the session refuse new transfers and returns those it has.
func (s *Session) shut(why *fault.Error) []*transfer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = why
	running := make([]*transfer, 0, len(s.live))
	for _, t := range s.live {
		running = append(running, t)
	}
	return running
}

// add puts a transfer into the map, or says why not.
func (s *Session) add(t *transfer) *fault.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed != nil:
		return s.closed
	case s.live[t.id] != nil || s.ended.has(t.id):
		return fault.New(common.ErrorCodeDuplicateTransfer)
	case len(s.live) >= maxLive:
		return fault.New(common.ErrorCodeLimit)
	}
	s.live[t.id] = t
	return nil
}

// find returns the live transfer of an id, or whether it ended a while ago.
func (s *Session) find(id uuid.UUID) (t *transfer, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t = s.live[id]
	return t, t == nil && s.ended.has(id)
}

// forget takes a transfer out of the map; a transfer calls it, locked.
func (s *Session) forget(t *transfer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, t.id)
	s.ended.add(t.id)
}

// turnDown refuses an offer that becomes no transfer. Its id counts as ended: the
// finish with which its sender closes the exchange (spec 5.2) is no error.
func (s *Session) turnDown(id uuid.UUID, why *fault.Error) {
	s.mu.Lock()
	s.ended.add(id)
	s.mu.Unlock()
	s.answer(refuse(id, why))
}

// deliver gives a frame to its transfer. Frames of a transfer that ended are
// late, not wrong.
func (s *Session) deliver(id uuid.UUID, ev *event) error {
	t, ended := s.find(id)
	switch {
	case ended:
		return nil
	case t == nil:
		return rejection(true)
	}
	return rejection(t.deliver(ev))
}

// rejection is what a peer hears of a frame that fits no transfer, whatever the
// reason.
func rejection(rejected bool) error {
	if rejected {
		return fault.New(common.ErrorCodeUnknownTransfer)
	}
	return nil
}

// answer sends a frame that belongs to no transfer of this session.
func (s *Session) answer(f frames.Frame) {
	if err := s.link.SendControl(f); err != nil {
		// The connection is ending; whoever owns it closes the session.
		s.log.Debug("an answer was not sent", "type", f.FrameType(), "error", err)
	}
}

func (s *Session) release(payload []byte) {
	if s.cfg.Release != nil && payload != nil {
		s.cfg.Release(payload)
	}
}

func (s *Session) sends() Direction {
	if s.cfg.Role == Brain {
		return Download
	}
	return Upload
}

func (s *Session) receives() Direction {
	if s.cfg.Role == Brain {
		return Upload
	}
	return Download
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

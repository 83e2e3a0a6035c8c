package transfer

import (
	"path"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// maxPath is the longest path that a frame can carry.
const maxPath = 4096

// maxChunk is the largest raw chunk that may arrive.
const maxChunk = 1 << 20

// The receiver of one file.
const (
	recvNew       recvState = iota
	recvRequested           // the upload request is out, transfer_init is not in
	recvRefusing            // nobody wants it any more; transfer_init will be refused
	recvOpening             // the place is being opened
	recvAsking              // a person of this side is asked
	recvReceiving           // chunks are coming in
	recvFinishing           // the last chunk is in, the file is not published
	recvClosing             // it failed, the worker puts its things away
	recvPublished           // transfer_complete {ok: true} is out, transfer_finish is not in
	recvEnded
	numRecvStates
)

type recvState uint8

// How a failing receiver answers.
const (
	answerNone answer = iota // the peer is gone or ended it itself
	answerResponse
	answerComplete
	answerCancel
)

type answer uint8

// receiver is the whole state of a receiving transfer.
type receiver struct {
	id    uuid.UUID
	terms terms
	state recvState
	// limit is the largest size that is taken.
	limit int64
	// request is what this side asked for: the only place the file may go to.
	// nil where the sender chooses.
	request *frames.ClientFileUploadRequest

	total int64
	hash  string
	// next is the seq of the next chunk, received the bytes that came, written
	// those of them that are on disk, queued the chunks between the two.
	next, received, written int64
	queued                  int

	// asked: a person of this side was asked, so the sender hears how it goes on.
	asked bool
	// peer is what the sender tells of its own progress.
	peer   reported
	answer answer
	check  *frames.HashCheck
	// failed is why it ends, nil for success. It counts once it was resolved.
	failed *fault.Error
	path   string
	shown  State
}

func newReceiver(id uuid.UUID, limit int64, request *frames.ClientFileUploadRequest, t terms) *receiver {
	return &receiver{id: id, terms: t, limit: limit, request: request, shown: StateHashing}
}

type recvStep func(r receiver, ev event) (receiver, []effect)

// recvTable says what a receiver does about an event in a state. No entry: a
// frame of the peer is rejected, anything else is ignored.
var recvTable [numRecvStates][numEvents]recvStep

func init() {
	recvTable = [numRecvStates][numEvents]recvStep{
		recvNew: {
			evBegin:  receiver.ask,
			evInit:   receiver.meet,
			evCancel: receiver.endUnbegun,
			evLost:   receiver.endUnbegun,
		},
		recvRequested: {
			evInit:       receiver.judgeInit,
			evFinish:     receiver.takeLocalFailure,
			evProgress:   receiver.heedEarly,
			evPeerCancel: receiver.takeEarlyCancel,
			evInvalid:    receiver.takeInvalidAnswer,
			evFailed:     receiver.giveUpUnanswered,
			evTimeout:    receiver.timeOutUnanswered,
			evCancel:     receiver.giveUpUnanswered,
			evLost:       receiver.endUnbegun,
		},
		recvRefusing: {
			evInit:       receiver.refuseLate,
			evFinish:     receiver.leave,
			evProgress:   receiver.ignore,
			evPeerCancel: receiver.leave,
			evInvalid:    receiver.refuseLate,
			evTimeout:    receiver.leave,
			evLost:       receiver.leave,
		},
		recvOpening: {
			evInit:       receiver.duplicate,
			evFinish:     receiver.senderGaveUp,
			evProgress:   receiver.ignore,
			evPeerCancel: receiver.takeCancel,
			evInvalid:    receiver.takeInvalid,
			evAsk:        receiver.askPerson,
			evOpened:     receiver.accept,
			evFailed:     receiver.fail,
			evTimeout:    receiver.timeOut,
			evCancel:     receiver.cancel,
			evLost:       receiver.lose,
		},
		// People take their time, and have an end of it elsewhere.
		recvAsking: {
			evInit:       receiver.duplicate,
			evFinish:     receiver.senderGaveUp,
			evProgress:   receiver.ignore,
			evPeerCancel: receiver.takeCancel,
			evInvalid:    receiver.takeInvalid,
			evApproved:   receiver.stage,
			evFailed:     receiver.fail,
			evCancel:     receiver.cancel,
			evLost:       receiver.lose,
		},
		recvReceiving: {
			evInit:       receiver.duplicate,
			evChunk:      receiver.takeChunk,
			evFinish:     receiver.senderGaveUp,
			evProgress:   receiver.heed,
			evPeerCancel: receiver.takeCancel,
			evInvalid:    receiver.takeInvalid,
			evWritten:    receiver.countWritten,
			evFailed:     receiver.fail,
			evTimeout:    receiver.timeOut,
			evCancel:     receiver.cancel,
			evLost:       receiver.lose,
		},
		recvFinishing: {
			evInit:       receiver.duplicate,
			evFinish:     receiver.senderGaveUp,
			evProgress:   receiver.ignore,
			evPeerCancel: receiver.takeCancel,
			evInvalid:    receiver.takeInvalid,
			evWritten:    receiver.countWritten,
			evPublished:  receiver.complete,
			evFailed:     receiver.fail,
			evTimeout:    receiver.timeOut,
			evCancel:     receiver.cancel,
			evLost:       receiver.lose,
		},
		recvClosing: {
			evInit:       receiver.duplicate,
			evResponse:   receiver.ignore,
			evChunk:      receiver.ignore,
			evComplete:   receiver.ignore,
			evFinish:     receiver.hush,
			evProgress:   receiver.ignore,
			evPeerCancel: receiver.hush,
			evInvalid:    receiver.lateInvalid,
			evPublished:  receiver.completeAfterAll,
			evStopped:    receiver.end,
			evTimeout:    receiver.end,
			evLost:       receiver.hush,
		},
		// The file stays, whatever comes.
		recvPublished: {
			evInit:       receiver.duplicate,
			evResponse:   receiver.ignore,
			evChunk:      receiver.ignore,
			evComplete:   receiver.ignore,
			evFinish:     receiver.leave,
			evProgress:   receiver.ignore,
			evPeerCancel: receiver.leave,
			evInvalid:    receiver.lateInvalid,
			evTimeout:    receiver.leave,
			evLost:       receiver.leave,
		},
		recvEnded: {
			evInit:       receiver.duplicate,
			evResponse:   receiver.ignore,
			evChunk:      receiver.ignore,
			evComplete:   receiver.ignore,
			evFinish:     receiver.ignore,
			evProgress:   receiver.ignore,
			evPeerCancel: receiver.ignore,
			evInvalid:    receiver.lateInvalid,
		},
	}
}

// after is the state and the effects that follow an event.
func (r receiver) after(ev event) (receiver, []effect) {
	if step := recvTable[r.state][ev.kind]; step != nil {
		return step(r, ev)
	}
	if ev.kind <= evInvalid {
		return r, []effect{reject}
	}
	return r, nil
}

func (r *receiver) step(ev event) []effect {
	next, effects := r.after(ev)
	*r = next
	return effects
}

func (r receiver) ignore(event) (receiver, []effect) { return r, nil }

func (r receiver) duplicate(event) (receiver, []effect) {
	return r, []effect{send(refuse(r.id, fault.New(common.ErrorCodeDuplicateTransfer)))}
}

// ask requests the upload.
func (r receiver) ask(event) (receiver, []effect) {
	r.state = recvRequested
	return r, []effect{send(r.request), arm}
}

// meet takes the first frame of a transfer that the peer began.
func (r receiver) meet(ev event) (receiver, []effect) {
	if r.request != nil {
		return r, []effect{reject} // not even asked for
	}
	return r.judgeInit(ev)
}

// judgeInit decides on a transfer_init by what can be seen without a disk.
func (r receiver) judgeInit(ev event) (receiver, []effect) {
	f := ev.frame.(*frames.TransferInit)
	r.answer = answerResponse
	switch {
	case f.Hash == nil:
		return r.failWith(fault.New(common.ErrorCodeHashRequired))
	case r.request != nil && !samePlace(r.request, f):
		return r.failWith(fault.Newf(common.ErrorCodeInvalidRequest, "the file was to go to another place"))
	case f.TotalSize > r.limit:
		return r.failWith(tooLarge(f.TotalSize, r.limit, r.terms.receiveLimit()))
	}
	r.total, r.hash = f.TotalSize, *f.Hash
	wanted := *f
	if r.request != nil {
		wanted.Target, wanted.DirName = r.request.RemotePath, &r.request.DirName
		wanted.Attrs = mergeAttrs(r.request.Attrs, f.Attrs)
	}
	r.state, r.shown = recvOpening, StateHashing
	return r, []effect{{kind: fxDo, job: jobOpen, init: &wanted}, arm}
}

// samePlace reports whether an offer goes where it was asked to go. Two
// spellings of one path are the same.
func samePlace(asked *frames.ClientFileUploadRequest, offered *frames.TransferInit) bool {
	return offered.DirName != nil && *offered.DirName == asked.DirName &&
		path.Clean(offered.Target) == path.Clean(asked.RemotePath)
}

// mergeAttrs lets the attributes of first win field by field.
func mergeAttrs(first, second *common.FileAttrs) *common.FileAttrs {
	if first == nil {
		return second
	}
	merged := *first
	if second != nil && merged.Mode == nil {
		merged.Mode = second.Mode
	}
	if second != nil && merged.Mtime == nil {
		merged.Mtime = second.Mtime
	}
	return &merged
}

// takeLocalFailure is the Foot that could not read the file.
func (r receiver) takeLocalFailure(ev event) (receiver, []effect) {
	f := ev.frame.(*frames.TransferFinish)
	if f.Ok {
		return r, []effect{reject}
	}
	return r.endUnanswered(peerFault(f.Error, f.ErrorCode))
}

// takeInvalidAnswer fails an upload whose first answer broke its schema. A
// broken transfer_init is refused at once; after anything else the
// transfer_init may still come.
func (r receiver) takeInvalidAnswer(ev event) (receiver, []effect) {
	switch ev.frameType {
	case frames.FrameTypeTransferInit:
		r.answer = answerResponse
		return r.failWith(ev.fault)
	case frames.FrameTypeTransferChunk, frames.FrameTypeTransferFinish,
		frames.FrameTypeTransferProgress, frames.FrameTypeTransferCancel:
		return r.giveUpUnanswered(ev)
	}
	return r, []effect{reject}
}

// heedEarly takes a Foot's progress with a file that was asked for: it waits for
// its people, or reads the file for its hash.
func (r receiver) heedEarly(ev event) (receiver, []effect) {
	f := ev.frame.(*frames.TransferProgress)
	approval := State(f.State) == StateApproval
	if approval && !r.terms.people || !r.peer.moveOn(f) {
		return r, nil
	}
	switch State(f.State) {
	case StateQueued, StateHashing:
		r.shown = State(f.State)
	case StateApproval:
		r.shown = StateApproval
		return r, []effect{confirm}
	}
	return r, []effect{arm}
}

func (r receiver) takeEarlyCancel(ev event) (receiver, []effect) {
	return r.endUnanswered(cancelledByPeer(ev.frame.(*frames.TransferCancel)))
}

// timeOutUnanswered is a Foot that stays silent, or whose people do.
func (r receiver) timeOutUnanswered(event) (receiver, []effect) {
	code := common.ErrorCodeInitTimeout
	if r.shown == StateApproval {
		code = common.ErrorCodeDeclined
	}
	if !r.terms.cancel {
		return r.endUnanswered(fault.New(code))
	}
	return r.giveUpUnanswered(event{fault: fault.New(code)})
}

func (r receiver) endUnbegun(ev event) (receiver, []effect) { return r.endUnanswered(ev.fault) }

func (r receiver) endUnanswered(why *fault.Error) (receiver, []effect) {
	r.failed, r.shown, r.state = why, endState(why), recvEnded
	return r, []effect{resolve, forget}
}

// giveUpUnanswered ends an upload that the Foot knows of and has not begun. In
// the base protocol it has no frame to hear it by, so its transfer_init is waited
// for and refused.
func (r receiver) giveUpUnanswered(ev event) (receiver, []effect) {
	r.failed, r.shown = ev.fault, endState(ev.fault)
	if r.terms.cancel {
		r.state = recvEnded
		return r, []effect{send(cancelFrame(r.id, ev.fault)), resolve, forget}
	}
	r.state = recvRefusing
	return r, []effect{resolve, arm}
}

func (r receiver) refuseLate(ev event) (receiver, []effect) {
	if ev.kind == evInvalid && ev.frameType != frames.FrameTypeTransferInit {
		return r, nil
	}
	r.state = recvEnded
	return r, []effect{send(refuse(r.id, r.failed)), forget}
}

func (r receiver) askPerson(event) (receiver, []effect) {
	r.state, r.shown, r.asked = recvAsking, StateApproval, true
	return r, []effect{pause, do(jobAsk)}
}

func (r receiver) stage(event) (receiver, []effect) {
	r.state, r.shown = recvOpening, StateHashing
	return r, []effect{do(jobStage), arm}
}

func (r receiver) accept(event) (receiver, []effect) {
	r.state, r.shown, r.answer = recvReceiving, StateStreaming, answerComplete
	return r, []effect{send(&frames.TransferInitResponse{TransferID: r.id, Ok: true}), arm}
}

// takeChunk checks a chunk by numbers alone and passes it on to the worker.
func (r receiver) takeChunk(ev event) (receiver, []effect) {
	f := ev.frame.(*frames.TransferChunk)
	n := int64(len(f.Bytes))
	switch {
	case f.Seq != r.next:
		return r.failWith(fault.Texted(common.ErrorCodeOutOfOrder, outOfOrder(r.next, f.Seq)))
	case n > maxChunk:
		return r.failWith(fault.New(common.ErrorCodeChunkTooLarge))
	case n > r.total-r.received:
		return r.failWith(fault.New(common.ErrorCodeSizeExceeded))
	case f.Last && r.received+n < r.total:
		return r.failWith(fault.New(common.ErrorCodeSizeMismatch))
	}
	effects := []effect{{kind: fxDo, job: jobWrite, last: f.Last}}
	// The time runs from the moment this side waits: for the disk, if a chunk
	// comes while nothing is queued. An empty chunk is no progress.
	if r.queued == 0 && (n > 0 || f.Last) {
		effects = append(effects, arm)
	}
	r.next++
	r.received += n
	r.queued++
	if f.Last {
		r.state, r.shown = recvFinishing, StateVerifying
	}
	return r, effects
}

// heed takes the sender's progress. It is worth new time only while this side
// waits for the sender, and not for its own disk.
func (r receiver) heed(ev event) (receiver, []effect) {
	f := ev.frame.(*frames.TransferProgress)
	if State(f.State) == StateApproval || !r.peer.moveOn(f) || r.queued > 0 {
		return r, nil
	}
	return r, []effect{arm}
}

// countWritten takes the worker's word for a chunk, and with the last one
// compares the digest.
func (r receiver) countWritten(ev event) (receiver, []effect) {
	r.queued--
	r.written += ev.n
	if !ev.last {
		if ev.n == 0 {
			return r, nil
		}
		return r, []effect{arm}
	}
	check := frames.HashCheckOk
	if ev.hash != r.hash {
		check = frames.HashCheckMismatch
		r.check = &check
		return r.failWith(fault.New(common.ErrorCodeHashMismatch))
	}
	r.check = &check
	return r, []effect{do(jobPublish), arm}
}

// complete tells of the published file. Nothing can undo it any more.
func (r receiver) complete(ev event) (receiver, []effect) {
	r.failed, r.path = nil, ev.path
	r.state, r.shown = recvPublished, StateComplete
	done := &frames.TransferComplete{TransferID: r.id, Ok: true, BytesWritten: r.written, HashCheck: r.check}
	if r.terms.path && len(r.path) <= maxPath {
		done.Path = &r.path
	}
	return r, []effect{send(done), resolve, arm}
}

// completeAfterAll is a publication that was under way when the transfer was
// given up. The target is the new file, so that is what everybody hears.
func (r receiver) completeAfterAll(ev event) (receiver, []effect) {
	if r.answer != answerNone {
		return r.complete(ev)
	}
	r.failed, r.path = nil, ev.path
	r.state, r.shown = recvEnded, StateComplete
	return r, []effect{resolve, forget}
}

// senderGaveUp is a transfer_finish before transfer_complete.
func (r receiver) senderGaveUp(ev event) (receiver, []effect) {
	f := ev.frame.(*frames.TransferFinish)
	r.answer = answerNone
	if f.Ok {
		return r.failWith(fault.Newf(common.ErrorCodeSizeMismatch, "the sender finished before the file was complete"))
	}
	return r.failWith(peerFault(f.Error, f.ErrorCode))
}

// takeInvalid fails the transfer by its normal failing answer. A broken
// transfer_init is a second one: it is refused and changes nothing.
func (r receiver) takeInvalid(ev event) (receiver, []effect) {
	switch ev.frameType {
	case frames.FrameTypeTransferInit:
		return r, []effect{send(refuse(r.id, ev.fault))}
	case frames.FrameTypeTransferChunk, frames.FrameTypeTransferFinish,
		frames.FrameTypeTransferProgress, frames.FrameTypeTransferCancel:
		return r.failWith(ev.fault)
	}
	return r, []effect{reject}
}

func (r receiver) lateInvalid(ev event) (receiver, []effect) {
	if ev.frameType == frames.FrameTypeTransferInit {
		return r, []effect{send(refuse(r.id, ev.fault))}
	}
	return r, nil
}

func (r receiver) timeOut(event) (receiver, []effect) {
	switch {
	case r.state == recvOpening:
		return r.failWith(fault.New(common.ErrorCodeInitTimeout))
	case r.state == recvFinishing:
		return r.failWith(fault.Newf(common.ErrorCodeCompleteTimeout, "the disk took too long, or this program stood still"))
	case r.queued > 0:
		return r.failWith(fault.Newf(common.ErrorCodeChunkTimeout, "the disk took too long, or this program stood still"))
	}
	return r.failWith(fault.New(common.ErrorCodeChunkTimeout))
}

func (r receiver) lose(ev event) (receiver, []effect) {
	r.answer = answerNone
	return r.failWith(ev.fault)
}

// hush is a peer that is gone, or ended it, while the failure was on its way.
func (r receiver) hush(ev event) (receiver, []effect) {
	r.answer = answerNone
	if ev.kind == evLost {
		return r, []effect{grace}
	}
	return r, nil
}

// takeCancel is the end by the sender's wish. It does not wait for an answer.
func (r receiver) takeCancel(ev event) (receiver, []effect) {
	r.answer = answerNone
	return r.failWith(cancelledByPeer(ev.frame.(*frames.TransferCancel)))
}

// cancel is the end by the wish of this side.
func (r receiver) cancel(ev event) (receiver, []effect) {
	if r.terms.cancel && ev.fault.Code == common.ErrorCodeCancelled {
		r.answer = answerCancel
	}
	return r.failWith(ev.fault)
}

func (r receiver) fail(ev event) (receiver, []effect) { return r.failWith(ev.fault) }

// failWith lets the worker clear away what the transfer left on the disk
// before the peer and the caller hear of the failure.
func (r receiver) failWith(why *fault.Error) (receiver, []effect) {
	r.failed, r.state = why, recvClosing
	return r, []effect{grace, stop}
}

func (r receiver) end(event) (receiver, []effect) {
	r.state, r.shown = recvEnded, endState(r.failed)
	effects := make([]effect, 0, 3)
	switch r.answer {
	case answerResponse:
		effects = append(effects, send(refuse(r.id, r.failed)))
	case answerComplete:
		effects = append(effects, send(failComplete(r.id, r.failed, r.written, r.check)))
	case answerCancel:
		effects = append(effects, send(cancelFrame(r.id, r.failed)))
	}
	return r, append(effects, resolve, forget)
}

func (r receiver) leave(event) (receiver, []effect) {
	r.state = recvEnded
	return r, []effect{forget}
}

func (r *receiver) waitsForDisk() bool {
	switch r.state {
	case recvOpening, recvFinishing, recvClosing:
		return true
	case recvReceiving:
		return r.queued > 0
	}
	return false
}

func (r *receiver) view() view {
	switch r.state {
	case recvRequested:
		return view{state: r.shown, bytes: r.peer.bytes, total: r.peer.total}
	case recvOpening, recvAsking:
		return view{state: r.shown, total: r.total, shared: r.asked}
	case recvReceiving, recvFinishing:
		return view{state: r.shown, bytes: r.written, total: r.total, shared: true}
	}
	return view{state: r.shown, bytes: r.written, total: r.total}
}

func (r *receiver) outcome() (Result, *fault.Error) {
	if r.failed != nil {
		return Result{ID: r.id}, r.failed
	}
	return Result{ID: r.id, BytesWritten: r.written, Hash: r.hash, Path: r.path}, nil
}

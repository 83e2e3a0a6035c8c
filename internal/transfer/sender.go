package transfer

import (
	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// The sender of one file.
const (
	sendNew       sendState = iota
	sendOpening             // the source is being opened
	sendAsking              // a person of this side is asked
	sendHashing             // the source is being hashed
	sendOffered             // transfer_init is out, its answer is not in
	sendStreaming           // chunks are going out
	sendVerifying           // the last chunk is out, transfer_complete is not in
	sendClosing             // the outcome is known, the worker puts its things away
	sendEnded
	numSendStates
)

type sendState uint8

// sender is the whole state of a sending transfer.
type sender struct {
	id    uuid.UUID
	terms terms
	state sendState
	// limit is the largest size that may be sent.
	limit int64
	// told: the peer knows the transfer, so it hears of its end. A requested
	// upload is told from the start, a download from its transfer_init on.
	told bool
	// offer is the transfer_init, complete once the source is hashed.
	offer *frames.TransferInit
	// hashed and sent count bytes, peer is what the receiver tells of its own.
	hashed, sent int64
	peer         reported
	// path is what the receiver published, "" if it did not say.
	path string
	// cancelled: this side ended it by a transfer_cancel.
	cancelled bool
	// failed is why it ends, nil for success. It counts from sendClosing on.
	failed *fault.Error
	shown  State
}

func newSender(id uuid.UUID, limit int64, requested bool, t terms) *sender {
	return &sender{id: id, terms: t, limit: limit, told: requested, shown: StateHashing}
}

type sendStep func(s sender, ev event) (sender, []effect)

// sendTable says what a sender does about an event in a state. No entry: a
// frame of the peer is rejected, anything else is ignored.
var sendTable [numSendStates][numEvents]sendStep

func init() {
	sendTable = [numSendStates][numEvents]sendStep{
		sendNew: {
			evInit:   sender.duplicate,
			evBegin:  sender.begin,
			evCancel: sender.fail,
			evLost:   sender.lose,
		},
		sendOpening: {
			evInit:       sender.duplicate,
			evProgress:   sender.hearEarly,
			evPeerCancel: sender.hearEarly,
			evInvalid:    sender.takeInvalidEarly,
			evOpened:     sender.judgeSize,
			evFailed:     sender.fail,
			evCancel:     sender.cancel,
			evLost:       sender.lose,
		},
		sendAsking: {
			evInit:       sender.duplicate,
			evProgress:   sender.hearEarly,
			evPeerCancel: sender.hearEarly,
			evInvalid:    sender.takeInvalidEarly,
			evApproved:   sender.hash,
			evFailed:     sender.fail,
			evCancel:     sender.cancel,
			evLost:       sender.lose,
		},
		sendHashing: {
			evInit:       sender.duplicate,
			evProgress:   sender.hearEarly,
			evPeerCancel: sender.hearEarly,
			evInvalid:    sender.takeInvalidEarly,
			evRead:       sender.countRead,
			evHashed:     sender.offerFile,
			evFailed:     sender.fail,
			evCancel:     sender.cancel,
			evLost:       sender.lose,
		},
		sendOffered: {
			evInit:       sender.duplicate,
			evResponse:   sender.takeResponse,
			evProgress:   sender.heed,
			evPeerCancel: sender.takeCancel,
			evInvalid:    sender.takeInvalid,
			evFailed:     sender.fail,
			evTimeout:    sender.timeOut,
			evCancel:     sender.cancel,
			evLost:       sender.lose,
		},
		sendStreaming: {
			evInit:       sender.duplicate,
			evComplete:   sender.endEarly,
			evProgress:   sender.heed,
			evPeerCancel: sender.takeCancel,
			evInvalid:    sender.takeInvalid,
			evSending:    sender.countChunk,
			evSent:       sender.moveOn,
			evFailed:     sender.fail,
			evTimeout:    sender.timeOut,
			evCancel:     sender.cancel,
			evLost:       sender.lose,
		},
		sendVerifying: {
			evInit:       sender.duplicate,
			evComplete:   sender.takeComplete,
			evProgress:   sender.heed,
			evPeerCancel: sender.takeCancel,
			evInvalid:    sender.takeInvalid,
			evSent:       sender.moveOn,
			evFailed:     sender.fail,
			evTimeout:    sender.timeOut,
			evCancel:     sender.cancel,
			evLost:       sender.lose,
		},
		// Nothing of the peer can change the outcome any more.
		sendClosing: {
			evInit:       sender.duplicate,
			evResponse:   sender.ignore,
			evChunk:      sender.ignore,
			evComplete:   sender.ignore,
			evFinish:     sender.ignore,
			evProgress:   sender.ignore,
			evPeerCancel: sender.ignore,
			evInvalid:    sender.lateInvalid,
			evStopped:    sender.end,
			evTimeout:    sender.end,
			evLost:       sender.hush,
		},
		sendEnded: {
			evInit:       sender.duplicate,
			evResponse:   sender.ignore,
			evChunk:      sender.ignore,
			evComplete:   sender.ignore,
			evFinish:     sender.ignore,
			evProgress:   sender.ignore,
			evPeerCancel: sender.ignore,
			evInvalid:    sender.lateInvalid,
		},
	}
}

// after is the state and the effects that follow an event.
func (s sender) after(ev event) (sender, []effect) {
	if step := sendTable[s.state][ev.kind]; step != nil {
		return step(s, ev)
	}
	if ev.kind <= evInvalid {
		return s, []effect{reject}
	}
	return s, nil
}

func (s *sender) step(ev event) []effect {
	next, effects := s.after(ev)
	*s = next
	return effects
}

func (s sender) ignore(event) (sender, []effect) { return s, nil }

func (s sender) duplicate(event) (sender, []effect) {
	return s, []effect{send(refuse(s.id, fault.New(common.ErrorCodeDuplicateTransfer)))}
}

func (s sender) begin(event) (sender, []effect) {
	s.state = sendOpening
	return s, []effect{do(jobOpen)}
}

// judgeSize refuses a file that is too large before anything of it is read, and
// before anybody is asked about it.
func (s sender) judgeSize(ev event) (sender, []effect) {
	if ev.n > s.limit {
		return s.failWith(tooLarge(ev.n, s.limit, s.terms.sendLimit()))
	}
	s.offer = ev.init
	if ev.asks {
		s.state, s.shown = sendAsking, StateApproval
		return s, []effect{do(jobAsk)}
	}
	return s.hash(ev)
}

func (s sender) hash(event) (sender, []effect) {
	s.state, s.shown = sendHashing, StateHashing
	return s, []effect{do(jobHash)}
}

// hearEarly takes what a peer says before the offer: only of a file that it
// asked for does it know.
func (s sender) hearEarly(ev event) (sender, []effect) {
	switch {
	case !s.told:
		return s, []effect{reject}
	case ev.kind == evPeerCancel:
		return s.takeCancel(ev)
	}
	return s, nil
}

func (s sender) countRead(ev event) (sender, []effect) {
	s.hashed += ev.n
	return s, nil
}

func (s sender) offerFile(ev event) (sender, []effect) {
	offer := *s.offer
	offer.Hash = &ev.hash
	s.offer, s.told = &offer, true
	s.state = sendOffered
	return s, []effect{send(s.offer), arm}
}

func (s sender) takeResponse(ev event) (sender, []effect) {
	f := ev.frame.(*frames.TransferInitResponse)
	if !f.Ok {
		return s.failWith(peerFault(f.Error, f.ErrorCode))
	}
	s.state, s.shown = sendStreaming, StateStreaming
	return s, []effect{do(jobStream), arm}
}

// heed takes the receiver's progress: what moved on gets its phase's time anew.
// Waiting for approval is a Foot's alone, comes before its answer, and has a time
// of its own.
func (s sender) heed(ev event) (sender, []effect) {
	f := ev.frame.(*frames.TransferProgress)
	approval := State(f.State) == StateApproval
	if approval && (!s.terms.people || s.state != sendOffered) || !s.peer.moveOn(f) {
		return s, nil
	}
	if approval {
		s.shown = StateApproval
		return s, []effect{confirm}
	}
	if s.shown == StateApproval {
		s.shown = StateHashing
	}
	return s, []effect{arm}
}

// takeCancel is the end by the peer's wish. It does not wait for an answer.
func (s sender) takeCancel(ev event) (sender, []effect) {
	s.told = false
	return s.failWith(cancelledByPeer(ev.frame.(*frames.TransferCancel)))
}

// cancel is the end by the wish of this side.
func (s sender) cancel(ev event) (sender, []effect) {
	s.cancelled = s.terms.cancel && ev.fault.Code == common.ErrorCodeCancelled
	return s.failWith(ev.fault)
}

// countChunk runs before a chunk is handed over, so that the answer to the last
// one cannot overtake the knowledge that it was the last.
func (s sender) countChunk(ev event) (sender, []effect) {
	s.sent += ev.n
	if ev.last {
		s.state, s.shown = sendVerifying, StateVerifying
	}
	return s, nil
}

func (s sender) moveOn(event) (sender, []effect) { return s, []effect{arm} }

// endEarly takes a transfer_complete before the last chunk: a failure of the
// receiver, or a success that cannot be one.
func (s sender) endEarly(ev event) (sender, []effect) {
	f := ev.frame.(*frames.TransferComplete)
	if f.Ok {
		return s.failWith(fault.Newf(common.ErrorCodeSizeMismatch, "the receiver reported success before the last chunk"))
	}
	return s.failWith(peerFault(f.Error, f.ErrorCode))
}

func (s sender) takeComplete(ev event) (sender, []effect) {
	f := ev.frame.(*frames.TransferComplete)
	switch {
	case !f.Ok:
		return s.failWith(peerFault(f.Error, f.ErrorCode))
	case f.BytesWritten != s.offer.TotalSize:
		return s.failWith(fault.Newf(common.ErrorCodeSizeMismatch, "the receiver reported success with %d of %d bytes",
			f.BytesWritten, s.offer.TotalSize))
	case f.HashCheck != nil && *f.HashCheck != frames.HashCheckOk:
		return s.failWith(fault.New(common.ErrorCodeHashMismatch))
	}
	if s.terms.path && f.Path != nil {
		s.path = *f.Path
	}
	return s.close()
}

// takeInvalid fails the transfer by its normal failing answer. A broken
// transfer_init is a second one: it is refused and changes nothing.
func (s sender) takeInvalid(ev event) (sender, []effect) {
	switch ev.frameType {
	case frames.FrameTypeTransferInit:
		return s, []effect{send(refuse(s.id, ev.fault))}
	case frames.FrameTypeTransferInitResponse, frames.FrameTypeTransferComplete,
		frames.FrameTypeTransferProgress, frames.FrameTypeTransferCancel:
		return s.failWith(ev.fault)
	}
	return s, []effect{reject}
}

// takeInvalidEarly is takeInvalid before the offer, where a peer that asked for
// the file has little to say.
func (s sender) takeInvalidEarly(ev event) (sender, []effect) {
	switch ev.frameType {
	case frames.FrameTypeTransferProgress, frames.FrameTypeTransferCancel:
		if s.told {
			return s.failWith(ev.fault)
		}
	}
	return s, []effect{reject}
}

func (s sender) lateInvalid(ev event) (sender, []effect) {
	if ev.frameType == frames.FrameTypeTransferInit {
		return s, []effect{send(refuse(s.id, ev.fault))}
	}
	return s, nil
}

func (s sender) fail(ev event) (sender, []effect) { return s.failWith(ev.fault) }

func (s sender) timeOut(event) (sender, []effect) {
	code := map[sendState]common.ErrorCode{
		sendOffered:   common.ErrorCodeInitTimeout,
		sendStreaming: common.ErrorCodeChunkTimeout,
		sendVerifying: common.ErrorCodeCompleteTimeout,
	}[s.state]
	if s.shown == StateApproval {
		code = common.ErrorCodeDeclined
	}
	return s.failWith(fault.New(code))
}

func (s sender) lose(ev event) (sender, []effect) {
	s.told = false
	return s.failWith(ev.fault)
}

// hush is a connection that was lost when the outcome was known.
func (s sender) hush(event) (sender, []effect) {
	s.told = false
	return s, []effect{grace}
}

func (s sender) failWith(why *fault.Error) (sender, []effect) {
	s.failed = why
	return s.close()
}

// close lets the worker stop before the last frame goes out: no chunk follows
// a transfer_finish, and nothing of the source is open when the caller hears.
func (s sender) close() (sender, []effect) {
	s.state = sendClosing
	return s, []effect{grace, stop}
}

func (s sender) end(event) (sender, []effect) {
	s.state = sendEnded
	s.shown = endState(s.failed)
	effects := make([]effect, 0, 3)
	switch {
	case !s.told:
	case s.failed == nil:
		effects = append(effects, send(&frames.TransferFinish{TransferID: s.id, Ok: true}))
	case s.cancelled:
		effects = append(effects, send(cancelFrame(s.id, s.failed)))
	default:
		effects = append(effects, send(failFinish(s.id, s.failed)))
	}
	return s, append(effects, resolve, forget)
}

func (s *sender) waitsForDisk() bool { return s.state == sendClosing }

func (s *sender) view() view {
	v := view{state: s.shown, bytes: s.sent, shared: s.told}
	switch s.state {
	case sendNew, sendOpening, sendClosing, sendEnded:
		v.shared = false
	case sendHashing, sendOffered:
		v.bytes = s.hashed
	}
	if s.offer != nil {
		v.total = s.offer.TotalSize
	}
	return v
}

func (s *sender) outcome() (Result, *fault.Error) {
	if s.failed != nil {
		return Result{ID: s.id}, s.failed
	}
	path := s.offer.Target
	if s.path != "" {
		path = s.path
	}
	return Result{ID: s.id, BytesWritten: s.offer.TotalSize, Hash: *s.offer.Hash, Path: path}, nil
}

// endState is how people see an end.
func endState(why *fault.Error) State {
	switch {
	case why == nil:
		return StateComplete
	case why.Code == common.ErrorCodeCancelled:
		return StateCancelled
	}
	return StateFailed
}

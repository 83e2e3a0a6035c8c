package transfer

import (
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// What happens to a transfer. The first block comes from the peer, the second
// from this side's own goroutine (the transfer's worker), the third from
// outside of both.
const (
	evInit       eventKind = iota // transfer_init
	evResponse                    // transfer_init_response
	evChunk                       // transfer_chunk
	evComplete                    // transfer_complete
	evFinish                      // transfer_finish
	evProgress                    // transfer_progress
	evPeerCancel                  // transfer_cancel
	evInvalid                     // a frame of this transfer that broke its schema

	evAsk       // the place is known, and a person has to approve first
	evApproved  // the person has
	evOpened    // the source or the place is open
	evRead      // a part of the source is hashed
	evHashed    // the source is hashed
	evSending   // a chunk is about to be handed to the link
	evSent      // the link took it
	evWritten   // a received chunk is written; with the last one comes the digest
	evPublished // the target is the received file
	evFailed    // the worker could not go on
	evStopped   // the worker has put everything away

	evBegin   // somebody here wants the transfer
	evTimeout // the time of the phase is over
	evCancel  // somebody here no longer wants it
	evLost    // the connection is gone
	numEvents
)

type eventKind uint8

// event is one thing that happened, with what it brought along.
type event struct {
	kind  eventKind
	frame frames.Frame // the frame of evInit … evFinish
	// what evInvalid would have been, and why it is none
	frameType frames.FrameType
	fault     *fault.Error // of evInvalid, evFailed, evCancel, evLost

	n    int64  // bytes of evRead, evSending, evSent, evWritten; size of evOpened
	last bool   // evSending, evSent, evWritten
	asks bool   // evOpened of a source: a person has to approve first
	hash string // evHashed, evWritten with last
	path string // evAsk, evOpened, evPublished
	init *frames.TransferInit

	// The memory of a chunk and what it counts; no step looks at them.
	payload []byte
	cost    int64
}

// What a step asks for.
const (
	fxSend    effectKind = iota // send frame to the peer
	fxDo                        // give the worker a job
	fxStop                      // let the worker drop what it has, put everything away and report evStopped
	fxArm                       // start the phase's time anew
	fxConfirm                   // start the time that people have to approve
	fxPause                     // no time runs
	fxGrace                     // start the time a stopping worker has
	fxReject                    // tell the peer that its frame fits no transfer
	fxResolve                   // the outcome is known: the caller may have it
	fxForget                    // the transfer leaves the map, its id is remembered
)

type effectKind uint8

// job is what a worker can be asked to do.
type job uint8

const (
	jobOpen    job = iota // open the source or the place
	jobAsk                // ask the person
	jobStage              // open the place that was approved
	jobHash               // hash the source
	jobStream             // send the source in chunks
	jobWrite              // hash and write the chunk of this event
	jobPublish            // make the staging file the target
)

type effect struct {
	kind  effectKind
	frame frames.Frame
	job   job
	init  *frames.TransferInit // jobOpen of a receiver
	last  bool                 // jobWrite
}

func send(f frames.Frame) effect { return effect{kind: fxSend, frame: f} }
func do(j job) effect            { return effect{kind: fxDo, job: j} }

var (
	arm     = effect{kind: fxArm}
	confirm = effect{kind: fxConfirm}
	pause   = effect{kind: fxPause}
	grace   = effect{kind: fxGrace}
	stop    = effect{kind: fxStop}
	reject  = effect{kind: fxReject}
	resolve = effect{kind: fxResolve}
	forget  = effect{kind: fxForget}
)

// machine is a sender or a receiver.
type machine interface {
	// step takes one event and says what is to be done.
	step(ev event) []effect
	// waitsForDisk: what the phase waits for is this side's own disk.
	waitsForDisk() bool
	// view tells people where the transfer stands.
	view() view
	// outcome is the result or the failure, once it was resolved.
	outcome() (Result, *fault.Error)
}

type view struct {
	state        State
	bytes, total int64
	// shared: the peer has begun the transfer too, so it may hear of this.
	shared bool
}

package transfer

import (
	"strings"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// Features are the extensions of the protocol that this package speaks. Which
// of them are in force is agreed in the handshake of each connection; without
// any of them it is the base protocol.
const Features = frames.FeatureOnExisting | frames.FeatureProgress | frames.FeatureCancel

// terms are what a connection's handshake means for one transfer.
type terms struct {
	cancel bool // the peer knows transfer_cancel
	path   bool // transfer_complete says what was published
	// people: the peer is a Foot, whose people may be asked for their approval.
	people bool
}

// sendLimit names the setting that bounds what this side sends, and where it is.
func (t terms) sendLimit() string {
	if t.people {
		return "vance.transfer.max-download-size at the Brain"
	}
	return "vance.transfer.max-upload-size, the smaller of the Foot's and the Brain's"
}

// receiveLimit does so for what this side receives.
func (t terms) receiveLimit() string {
	if t.people {
		return "vance.transfer.max-upload-size at the Brain"
	}
	return "vance.transfer.max-download-size at the Foot"
}

// tooLarge says which setting a file is too large for.
func tooLarge(size, limit int64, setting string) *fault.Error {
	return fault.Newf(common.ErrorCodeSizeLimit, "the file has %d bytes, at most %d may be transferred (%s)", size, limit, setting)
}

func (s *Session) terms() terms {
	return terms{
		cancel: s.cfg.Features.Has(frames.FeatureCancel),
		path:   s.cfg.Features.Has(frames.FeatureOnExisting),
		people: s.cfg.Role == Brain,
	}
}

// reported is the furthest that a peer's transfer_progress has told.
type reported struct {
	state        State
	bytes, total int64
}

// stages are the states of a transfer_progress in their order. A suspended
// transfer does not move, so that state is none of them.
var stages = map[State]int{
	StateQueued: 1, StateApproval: 2, StateHashing: 3, StateStreaming: 4, StateVerifying: 5,
}

// moveOn takes a transfer_progress, and reports whether it is further than all
// before. Going back, standing still or counting bytes that the file does not
// have moves nothing, so that no peer keeps a transfer alive by words alone.
func (r *reported) moveOn(f *frames.TransferProgress) bool {
	state, bytes := State(f.State), f.Bytes
	switch {
	case stages[state] == 0:
		return false
	case state == StateQueued || state == StateApproval:
		bytes = 0
	case bytes > f.TotalBytes || r.total > 0 && f.TotalBytes != r.total:
		return false
	}
	if stages[state] < stages[r.state] || stages[state] == stages[r.state] && bytes <= r.bytes {
		return false
	}
	r.state, r.bytes, r.total = state, bytes, max(r.total, f.TotalBytes)
	return true
}

// cancelFrame is a transfer_cancel.
func cancelFrame(id uuid.UUID, why *fault.Error) *frames.TransferCancel {
	return &frames.TransferCancel{TransferID: id, Reason: *sayable(why.Text)}
}

// cancelledByPeer is the failure of a transfer that the peer cancelled.
func cancelledByPeer(f *frames.TransferCancel) *fault.Error {
	plain := fault.New(common.ErrorCodeCancelled)
	reason := printable(f.Reason)
	switch {
	case reason == "" || reason == plain.Text:
		return plain
	case strings.HasPrefix(reason, plain.Text+": "):
		return fault.Texted(common.ErrorCodeCancelled, reason)
	}
	return fault.Newf(common.ErrorCodeCancelled, "%s", reason)
}

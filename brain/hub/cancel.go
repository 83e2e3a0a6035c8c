package hub

import (
	"context"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Cancel ends a transfer that runs or waits, and returns how it ended: one that
// was quicker, or had ended before, is not undone. With an owner it refuses the
// transfers that other tokens asked for.
func (h *Hub) Cancel(ctx context.Context, p workspace.Project, id common.TransferID, owner string) (common.TransferState, error) {
	e := h.ledger.find(p, id)
	switch {
	case e == nil:
		return "", fault.Texted(common.ErrorCodeNotFound, "no such transfer runs or ended in the last ten minutes")
	case owner != "" && e.owner != owner:
		return "", fault.Newf(common.ErrorCodeAccessDenied, "the transfer was asked for with another token")
	}
	e.cancel()
	select {
	case <-e.over:
		return h.ledger.state(e), nil
	case <-ctx.Done():
		return "", fault.From(context.Cause(ctx))
	}
}

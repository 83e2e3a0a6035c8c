package api

import (
	"context"

	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/gen/api"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// lists answers the requests for lists.
type lists struct{ Options }

var _ api.StrictServerInterface = (*lists)(nil)

// ListFeet answers GET …/feet.
func (l *lists) ListFeet(ctx context.Context, _ api.ListFeetRequestObject) (api.ListFeetResponseObject, error) {
	project, err := projectOf(ctx)
	if err != nil {
		return nil, err
	}
	return api.ListFeet200JSONResponse{Feet: listed(l.Feet.Feet(project))}, nil
}

// ListDirs answers GET …/dirs.
func (l *lists) ListDirs(ctx context.Context, _ api.ListDirsRequestObject) (api.ListDirsResponseObject, error) {
	project, err := projectOf(ctx)
	if err != nil {
		return nil, err
	}
	dirs, err := l.Dirs.Tell(ctx, project)
	if err != nil {
		return nil, err
	}
	return api.ListDirs200JSONResponse{Dirs: listed(dirs)}, nil
}

// ListTransfers answers GET …/transfers.
func (l *lists) ListTransfers(ctx context.Context, r api.ListTransfersRequestObject) (api.ListTransfersResponseObject, error) {
	project, err := projectOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Params.Validate(); err != nil {
		return nil, fault.Newf(common.ErrorCodeInvalidRequest, "%v", err)
	}
	transfers := listed(l.Feet.Transfers(project))
	if limit := r.Params.Limit; limit != nil && *limit < int64(len(transfers)) {
		transfers = transfers[:*limit]
	}
	return api.ListTransfers200JSONResponse{Transfers: transfers}, nil
}

// CancelTransfer answers DELETE …/transfers/{id}.
func (l *lists) CancelTransfer(ctx context.Context, r api.CancelTransferRequestObject) (api.CancelTransferResponseObject, error) {
	project, err := projectOf(ctx)
	if err != nil {
		return nil, err
	}
	state, err := l.Feet.Cancel(ctx, project, r.ID, onlyOwn(ctx))
	if p, ok := auth.From(ctx); ok && l.OnCancelled != nil {
		l.OnCancelled(p, r.ID, state, err)
	}
	if err != nil {
		return nil, err
	}
	return api.CancelTransfer200JSONResponse{TransferID: r.ID, State: state}, nil
}

// onlyOwn returns the token whose transfers alone may be cancelled, or nothing
// when all of the project may.
func onlyOwn(ctx context.Context) string {
	if p, ok := auth.From(ctx); ok && p.Access == common.AccessRead {
		return p.TokenID
	}
	return ""
}

// listed makes sure that an empty list is sent as one, not as null.
func listed[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

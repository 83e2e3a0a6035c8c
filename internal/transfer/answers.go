package transfer

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// refuse is a transfer_init_response that says no.
func refuse(id uuid.UUID, why *fault.Error) *frames.TransferInitResponse {
	return &frames.TransferInitResponse{TransferID: id, Error: &why.Text, ErrorCode: &why.Code}
}

// failComplete is a transfer_complete that says no.
func failComplete(id uuid.UUID, why *fault.Error, written int64, check *frames.HashCheck) *frames.TransferComplete {
	return &frames.TransferComplete{TransferID: id, Error: &why.Text, ErrorCode: &why.Code,
		BytesWritten: written, HashCheck: check}
}

// failFinish is a transfer_finish that says no.
func failFinish(id uuid.UUID, why *fault.Error) *frames.TransferFinish {
	return &frames.TransferFinish{TransferID: id, Error: &why.Text, ErrorCode: &why.Code}
}

// outOfOrder is the whole text of the code of that name.
func outOfOrder(expected, got int64) string {
	return fmt.Sprintf("out-of-order chunk: expected %d, got %d", expected, got)
}

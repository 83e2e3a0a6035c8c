package transfer

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// refuse is a transfer_init_response that says no.
func refuse(id uuid.UUID, why *fault.Error) *frames.TransferInitResponse {
	return &frames.TransferInitResponse{TransferID: id, Error: sayable(why.Text), ErrorCode: &why.Code}
}

// failComplete is a transfer_complete that says no.
func failComplete(id uuid.UUID, why *fault.Error, written int64, check *frames.HashCheck) *frames.TransferComplete {
	return &frames.TransferComplete{TransferID: id, Error: sayable(why.Text), ErrorCode: &why.Code,
		BytesWritten: written, HashCheck: check}
}

// failFinish is a transfer_finish that says no.
func failFinish(id uuid.UUID, why *fault.Error) *frames.TransferFinish {
	return &frames.TransferFinish{TransferID: id, Error: sayable(why.Text), ErrorCode: &why.Code}
}

// outOfOrder is the whole text of the code of that name.
func outOfOrder(expected, got int64) string {
	return fmt.Sprintf("out-of-order chunk: expected %d, got %d", expected, got)
}

// maxText bounds the error text of a frame, which may quote a long path.
const maxText = 1024

// sayable is a text as a frame can carry it.
func sayable(text string) *string {
	text = cut(strings.ToValidUTF8(text, "\uFFFD"), maxText)
	return &text
}

// cut ends a text that is too long at a rune.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// askable says why a frame made of what a caller asked for cannot be sent: the
// caller should hear of it, not the peer.
func askable(f frames.Frame) *fault.Error {
	err := f.Validate()
	var invalid *common.DecodeError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &invalid):
		return fault.From(err)
	case invalid.Code == common.ErrorCodeInvalidFrame:
		return fault.Newf(common.ErrorCodeInvalidRequest, "%s: %s", invalid.Place, invalid.Reason)
	}
	return fault.New(invalid.Code)
}

package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/tools"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

// longestError is the most that an output schema allows for an error's text.
const longestError = 4096

// refusal says how a kind of tool answers when it fails; id is nil until a
// transfer was begun.
type refusal func(f *fault.Error, id *uuid.UUID) Result

// typed makes a row's run function of its decoder and its body.
func typed[In, Out any](
	decode func([]byte) (*In, error),
	body func(context.Context, *Tools, Caller, *In) (answer[Out], error),
) runner {
	return func(ctx context.Context, t *Tools, c Caller, arguments json.RawMessage, refuse refusal) Result {
		in, err := decode(arguments)
		if err != nil {
			return refuse(badArguments(err), nil)
		}
		a, err := body(ctx, t, c, in)
		if err != nil {
			return refuse(t.tell(err), a.id)
		}
		return encoded(a.out, a.text, false)
	}
}

// answer is what a body returns: its output and one line of text, or the id of
// the transfer that failed.
type answer[Out any] struct {
	out  Out
	text string
	id   *uuid.UUID
}

// badArguments names the argument that was refused.
func badArguments(err error) *fault.Error {
	var d *common.DecodeError
	if !errors.As(err, &d) {
		return fault.Wrapf(common.ErrorCodeInvalidRequest, err, "the arguments cannot be read")
	}
	place := strings.TrimPrefix(d.Place, "/")
	if place == "" {
		place = "the arguments"
	}
	return fault.Newf(d.Code, "%s: %s", place, d.Reason)
}

// tell prepares a failure for its reader: harmless and not too long. What is
// internal goes to the log, as its reader learns no more than that.
func (t *Tools) tell(err error) *fault.Error {
	f := fault.From(err)
	if f.Code == common.ErrorCodeInternal && t.Log != nil {
		t.Log.Error("a tool failed", "err", f.Text, "cause", errors.Unwrap(f))
	}
	text := []rune(safetext.Escape(f.Text))
	if len(text) > longestError {
		text = append(text[:longestError-1], '…')
	}
	return fault.Texted(f.Code, string(text))
}

// failed is the answer of a tool that moves no file. All of them answer a
// failure with the same three fields.
func failed(f *fault.Error, _ *uuid.UUID) Result {
	return encoded(tools.ClientListOutput{Error: &f.Text, ErrorCode: &f.Code}, sentence(f), true)
}

// failedLookup is failed for tools that look for a transfer.
func failedLookup(f *fault.Error, id *uuid.UUID) Result {
	if f.Code != common.ErrorCodeNotFound {
		return failed(f, id)
	}
	return encoded(tools.ClientListOutput{Error: &f.Text, ErrorCode: &f.Code}, sentenceWith(f, otherTransfers), true)
}

// failedTransfer is the answer of a transfer tool: nothing was written.
func failedTransfer(f *fault.Error, id *uuid.UUID) Result {
	none := int64(0)
	return encoded(tools.ClientFileUploadOutput{
		Error:        &f.Text,
		ErrorCode:    &f.Code,
		TransferID:   id,
		BytesWritten: &none,
	}, sentence(f), true)
}

func encoded(out any, text string, isFailure bool) Result {
	raw, err := json.Marshal(out)
	if err != nil { // the generated outputs always marshal
		return Result{
			Output: json.RawMessage(`{"ok":false,"error":"internal error","errorCode":"internal"}`),
			Text:   "internal error",
			Failed: true,
		}
	}
	return Result{Output: raw, Text: text, Failed: isFailure}
}

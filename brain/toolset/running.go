package toolset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/tools"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

func transferStatus(_ context.Context, t *Tools, c Caller, in *tools.TransferStatusInput) (answer[tools.TransferStatusOutput], error) {
	told := t.Hub.Transfers(c.Project)
	if in.TransferID != nil {
		told = slices.DeleteFunc(told, func(s common.TransferStatus) bool { return s.TransferID != *in.TransferID })
		if len(told) == 0 {
			return answer[tools.TransferStatusOutput]{}, fault.Texted(common.ErrorCodeNotFound, "no such transfer runs or ended in the last ten minutes")
		}
	}
	for i := range told {
		told[i].Path = safetext.Escape(told[i].Path)
	}
	return answer[tools.TransferStatusOutput]{
		out:  tools.TransferStatusOutput{Ok: true, Transfers: told},
		text: oneLine(standing(told)),
	}, nil
}

// standing says in a line where transfers stand.
func standing(told []common.TransferStatus) string {
	if len(told) == 1 {
		s := told[0]
		text := fmt.Sprintf("The %s of %s is %s at %d of %d bytes.", s.Direction, safetext.Quote(s.Path), words(s.State), s.Bytes, s.TotalBytes)
		if s.Error != nil {
			text += " " + *s.Error
		}
		return text
	}
	count := map[common.TransferState]int{}
	for _, s := range told {
		count[s.State]++
	}
	parts := make([]string, 0, len(count))
	for state, n := range count {
		parts = append(parts, fmt.Sprintf("%d %s", n, words(state)))
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "No transfer runs, and none ended in the last ten minutes."
	}
	return fmt.Sprintf("%d transfers: %s.", len(told), strings.Join(parts, ", "))
}

func words(s common.TransferState) string { return strings.ReplaceAll(string(s), "_", " ") }

func transferCancel(ctx context.Context, t *Tools, c Caller, in *tools.TransferCancelInput) (answer[tools.TransferCancelOutput], error) {
	owner := c.TokenID
	if c.mayEdit() {
		owner = ""
	}
	state, err := t.Hub.Cancel(ctx, c.Project, in.TransferID, owner)
	if err != nil {
		return answer[tools.TransferCancelOutput]{}, err
	}
	text := "The transfer is cancelled; nothing was written."
	if state != common.TransferStateCancelled {
		text = fmt.Sprintf("The transfer had ended before: it is %s.", words(state))
	}
	return answer[tools.TransferCancelOutput]{
		out:  tools.TransferCancelOutput{Ok: true, TransferID: &in.TransferID, State: &state},
		text: text,
	}, nil
}

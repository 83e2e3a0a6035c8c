package hub

import (
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/transfer"
)

func TestTheTimeInEachPhaseAddsUp(t *testing.T) {
	l, c := newTestLedger()
	id := uuid.New()
	l.begin(acme, "owner", common.TransferStatus{TransferID: id}, nil, func() {})
	for _, step := range []struct {
		after time.Duration
		state transfer.State
	}{
		{time.Second, transfer.StateHashing},
		{2 * time.Second, transfer.StateStreaming},
		{4 * time.Second, transfer.StateStreaming},
		{8 * time.Second, transfer.StateVerifying},
		{16 * time.Second, transfer.StateStreaming},
	} {
		c.at = c.at.Add(step.after)
		l.note(transfer.Event{ID: id, State: step.state})
	}
	c.at = c.at.Add(32 * time.Second)
	e := l.end(id, 1, nil)
	want := map[common.TransferState]time.Duration{
		common.TransferStateQueued:    time.Second,
		common.TransferStateHashing:   2 * time.Second,
		common.TransferStateStreaming: (4 + 8 + 32) * time.Second,
		common.TransferStateVerifying: 16 * time.Second,
	}
	if !maps.Equal(e.phases, want) {
		t.Errorf("%v", e.phases)
	}
	if l.end(id, 1, nil) != nil || l.count() != 0 {
		t.Error("it ended twice")
	}
}

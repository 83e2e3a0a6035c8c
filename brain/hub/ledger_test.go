package hub

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/transfer"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newTestLedger() (*ledger, *clock) {
	c := &clock{time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	l := newLedger()
	l.now = c.now
	return l, c
}

func TestEndedTransfersAreToldForTenMinutes(t *testing.T) {
	l, c := newTestLedger()
	old, running := uuid.New(), uuid.New()
	l.begin(acme, "owner", common.TransferStatus{TransferID: old}, nil, func() {})
	l.begin(acme, "owner", common.TransferStatus{TransferID: running}, nil, func() {})
	l.end(old, 7, nil)
	c.at = c.at.Add(endedKept - time.Second)
	if told := l.list(acme); len(told) != 2 || told[0].TransferID != running {
		t.Errorf("told %+v", told)
	}
	c.at = c.at.Add(time.Second)
	if told := l.list(acme); len(told) != 1 || told[0].TransferID != running {
		t.Errorf("told %+v", told)
	}
	l.end(running, 0, errors.New("secret"))
	if told := l.list(acme); *told[0].Error != "internal error" || *told[0].ErrorCode != common.ErrorCodeInternal {
		t.Errorf("told %+v", told)
	}
	c.at = c.at.Add(endedKept)
	if told := l.list(acme); len(told) != 0 || len(l.ended) != 0 || len(l.running) != 0 {
		t.Errorf("told %+v, %d projects and %d running are left", told, len(l.ended), len(l.running))
	}
}

func TestTenThousandTransfersAreNotAllRemembered(t *testing.T) {
	l, _ := newTestLedger()
	var last uuid.UUID
	for range 10_000 {
		last = uuid.New()
		l.begin(acme, "owner", common.TransferStatus{TransferID: last}, nil, func() {})
		l.end(last, 1, nil)
	}
	told := l.list(acme)
	if len(told) != endedKeptMax || told[0].TransferID != last {
		t.Errorf("%d are told", len(told))
	}
}

func TestTheSpeedIsThatOfTheWholeTransfer(t *testing.T) {
	l, c := newTestLedger()
	id := uuid.New()
	l.begin(acme, "owner", common.TransferStatus{TransferID: id}, nil, func() {})
	c.at = c.at.Add(2 * time.Second)
	l.note(transfer.Event{ID: id, State: transfer.StateStreaming, Bytes: 1000, TotalBytes: 4000})
	if got := l.list(acme)[0]; got.BytesPerSecond != 500 || got.Bytes != 1000 || got.State != "streaming" {
		t.Errorf("told %+v", got)
	}
	c.at = c.at.Add(2 * time.Second)
	l.end(id, 4000, nil)
	c.at = c.at.Add(time.Minute)
	if got := l.list(acme)[0]; got.BytesPerSecond != 1000 {
		t.Errorf("told %+v", got)
	}
}

func TestWhatComesAfterTheEndChangesNothing(t *testing.T) {
	l, _ := newTestLedger()
	id := uuid.New()
	l.begin(acme, "owner", common.TransferStatus{TransferID: id}, nil, func() {})
	l.end(id, 0, fault.New(common.ErrorCodeCancelled))
	l.note(transfer.Event{ID: id, State: transfer.StateStreaming, Bytes: 1})
	l.end(id, 5, nil)
	l.note(transfer.Event{ID: uuid.New(), State: transfer.StateHashing}) // unknown
	if got := l.list(acme)[0]; got.State != common.TransferStateCancelled || got.Bytes != 0 {
		t.Errorf("told %+v", got)
	}
}

func TestWhatIsToldFitsTheSchema(t *testing.T) {
	l, c := newTestLedger()
	fast, failed := uuid.New(), uuid.New()
	l.begin(acme, "owner", common.TransferStatus{TransferID: fast, Direction: "upload"}, nil, func() {})
	l.begin(acme, "owner", common.TransferStatus{TransferID: failed, Direction: "download"}, nil, func() {})
	c.at = c.at.Add(time.Nanosecond)
	l.end(fast, 1<<53-1, nil)
	l.end(failed, 0, fault.Texted(common.ErrorCodeNotFound, "\x1b[2J"+strings.Repeat("\u202e", 5000)))
	for _, told := range l.list(acme) {
		if err := told.Validate(); err != nil {
			t.Errorf("%v: %+v", err, told)
		}
		if told.Error != nil && strings.ContainsAny(*told.Error, "\x1b\u202e") {
			t.Errorf("told %q", *told.Error)
		}
	}
}

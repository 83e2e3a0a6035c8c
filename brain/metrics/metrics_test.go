package metrics

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vancetope/transfer/brain/hub"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// scrape returns the lines of our own metrics.
func scrape(t *testing.T, m *Metrics) map[string]bool {
	t.Helper()
	w := httptest.NewRecorder()
	m.Server().Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatal(w.Code, err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "vancetope_") {
			lines[strings.TrimSpace(line)] = true
		}
	}
	return lines
}

func TestTransfersAreCountedByOutcomeAndCode(t *testing.T) {
	m := New(func() hub.Load { return hub.Load{Feet: 2, Running: 3, Queued: 4} })
	phases := map[common.TransferState]time.Duration{common.TransferStateStreaming: time.Second}
	m.Transfer(hub.Ended{Direction: common.DirectionUpload, Bytes: 5, Phases: phases})
	m.Transfer(hub.Ended{Direction: common.DirectionUpload, Bytes: 7, Phases: phases})
	m.Transfer(hub.Ended{Direction: common.DirectionDownload, Err: fault.New(common.ErrorCodeDiskFull)})
	m.Transfer(hub.Ended{Direction: common.DirectionDownload, Err: fault.New(common.ErrorCodeCancelled)})
	m.Transfer(hub.Ended{Direction: common.DirectionDownload, Err: fault.Texted("made_up_by_a_peer", "x")})
	m.Transfer(hub.Ended{Direction: common.DirectionDownload, Err: errors.New("odd")})
	m.Connection(nil)
	m.Connection(fault.New(common.ErrorCodeUnauthorized))
	m.Call("client_list", "")
	m.Call("client_list", common.ErrorCodeInvalidRequest)
	got := scrape(t, m)
	for _, want := range []string{
		`vancetope_transfers_total{code="ok",direction="upload",outcome="complete"} 2`,
		`vancetope_transfers_total{code="disk_full",direction="download",outcome="failed"} 1`,
		`vancetope_transfers_total{code="cancelled",direction="download",outcome="cancelled"} 1`,
		`vancetope_transfers_total{code="other",direction="download",outcome="failed"} 1`,
		`vancetope_transfers_total{code="internal",direction="download",outcome="failed"} 1`,
		`vancetope_transfer_bytes_total{direction="upload"} 12`,
		`vancetope_transfer_phase_seconds_sum{direction="upload",phase="streaming"} 2`,
		`vancetope_transfer_phase_seconds_count{direction="upload",phase="streaming"} 2`,
		`vancetope_foot_connections_total{code="ok"} 1`,
		`vancetope_foot_connections_total{code="unauthorized"} 1`,
		`vancetope_tool_calls_total{code="ok",tool="client_list"} 1`,
		`vancetope_tool_calls_total{code="invalid_request",tool="client_list"} 1`,
		`vancetope_feet_connected 2`, `vancetope_transfers_running 3`, `vancetope_transfers_queued 4`,
	} {
		if !got[want] {
			t.Errorf("no %s", want)
		}
	}
}

package history

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

func recorder(t *testing.T, dir string) *Recorder {
	t.Helper()
	r := NewRecorder(slog.New(slog.DiscardHandler))
	r.Open(dir)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func read(t *testing.T, dir string) []Entry {
	t.Helper()
	entries, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestEachEndIsOneEntryWithItsTimesAndItsReason(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.clock = func() time.Time { return now }
	good, bad := uuid.New(), uuid.New()
	r.Transfer(ui.Transfer{ID: good, Direction: ui.Download, Path: "a\n.txt", State: ui.Streaming, TotalBytes: 9})
	now = now.Add(2 * time.Second)
	r.Transfer(ui.Transfer{ID: good, Direction: ui.Download, Path: "a\n-1.txt", State: ui.Complete, Bytes: 9, TotalBytes: 9})
	r.Transfer(ui.Transfer{ID: bad, Direction: ui.Upload, Path: "b", State: ui.Failed, Fault: fault.New(common.ErrorCodeDeclined)})
	got := read(t, dir)
	if len(got) != 2 || len(r.started) != 0 {
		t.Fatalf("%d entries, %d transfers remembered", len(got), len(r.started))
	}
	if e := got[0]; e.TransferID != good || e.Path != "a\n-1.txt" || e.State != ui.Complete || e.Bytes != 9 || e.EndedAt.Sub(e.StartedAt) != 2*time.Second || e.ErrorCode != "" {
		t.Errorf("%+v", e)
	}
	if e := got[1]; e.TransferID != bad || e.State != ui.Failed || e.ErrorCode != common.ErrorCodeDeclined || e.Error != "declined" {
		t.Errorf("%+v", e)
	}
	info, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
}

func TestTheHistoryGoesOnAfterARestartAndAHalfLine(t *testing.T) {
	dir := t.TempDir()
	first := recorder(t, dir)
	first.Transfer(ui.Transfer{ID: uuid.New(), Path: "a", State: ui.Complete})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"path":"hal`); err != nil { // killed while it wrote
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	recorder(t, dir).Transfer(ui.Transfer{ID: uuid.New(), Path: "b", State: ui.Complete})
	if got := read(t, dir); len(got) != 2 || got[0].Path != "a" || got[1].Path != "b" {
		t.Errorf("%+v", got)
	}
}

func TestTheFileIsBoundedAndKeepsTheNewest(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, dir)
	long := strings.Repeat("x", 4000)
	const n = 700
	for i := range n {
		r.Transfer(ui.Transfer{ID: uuid.New(), Path: fmt.Sprint(i, " ", long), State: ui.Complete})
		if info, err := os.Stat(filepath.Join(dir, fileName)); err != nil || info.Size() > full {
			t.Fatalf("after %d: %d bytes, %v", i, info.Size(), err)
		}
	}
	got := read(t, dir)
	if len(got) < 100 || len(got) > 260 {
		t.Fatalf("%d entries", len(got))
	}
	for i, e := range got {
		if want := fmt.Sprint(n-len(got)+i, " "); !strings.HasPrefix(e.Path, want) {
			t.Fatalf("entry %d is %.10q, want %q: one is lost", i, e.Path, want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("beside the history: %v, %v", left, err)
	}
}

func TestADiskThatTakesNothingCostsTheLineOnly(t *testing.T) {
	var log bytes.Buffer
	r := NewRecorder(slog.New(slog.NewTextHandler(&log, nil)))
	r.Open(filepath.Join(t.TempDir(), "none"))
	r.Transfer(ui.Transfer{ID: uuid.New(), State: ui.Complete})
	dir := t.TempDir()
	r.Open(dir)
	if err := r.file.f.Close(); err != nil {
		t.Fatal(err)
	}
	r.Transfer(ui.Transfer{ID: uuid.New(), State: ui.Complete})
	for _, want := range []string{"no history is kept", "not in the history"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in the log: %s", want, &log)
		}
	}
}

func TestNoHistoryIsNoError(t *testing.T) {
	dir := t.TempDir()
	if got := read(t, dir); got != nil || Kept(dir) {
		t.Errorf("%v", got)
	}
}

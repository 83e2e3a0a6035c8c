package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/audit"
	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/brain/toolset"
	"github.com/vancetope/transfer/gen/common"
)

func TestWhatWasNotCancelledIsNotAuditedAsCancelled(t *testing.T) {
	for state, want := range map[common.TransferState]string{
		common.TransferStateCancelled: `"outcome":"ok"`,
		common.TransferStateComplete:  `"outcome":"failed","errorCode":"conflict"`,
		common.TransferStateFailed:    `"outcome":"failed","errorCode":"conflict"`,
	} {
		dir := t.TempDir()
		b, err := openBooks(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		output, err := json.Marshal(map[string]any{"ok": true, "state": state})
		if err != nil {
			t.Fatal(err)
		}
		b.called(toolset.Called{Tool: "transfer_cancel", Result: toolset.Result{Output: output}})
		b.cancelled(auth.Principal{}, uuid.New(), state, nil)
		if err := b.close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, audit.FileName))
		if err != nil || strings.Count(string(text), want) != 2 {
			t.Errorf("%s: %s, %v", state, text, err)
		}
	}
}

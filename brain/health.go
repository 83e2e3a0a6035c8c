package main

import (
	"encoding/json"
	"net/http"

	"github.com/vancetope/transfer/brain/refuse"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/version"
)

// health answers whoever watches the server: 200 while it takes work.
func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() {
		refuse.With(w, fault.New(common.ErrorCodeDraining))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// The watcher is gone if this fails.
	_ = json.NewEncoder(w).Encode(struct {
		Status  string `json:"status"`
		Version string `json:"version"`
	}{"ok", version.String()})
}

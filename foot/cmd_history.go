package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/vancetope/transfer/foot/history"
	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/safetext"
)

// historyCmd is `foot history`.
type historyCmd struct {
	placeFlags
	JSON bool `help:"Write the history as a JSON array."`
}

// Run is called by kong.
func (c *historyCmd) Run(s streams) error {
	none := &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("no Foot has run here")}
	dir, err := c.find(history.Kept, none)
	if err != nil {
		return err
	}
	entries, err := history.Read(dir)
	if err != nil {
		return &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("the history cannot be read: %w", err)}
	}
	if !c.JSON {
		for _, e := range entries {
			if err := s.print(historyLine(e)); err != nil {
				return err
			}
		}
		return nil
	}
	if entries == nil {
		entries = []history.Entry{}
	}
	line, err := ui.JSONLine(entries)
	if err != nil {
		return err
	}
	return s.print(strings.TrimSuffix(string(line), "\n"))
}

// historyLine tells an entry to a person.
func historyLine(e history.Entry) string {
	way := "from Brain"
	if e.Direction == ui.Upload {
		way = "to Brain"
	}
	line := fmt.Sprintf("%s  %-10s  %-9s  %8s  %s", e.EndedAt.Local().Format(time.DateTime), way, e.State, ui.Bytes(e.Bytes), safetext.Escape(e.Path))
	return line + after(": ", e.Error)
}

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vancetope/transfer/foot/control"
	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/safetext"
)

// statusCmd is `foot status`.
type statusCmd struct {
	placeFlags
	JSON bool `help:"Write the status as one JSON object."`
}

// Run is called by kong.
func (c *statusCmd) Run(s streams) error {
	var status *control.Status
	_, err := c.findRunning(func(dir string) (err error) {
		status, err = control.AskStatus(dir)
		return err
	})
	if err != nil {
		return err
	}
	if !c.JSON {
		return s.print(statusLines(status, time.Now())...)
	}
	line, err := ui.JSONLine(status)
	if err != nil {
		return err
	}
	return s.print(strings.TrimSuffix(string(line), "\n"))
}

// findRunning asks the one Foot that runs and is meant, and gives what goes wrong
// its exit code.
func (f *placeFlags) findRunning(ask func(dir string) error) (string, error) {
	if !control.Supported {
		return "", &cli.Exit{Code: cli.Failed, Err: control.ErrUnsupported}
	}
	none := &cli.Exit{Code: cli.Unreachable, Err: fmt.Errorf("%w; foot run starts one", control.ErrNotRunning)}
	dir, err := f.find(func(dir string) bool {
		_, err := control.AskStatus(dir)
		return !errors.Is(err, control.ErrNotRunning)
	}, none)
	if err != nil {
		return "", err
	}
	err = ask(dir)
	var refused *control.RefusedError
	switch {
	case err == nil:
		return dir, nil
	case errors.As(err, &refused):
		return dir, &cli.Exit{Code: cli.Failed, Err: refused}
	}
	return dir, &cli.Exit{Code: cli.Unreachable, Err: err}
}

// statusLines tell a status to a person.
func statusLines(s *control.Status, now time.Time) []string {
	since := fmt.Sprintf("since %s (%s)", s.Since.Local().Format(time.DateTime), ui.Took(now.Sub(s.Since)))
	brain := safetext.Escape(s.Brain)
	var lines []string
	if s.Connected {
		lines = append(lines, fmt.Sprintf("connected to %s as %s of %s/%s %s", brain,
			safetext.Escape(s.FootID), safetext.Escape(s.Tenant), safetext.Escape(s.ProjectID), since))
	} else {
		lines = append(lines, fmt.Sprintf("not connected to %s %s%s", brain, since, after(": ", s.Reason)))
	}
	if len(s.Transfers) == 0 {
		return append(lines, "no transfers")
	}
	for _, t := range s.Transfers {
		lines = append(lines, runningLine(t))
	}
	return lines
}

func runningLine(t control.Transfer) string {
	what := ui.Doing(t.Direction) + " " + safetext.Escape(t.Path)
	if t.State == ui.WaitingForApproval {
		return fmt.Sprintf("%s (%s): waiting for your approval: foot approve %s", what, ui.Bytes(t.TotalBytes), t.TransferID)
	}
	return fmt.Sprintf("%s: %s, %s of %s", what, t.State, ui.Bytes(t.Bytes), ui.Bytes(t.TotalBytes))
}

// after is a text with what comes before it, nothing for none.
func after(before, text string) string {
	if text == "" {
		return ""
	}
	return before + safetext.Escape(text)
}

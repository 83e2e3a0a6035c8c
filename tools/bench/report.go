package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/vancetope/transfer/internal/cli"
)

type reportCmd struct {
	Results string `arg:"" help:"What bench --json printed." type:"existingfile"`
	Readme  string `help:"Page that gets the goals and the plot between its markers." type:"path" default:"README.md"`
	Page    string `help:"Page that gets all tables between its markers." type:"path" default:"docs/performance.md"`
	Plot    string `help:"Where the plot goes." type:"path" default:"docs/performance.svg"`
}

// The report stands between these lines of a page; what is around them is
// written by hand.
const (
	reportBegins = "<!-- bench-report begins: written by make bench-report -->\n"
	reportEnds   = "<!-- bench-report ends -->\n"
)

func (c *reportCmd) Run(invocation) error {
	text, err := os.ReadFile(c.Results)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	var r results
	if err := json.Unmarshal(text, &r); err != nil {
		return cli.Usagef("%s holds no results of bench run --json: %w", c.Results, err)
	}
	if err := os.WriteFile(c.Plot, []byte(r.plot()), 0o644); err != nil {
		return &cli.Exit{Code: cli.Failed, Err: err}
	}
	short := r.goalTable() + "\n" + r.conditions() + "\n"
	long := r.conditions() + "\n\n" + r.Markdown()
	for _, page := range []struct{ file, text string }{{c.Readme, short}, {c.Page, long}} {
		if err := replaceReport(page.file, page.text); err != nil {
			return &cli.Exit{Code: cli.Failed, Err: err}
		}
	}
	return nil
}

// replaceReport puts text between the markers of a page.
func replaceReport(page, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok1 := strings.Cut(string(old), reportBegins)
	_, after, ok2 := strings.Cut(rest, reportEnds)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no place for the report: a line %q and after it a line %q", page, strings.TrimSpace(reportBegins), strings.TrimSpace(reportEnds))
	}
	return os.WriteFile(page, []byte(before+reportBegins+text+reportEnds+after), 0o644)
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/tools"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/safetext"
)

// listFlags are those of the commands that list what a running Brain knows.
type listFlags struct {
	serverFlags
	JSON bool `help:"Print a JSON array instead of columns."`
}

// feetCmd is `brain feet`.
type feetCmd struct{ listFlags }

// Run is called by kong.
func (c *feetCmd) Run(i invocation) error {
	raw, err := c.ask(i, "client_list")
	if err != nil {
		return err
	}
	answer, err := tools.DecodeClientListOutput(raw)
	if err != nil {
		return notUnderstood(err)
	}
	if err := succeeded(answer.Ok, answer.Error); err != nil {
		return err
	}
	return list(i.out, c.JSON, answer.Feet, "NAME\tSYSTEM\tVERSION\tACCESS\tGRANTS\tSINCE", func(f common.ConnectedFoot) string {
		grants := make([]string, len(f.Grants))
		for i, g := range f.Grants {
			grants[i] = fmt.Sprintf("@%s:%s", g.Name, g.Access)
		}
		return row(f.Name, string(f.Os), f.ClientVersion, string(f.Access), orDash(strings.Join(grants, " ")), moment(&f.Since))
	})
}

// transfersCmd is `brain transfers`.
type transfersCmd struct{ listFlags }

// Run is called by kong.
func (c *transfersCmd) Run(i invocation) error {
	raw, err := c.ask(i, "transfer_status")
	if err != nil {
		return err
	}
	answer, err := tools.DecodeTransferStatusOutput(raw)
	if err != nil {
		return notUnderstood(err)
	}
	if err := succeeded(answer.Ok, answer.Error); err != nil {
		return err
	}
	return list(i.out, c.JSON, answer.Transfers, "TRANSFER\tDIRECTION\tFOOT\tSTATE\tBYTES\tOF\tSTARTED\tPATH\tERROR", func(t common.TransferStatus) string {
		code := ""
		if t.ErrorCode != nil {
			code = string(*t.ErrorCode)
		}
		return row(t.TransferID.String(), string(t.Direction), t.Foot, string(t.State), amount(t.Bytes), amount(t.TotalBytes),
			moment(&t.StartedAt), t.Path, orDash(code))
	})
}

// ask calls a tool that takes no arguments.
func (f *listFlags) ask(i invocation, tool string) (json.RawMessage, error) {
	client, err := f.client(i)
	if err != nil {
		return nil, err
	}
	ctx, stop := i.untilSignal()
	defer stop()
	result, err := client.call(ctx, tool, json.RawMessage(`{}`))
	switch {
	case ctx.Err() != nil:
		return nil, &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted")}
	case err != nil:
		return nil, exitOf(tool, err)
	}
	return result, nil
}

func notUnderstood(err error) error {
	return &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("the Brain's answer is not understood: %s", safetext.Escape(err.Error()))}
}

// succeeded is the failure that a tool told of.
func succeeded(ok bool, text *string) error {
	switch {
	case ok:
		return nil
	case text != nil:
		return &cli.Exit{Code: cli.Failed, Err: errors.New(safetext.Escape(*text))}
	}
	return &cli.Exit{Code: cli.Failed, Err: errors.New("the Brain does not say why it failed")}
}

// list prints items as a JSON array, or in columns under a heading.
func list[T any](out io.Writer, asJSON bool, items []T, heading string, line func(T) string) error {
	if asJSON {
		if items == nil {
			items = []T{}
		}
		return printed(json.NewEncoder(out).Encode(items))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	// A tabwriter keeps its first error for Flush.
	fmt.Fprintln(w, heading)
	for _, item := range items {
		fmt.Fprintln(w, line(item))
	}
	return printed(w.Flush())
}

func printed(err error) error {
	if err == nil {
		return nil
	}
	return &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("the result could not be printed: %w", err)}
}

// row joins cells, made harmless.
func row(cells ...string) string {
	for i := range cells {
		cells[i] = safetext.Escape(cells[i])
	}
	return strings.Join(cells, "\t")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// amount is a number of bytes for people.
func amount(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, names := float64(n), "KMGTP"
	for i := range names {
		if value /= unit; value < unit || i == len(names)-1 {
			return fmt.Sprintf("%.1f %ciB", value, names[i])
		}
	}
	return ""
}

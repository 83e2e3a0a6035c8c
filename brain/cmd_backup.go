package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vancetope/transfer/brain/backup"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/safetext"
)

// backupCmd is `brain backup`.
type backupCmd struct {
	dataFlag
	File   string `arg:"" help:"Archive to write; it must not exist."`
	Config string `help:"File with settings; default ~/.vancetope/brain.yaml when there is one." placeholder:"FILE"`
}

// Run is called by kong. The server may run meanwhile.
func (c *backupCmd) Run(i invocation) (err error) {
	values, err := c.settings(i, c.Config, nil)
	if err != nil {
		return err
	}
	file, err := filepath.Abs(c.File)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	if below(values.Workspace.Root, file) {
		return cli.Usagef("%s lies in the workspaces, which are to be backed up: choose another place", safetext.Quote(c.File))
	}
	store, err := existingState(i.ctx, values.Brain.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	ctx, stop := i.untilSignal()
	defer stop()
	report, err := backup.Write(ctx, file, backup.Source{Data: values.Brain.Data, Workspaces: values.Workspace.Root, State: store})
	switch {
	case ctx.Err() != nil:
		return &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted: nothing was written")}
	case errors.Is(err, backup.ErrRuns):
		return &cli.Exit{Code: cli.InUse, Err: err}
	case errors.Is(err, backup.ErrExists):
		return cli.Usagef("%s is there already: choose another name, or remove it", safetext.Quote(c.File))
	case err != nil:
		return &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("the backup was not written: %s", safetext.Escape(err.Error()))}
	}
	if _, err := fmt.Fprintf(i.out, "%s: %s of %d files\n", safetext.Escape(c.File), amount(report.Bytes), report.Files); err != nil {
		return &cli.Exit{Code: cli.Failed, Err: err}
	}
	return nil
}

// below reports whether a path lies in a folder or is it.
func below(folder, name string) bool {
	rel, err := filepath.Rel(folder, name)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/flock"
	"github.com/vancetope/transfer/internal/settings"
)

// projectPatience is how long a command waits for the running server to obey.
const projectPatience = 5 * time.Second

// projectFlags name a project.
type projectFlags struct {
	dataFlag
	Tenant  string `help:"Tenant of the project." required:"" placeholder:"T"`
	Project string `help:"The project." required:"" placeholder:"P"`
}

// projectListCmd is `brain project list`.
type projectListCmd struct {
	dataFlag
	Tenant string `help:"Only the projects of this tenant." placeholder:"T"`
}

// Run is called by kong.
func (c *projectListCmd) Run(i invocation) error {
	values, err := c.settings(i, "", nil)
	if err != nil {
		return err
	}
	store, err := existingState(i.ctx, values.Brain.Data)
	if err != nil {
		return err
	}
	list, err := workspace.ReadProjects(i.ctx, store, c.Tenant)
	if err := errors.Join(err, store.Close()); err != nil {
		return &cli.Exit{Code: cli.Failed, Err: err}
	}
	return json.NewEncoder(i.out).Encode(list)
}

// The commands that change a project's state.
type (
	projectSuspendCmd struct{ projectFlags }
	projectRecoverCmd struct{ projectFlags }
	projectCloseCmd   struct{ projectFlags }
)

// Run is called by kong.
func (c *projectSuspendCmd) Run(i invocation) error { return c.set(i, workspace.Suspended) }

// Run is called by kong.
func (c *projectRecoverCmd) Run(i invocation) error { return c.set(i, workspace.Active) }

// Run is called by kong.
func (c *projectCloseCmd) Run(i invocation) error { return c.set(i, workspace.Closed) }

// set writes the wanted state, has it obeyed by the running server, or obeys it
// itself where none runs, and prints how the project stands.
func (c *projectFlags) set(i invocation, to workspace.State) error {
	values, err := c.settings(i, "", nil)
	if err != nil {
		return err
	}
	store, err := existingState(i.ctx, values.Brain.Data)
	if err != nil {
		return err
	}
	p := workspace.Project{Tenant: c.Tenant, ProjectID: c.Project}
	status, err := reachState(i, store, values, p, to)
	if err := errors.Join(err, store.Close()); err != nil {
		return exitOfProject(err)
	}
	return json.NewEncoder(i.out).Encode(status)
}

func reachState(i invocation, store state.Store, values *settings.Settings, p workspace.Project, to workspace.State) (workspace.ProjectStatus, error) {
	ctx, log := i.ctx, i.New(i.err)
	if err := mustBeKnown(ctx, store, p, log); err != nil {
		return workspace.ProjectStatus{}, err
	}
	if to == workspace.Suspended {
		log.Warn("what is in the project's RootDirs is deleted: recover brings back their names, not their files")
	}
	if err := workspace.SetProject(ctx, store, p, to); err != nil {
		return workspace.ProjectStatus{}, err
	}
	for deadline := time.Now().Add(projectPatience); ; {
		if err := obeyAlone(ctx, store, values, log); err != nil {
			return workspace.ProjectStatus{}, err
		}
		status, reached, err := workspace.ReadProject(ctx, store, p)
		if err != nil || reached {
			return status, err
		}
		if time.Now().After(deadline) {
			return status, errors.New("the running brain serve has not obeyed within 5 s; it goes on trying, its log tells why")
		}
		select {
		case <-ctx.Done():
			return status, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// exitOfProject takes only names that are none for a mistake in the command line.
func exitOfProject(err error) error {
	if code := fault.CodeOf(err); code == common.ErrorCodeInvalidPath || code == common.ErrorCodeInvalidRequest {
		return cli.Usagef("%w", err)
	}
	return &cli.Exit{Code: cli.Failed, Err: err}
}

// mustBeKnown refuses a project that nobody made anything for: its name was
// mistyped, and a state for it would only lie about in the list.
func mustBeKnown(ctx context.Context, store state.Store, p workspace.Project, log *slog.Logger) error {
	if err := p.Check(); err != nil {
		return err
	}
	known, err := workspace.Known(ctx, store, p)
	if err == nil && !known {
		known, err = auth.NewTokens(store, log).Known(ctx, p.Tenant, p.ProjectID)
	}
	if err == nil && !known {
		err = fault.Texted(common.ErrorCodeNotFound, "there is no such project: it has neither a token nor a RootDir")
	}
	return err
}

// obeyAlone does what the state asks for unless a server runs that does it.
func obeyAlone(ctx context.Context, store state.Store, values *settings.Settings, log *slog.Logger) error {
	lock, err := lockData(values.Brain.Data, log)
	var exit *cli.Exit
	if errors.As(err, &exit) && exit.Code == cli.InUse {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock(lock, log)
	_, err = workspace.Open(ctx, workspace.Options{
		Root: values.Workspace.Root, Store: store, ModeMask: values.Transfer.BrainModeMask, Notes: notesIn(values.Brain.Data),
		EphemeralTTL: values.Workspace.EphemeralTTL, MaxBytes: values.Workspace.MaxBytes,
		TokenGood: auth.NewTokens(store, log).Good, Log: log,
	})
	return err
}

func unlock(lock *flock.Lock, log *slog.Logger) {
	if err := lock.Release(); err != nil {
		log.Warn("the lock of the data directory was not released", "err", err)
	}
}

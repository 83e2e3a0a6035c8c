package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"

	"github.com/mattn/go-isatty"

	"github.com/vancetope/transfer/foot/agent"
	"github.com/vancetope/transfer/foot/sandbox"
	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/settings"
)

// runCmd is `foot run`.
type runCmd struct {
	Brain         string   `help:"Where the Brain listens; ws, wss, http or https; default that of foot login." placeholder:"URL"`
	Tenant        string   `help:"The tenant the token belongs to; default that of foot login." placeholder:"NAME"`
	Project       string   `help:"With several logins of foot login: the project of the one to use." placeholder:"NAME"`
	TokenFile     string   `help:"File with the token of this Foot; default the token of foot login." placeholder:"FILE"`
	Root          *string  `help:"Folder below which <tenant>/<project>/ is kept; default ~/.vancetope/foot." placeholder:"DIR"`
	State         *string  `help:"Folder for this Foot's own state; default ~/.vancetope/state/foot/<tenant>/<project>." placeholder:"DIR"`
	Config        string   `help:"File with settings; default ~/.vancetope/foot.yaml when there is one." placeholder:"FILE"`
	Access        *string  `help:"What the Brain may do to files here, granted folders included: read, or edit as well; default edit." placeholder:"LEVEL"`
	Grant         []string `help:"Opens one more folder, as @NAME: read only, or with :rw at the end for writing. May be repeated." sep:"none" placeholder:"NAME=PATH[:ro|:rw]"`
	Confirm       *string  `help:"What you are asked about before it happens: never, writes (what the Brain wants to write here) or all; default never." placeholder:"WHAT"`
	CAFile        string   `name:"ca-file" help:"File with the authorities, in PEM, to trust instead of the system's." placeholder:"FILE"`
	AllowInsecure bool     `help:"Send token and files in clear text to another machine."`
	Once          bool     `help:"Make one connection and end with it instead of connecting again."`
	JSON          bool     `help:"Write one JSON object per event to the standard output."`
}

// Run is called by kong.
func (c *runCmd) Run(g *grammar, s streams) error {
	var state atomic.Pointer[agent.State]
	ctx, stop := untilSignal(func() { endHard(state.Load()) })
	defer stop()

	display, log := c.screen(g, s)
	values, err := c.settings()
	if err != nil {
		return cli.Usagef("%w", err)
	}
	access, err := c.access(values, log)
	if err != nil {
		return err
	}
	p := c.people(display, access, values, s, log)
	a, closeAll, err := c.agent(ctx, values, access, p, &state, log)
	if err != nil {
		return errors.Join(err, p.close())
	}
	err = exitOf(a.Run(ctx))
	if cerr := p.close(); cerr != nil {
		log.Warn("the output is incomplete", "error", cerr)
	}
	if cerr := closeAll(); cerr != nil {
		log.Warn("closing", "error", cerr)
	}
	return err
}

// screen chooses how events are shown, and where the log goes: through the
// bars when both are the terminal, since two writers would tear them.
func (c *runCmd) screen(g *grammar, s streams) (ui.UI, *slog.Logger) {
	log := g.New(s.err)
	switch {
	case c.JSON:
		return ui.NewJSON(s.out, log), log
	case !isatty.IsTerminal(s.out.Fd()):
		return ui.NewLines(s.out), log
	}
	bars := ui.NewBars(s.out)
	if isatty.IsTerminal(s.err.Fd()) {
		log = g.New(bars)
	}
	return bars, log
}

// agent checks all that can be checked before the first connection; what is
// wrong is a usage error.
func (c *runCmd) agent(ctx context.Context, values *settings.Settings, access *access, p *people, opened *atomic.Pointer[agent.State], log *slog.Logger) (*agent.Agent, func() error, error) {
	grants, err := c.grants()
	if err != nil {
		return nil, nil, err
	}
	state, err := agent.OpenState(values.Foot.State)
	if err != nil {
		return nil, nil, inUseOrUsage(err)
	}
	opened.Store(state)
	err = state.ForToken(access.tenant, access.token)
	if err == nil && access.project != "" {
		err = state.For(ctx, access.tenant, access.project)
	}
	if err != nil {
		return nil, nil, inUseOrUsage(errors.Join(err, state.Close()))
	}
	if dir := state.Dir(); dir != "" {
		p.settled(dir)
	}
	state.RemoveLeft(access.tenant, log)
	box, err := sandbox.Open(values.Foot.WorkspaceRoot, sandbox.Options{
		Mask:           values.Transfer.FootModeMask,
		AllowGitWrites: values.Foot.AllowGitWrites,
		Access:         values.Foot.Access,
		Grants:         grants,
		Note:           func(l rootfs.Leftover) func() { return state.Note(l, log) },
		Log:            log,
	})
	if err != nil {
		return nil, nil, unusable(errors.Join(err, state.Close()))
	}
	a := agent.New(agent.Config{
		Brain:    access.brain,
		Tenant:   access.tenant,
		Token:    access.token,
		TLS:      access.tls,
		Once:     c.Once,
		Settings: values,
		Sandbox:  box,
		State:    state,
		Desk:     p.desk,
		Settled:  p.settled,
		UI:       p.ui,
		Log:      log,
	})
	return a, func() error { return errors.Join(box.Close(), state.Close()) }, nil
}

// untilSignal returns a context that ends with the first signal; hard is called
// at the second.
func untilSignal(hard func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, cli.StopSignals()...)
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
			return
		}
		cancel()
		<-signals
		hard()
	}()
	return ctx, func() {
		cancel()
		signal.Stop(signals)
	}
}

// endHard ends the program at once, with nothing left in the folders of this
// machine.
func endHard(state *agent.State) {
	if state != nil {
		state.RemoveOwn()
	}
	os.Exit(cli.Interrupted)
}

func (c *runCmd) settings() (*settings.Settings, error) {
	return footSettings(c.Config, map[string]*string{
		"vance.foot.workspace.root": c.Root,
		"vance.foot.state":          c.State,
		"vance.foot.access":         c.Access,
		"vance.foot.confirm":        c.Confirm,
	})
}

func (c *runCmd) grants() ([]sandbox.Grant, error) {
	grants := make([]sandbox.Grant, len(c.Grant))
	for i, text := range c.Grant {
		var err error
		if grants[i], err = sandbox.ParseGrant(text); err != nil {
			return nil, cli.Usagef("--grant %s %w", safetext.Quote(text), err)
		}
	}
	return grants, nil
}

// unusable is a folder of this machine that cannot be opened.
func unusable(err error) error {
	var grant *sandbox.GrantError
	if errors.As(err, &grant) {
		return cli.Usagef("--grant: %w", err)
	}
	return cli.Usagef("the folder for files (--root) cannot be used: %w", err)
}

// exitOf gives an agent's end its exit code.
func exitOf(err error) error {
	var refused *agent.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &cli.Exit{Code: cli.Refused, Err: err}
	case errors.Is(err, agent.ErrUnreachable):
		return &cli.Exit{Code: cli.Unreachable, Err: err}
	case errors.Is(err, agent.ErrReplaced), errors.Is(err, agent.ErrInUse):
		return &cli.Exit{Code: cli.InUse, Err: err}
	case errors.Is(err, agent.ErrConfiguration):
		return &cli.Exit{Code: cli.Usage, Err: err}
	}
	return err
}

func inUseOrUsage(err error) error {
	if errors.Is(err, agent.ErrInUse) {
		return &cli.Exit{Code: cli.InUse, Err: err}
	}
	return cli.Usagef("the state folder (--state) cannot be used: %w", err)
}

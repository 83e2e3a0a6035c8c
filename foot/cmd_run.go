package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/mattn/go-isatty"

	"github.com/vancetope/transfer/foot/agent"
	"github.com/vancetope/transfer/foot/sandbox"
	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/internal/settings"
)

// runCmd is `foot run`.
type runCmd struct {
	Brain     string  `help:"Where the Brain listens; ws, wss, http or https." required:"" placeholder:"URL"`
	Tenant    string  `help:"The tenant the token belongs to." required:"" placeholder:"NAME"`
	TokenFile string  `help:"File with the token of this Foot." required:"" placeholder:"FILE"`
	Root      *string `help:"Folder below which <tenant>/<project>/ is kept; default ~/.vancetope/foot." placeholder:"DIR"`
	State     string  `help:"Folder for this Foot's own state; default ~/.vancetope/state/foot/<tenant>/<project>." placeholder:"DIR"`
	Config    string  `help:"File with settings; default ~/.vancetope/foot.yaml when there is one." placeholder:"FILE"`
	Once      bool    `help:"Make one connection and end with it instead of connecting again."`
	JSON      bool    `help:"Write one JSON object per event to the standard output."`
}

// Run is called by kong.
func (c *runCmd) Run(g *grammar, s streams) error {
	// A reader of the output that goes away must not kill running transfers.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	display, logTo := c.screen(s)
	screen := ui.Async(display)
	log := newLog(logTo, g.LogFormat, g.LogLevel)
	a, closeAll, err := c.agent(screen, log)
	if err != nil {
		return err
	}
	err = exitOf(a.Run(ctx))
	if cerr := closeAll(); cerr != nil {
		log.Warn("closing", "error", cerr)
	}
	if cerr := screen.Close(); cerr != nil {
		log.Warn("the output is incomplete", "error", cerr)
	}
	return err
}

// screen chooses how events are shown, and where the log goes: through the
// bars when both are the terminal, since two writers would tear them.
func (c *runCmd) screen(s streams) (ui.UI, io.Writer) {
	switch {
	case c.JSON:
		return ui.NewJSON(s.out), s.err
	case !isatty.IsTerminal(s.out.Fd()):
		return ui.NewLines(s.out), s.err
	}
	bars := ui.NewBars(s.out)
	if isatty.IsTerminal(s.err.Fd()) {
		return bars, bars
	}
	return bars, s.err
}

// agent checks all that can be checked before the first connection; what is
// wrong is a usage error.
func (c *runCmd) agent(screen ui.UI, log *slog.Logger) (*agent.Agent, func() error, error) {
	if err := agent.CheckBrain(c.Brain, c.Tenant); err != nil {
		return nil, nil, usagef("%w", err)
	}
	token, err := readToken(c.TokenFile)
	if err != nil {
		return nil, nil, usagef("%w", err)
	}
	values, err := c.settings()
	if err != nil {
		return nil, nil, usagef("%w", err)
	}
	state, err := agent.OpenState(c.State)
	if err != nil {
		return nil, nil, inUseOrUsage(err)
	}
	box, err := sandbox.Open(values.Foot.WorkspaceRoot, sandbox.Options{Mask: values.Transfer.FootModeMask, Log: log})
	if err != nil {
		return nil, nil, usagef("the folder for files (--root) cannot be used: %w", errors.Join(err, state.Close()))
	}
	a := agent.New(agent.Config{
		Brain:    c.Brain,
		Tenant:   c.Tenant,
		Token:    token,
		Once:     c.Once,
		Settings: values,
		Sandbox:  box,
		State:    state,
		UI:       screen,
		Log:      log,
	})
	return a, func() error { return errors.Join(box.Close(), state.Close()) }, nil
}

func (c *runCmd) settings() (*settings.Settings, error) {
	flags := map[string]string{}
	if c.Root != nil {
		flags["vance.foot.workspace.root"] = *c.Root
	}
	return settings.Load(settings.Options{
		Program: settings.ForFoot,
		File:    c.Config,
		Environ: os.Environ(),
		Flags:   flags,
	})
}

// maxToken is more than any token is long; a larger file is another file.
const maxToken = 16 << 10

// readToken reads the file that holds nothing but the token.
func readToken(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("the token file cannot be read: %w", err)
	}
	defer f.Close() // only read from: closing cannot lose anything
	text, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("the token file cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("the token file %q is empty: put the output of brain token create into it", name)
	}
	if len(text) > maxToken || strings.ContainsFunc(token, notInToken) {
		return "", fmt.Errorf("the token file %q holds more than a token: it must be the output of brain token create alone", name)
	}
	return token, nil
}

// notInToken reports whether a rune cannot stand in a token, and so not in the
// header that carries it.
func notInToken(r rune) bool { return r <= ' ' || r > '~' }

// exitOf gives an agent's end its exit code.
func exitOf(err error) error {
	var refused *agent.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &exitError{exitRefused, err}
	case errors.Is(err, agent.ErrUnreachable):
		return &exitError{exitUnreachable, err}
	case errors.Is(err, agent.ErrReplaced), errors.Is(err, agent.ErrInUse):
		return &exitError{exitInUse, err}
	case errors.Is(err, agent.ErrConfiguration):
		return &exitError{exitUsage, err}
	}
	return err
}

func inUseOrUsage(err error) error {
	if errors.Is(err, agent.ErrInUse) {
		return &exitError{exitInUse, err}
	}
	return usagef("the state folder (--state) cannot be used: %w", err)
}

package main

import (
	"io"
	"log/slog"

	"github.com/google/uuid"
	"github.com/mattn/go-isatty"

	"github.com/vancetope/transfer/foot/approval"
	"github.com/vancetope/transfer/foot/control"
	"github.com/vancetope/transfer/foot/history"
	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/internal/settings"
)

// people is all by which a running Foot and its person hear of each other: the
// screen, the questions, the history, and the socket of the other commands.
type people struct {
	ui       ui.UI
	desk     *approval.Desk
	prompter *ui.Prompter // nil where nobody can be asked in a terminal
	server   *control.Server
	recorder *history.Recorder
}

func (c *runCmd) people(display ui.UI, a *access, values *settings.Settings, s streams, log *slog.Logger) *people {
	p := &people{recorder: history.NewRecorder(log)}
	o := approval.Options{Policy: values.Foot.Confirm, Timeout: values.Foot.ConfirmTimeout}
	terminal, asks := display.(io.Writer)
	switch asks = asks && isatty.IsTerminal(s.in.Fd()); {
	case asks && o.Policy != settings.ConfirmNever:
		p.prompter = ui.NewPrompter(terminal, s.in, func(id uuid.UUID, a approval.Answer) error { return p.desk.Answer(id, a) })
		o.Watchers = append(o.Watchers, p.prompter)
	case asks:
	case !c.JSON:
		o.Nobody = "this Foot has no terminal to ask in"
	case !control.Supported:
		o.Nobody = "this Foot has no terminal to ask in, and foot approve is not for this system"
	}
	p.desk = approval.New(o)
	board := control.NewBoard(a.brain, a.tenant)
	p.server = control.NewServer(board, p.desk, log)
	p.ui = ui.Both(board, ui.Both(ui.Async(display), ui.Async(p.recorder)))
	return p
}

// settled is called when the state folder is this process's.
func (p *people) settled(dir string) {
	p.recorder.Open(dir)
	p.server.Listen(dir)
}

// close comes before the state folder is let go of.
func (p *people) close() error {
	p.server.Close()
	p.desk.Close()
	if p.prompter != nil {
		p.prompter.Close()
	}
	return p.ui.Close()
}

// Package agent is a Foot's life: it connects to one Brain, serves what the
// Brain asks for out of the sandbox, and connects again when the connection is
// lost. It owns the order of these things and the verdict on each end: try
// again, or stop with the reason.
//
// It refuses to know how a file travels (package transfer), how frames travel
// (package wire), and where files may lie (package sandbox).
package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"github.com/vancetope/transfer/foot/approval"
	"github.com/vancetope/transfer/foot/sandbox"
	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/internal/settings"
	"github.com/vancetope/transfer/internal/wire"
)

// DefaultDrainTime leaves room for the goodbye within five seconds.
const DefaultDrainTime = 4 * time.Second

// Config is what an agent needs. All fields are required but for those that say
// what their zero value means.
type Config struct {
	// Brain is the Brain's URL; it and the tenant passed CheckBrain.
	Brain  string
	Tenant string
	Token  string
	// TLS says how the Brain is checked; nil means by the system's authorities.
	TLS *tls.Config
	// Once ends the agent with its first connection; else it connects again.
	Once bool
	// DrainTime is how long running transfers may go on once the agent is told
	// to stop; 0 means DefaultDrainTime.
	DrainTime time.Duration
	Settings  *settings.Settings
	Sandbox   *sandbox.Sandbox
	State     *State
	// Desk asks the person of this machine; nil asks nobody and allows all.
	Desk *approval.Desk
	// Settled, if set, is called with the state folder once it is held, before
	// the connection is told to the UI; again when that changes.
	Settled func(dir string)
	// UI is called where nothing may block, see ui.Async.
	UI  ui.UI
	Log *slog.Logger
}

// Agent connects one Foot to one Brain.
type Agent struct {
	Config
	backoff wire.Backoff
}

// New returns an agent that does nothing yet.
func New(c Config) *Agent {
	if c.DrainTime == 0 {
		c.DrainTime = DefaultDrainTime
	}
	if c.Desk == nil {
		c.Desk = approval.New(approval.Options{Policy: settings.ConfirmNever})
	}
	return &Agent{Config: c, backoff: wire.Backoff{
		Min: c.Settings.Foot.ReconnectMin,
		Max: c.Settings.Foot.ReconnectMax,
	}}
}

// Run connects again and again until ctx ends, then lets running transfers end
// for a moment and returns nil. It returns earlier, with one of the errors of
// this package, when trying again is of no use or not wanted.
func (a *Agent) Run(ctx context.Context) error {
	for {
		a.UI.Connecting(a.Brain)
		cause := a.connection(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := a.verdict(cause); err != nil {
			return err
		}
		wait := a.backoff.Next(cause)
		a.UI.Reconnecting(wait, cause.Error())
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// connection makes one connection, serves it to its end, and returns why it is
// not there any more.
func (a *Agent) connection(ctx context.Context) error {
	conn, welcome, err := a.dial(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	c, err := a.open(ctx, conn, welcome)
	if err != nil {
		conn.Close(wire.CloseNormal, "this Foot cannot go on")
		// Only the goodbye is left to read; why it ended is known.
		_ = conn.Serve(ctx, nil)
		return err
	}
	a.Log.Info("connected", "tenant", welcome.Tenant, "project", welcome.ProjectID, "foot", welcome.FootID, "connection", welcome.ConnectionID)
	a.UI.Connected(ui.Connected{
		Tenant:    welcome.Tenant,
		ProjectID: welcome.ProjectID,
		FootID:    welcome.FootID,
		Features:  inForce(welcome).Names(),
		Root:      c.project.Folder(),
	})
	cause := c.run(ctx)
	a.UI.Disconnected(cause.Error())
	a.backoff.Ended(time.Since(began))
	if c.useful.Load() {
		a.backoff.Reset()
	}
	return cause
}

// verdict returns the error with which the agent ends, nil to try again.
func (a *Agent) verdict(cause error) error {
	if err := permanent(cause); err != nil {
		if refused, ok := err.(*RefusedError); ok {
			a.UI.Refused(refused.Reason, refused.Remedy)
		}
		return err
	}
	if a.Once {
		return fmt.Errorf("%w: %w", ErrUnreachable, cause)
	}
	return nil
}

// sleep reports whether it slept to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/vancetope/transfer/foot/approval"
	"github.com/vancetope/transfer/foot/sandbox"
	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/transfer"
	"github.com/vancetope/transfer/internal/wire"
)

// byeTime is how long the goodbye may take, and so may the end of the transfers
// after it.
const byeTime = 400 * time.Millisecond

// errStopped ends a connection because the Foot was told to stop.
var errStopped = errors.New("stopped")

// connection is one connection after its handshake: its transfers and its
// project.
type connection struct {
	conn    *wire.Conn
	desk    *approval.Desk
	session *transfer.Session
	project *sandbox.Project
	ui      ui.UI
	log     *slog.Logger
	reports *rate.Sometimes // the pace at which error frames are logged

	// scope is the project as the person's decisions are kept by.
	scope string
	// patience is how long the Brain waits for a person, 0 for as long as it takes.
	patience  time.Duration
	drainTime time.Duration
	// useful: a byte arrived for good on this connection.
	useful atomic.Bool
}

// open prepares what the connection's transfers need. A Brain may only speak
// for the tenant that the user named, or it could reach the files of another.
func (a *Agent) open(ctx context.Context, conn *wire.Conn, w *frames.Welcome) (*connection, error) {
	if w.Tenant != a.Tenant {
		return nil, &RefusedError{
			Reason: fmt.Sprintf("the Brain answers for tenant %q, not for %q", w.Tenant, a.Tenant),
			Remedy: "check --tenant and --brain",
		}
	}
	t, err := agree(a.Settings.Transfer, w.Settings)
	if err != nil {
		return nil, err
	}
	project, err := a.Sandbox.Project(w.Tenant, w.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("%w: the project's folder: %w", ErrConfiguration, err)
	}
	if err := a.State.For(ctx, w.Tenant, w.ProjectID); err != nil {
		if errors.Is(err, ErrInUse) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: the state folder: %w", ErrConfiguration, err)
	}
	if a.Settled != nil {
		a.Settled(a.State.Dir())
	}
	features := inForce(w)
	conn.SetFeatures(features)
	c := &connection{conn: conn, project: project, desk: a.Desk, scope: w.Tenant + "/" + w.ProjectID,
		ui: a.UI, log: a.Log, reports: wire.Reports(), drainTime: a.DrainTime}
	if !features.Has(frames.FeatureProgress) {
		c.patience = t.phaseTimeout // it cannot be told that somebody is being asked
	}
	c.session = transfer.NewSession(conn, transfer.Config{
		Role:            transfer.Foot,
		ChunkSize:       t.chunkSize,
		MaxSendSize:     t.maxUpload,
		MaxReceiveSize:  t.maxDownload,
		Features:        features,
		PhaseTimeout:    t.phaseTimeout,
		CleanupInterval: t.cleanupInterval,
		Accept:          c.accept,
		Serve:           c.serve,
		OnEvent:         c.show,
		Release:         wire.PutBuffer,
		Log:             a.Log,
	})
	return c, nil
}

// run serves the connection until it ends or ctx does, and returns why.
func (c *connection) run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- c.conn.Serve(context.WithoutCancel(ctx), c) }()
	var cause error
	select {
	case cause = <-served:
	case <-ctx.Done():
		cause = c.stop(served)
	}
	c.session.Close(endOf(cause))
	limit, cancel := context.WithTimeout(context.Background(), byeTime)
	defer cancel()
	if err := c.session.Wait(limit); err != nil {
		c.log.Warn("transfers did not end with their connection", "running", c.session.Len(), "error", err)
	}
	return cause
}

// endOf is the end of a connection as that of its transfers; nil stands for a
// lost connection.
func endOf(cause error) *fault.Error {
	var f *fault.Error
	if !errors.As(cause, &f) {
		return nil
	}
	return f
}

// stop lets the running transfers end, cancels the rest and says goodbye.
func (c *connection) stop(served <-chan error) error {
	c.ui.Stopping(c.session.Len())
	c.desk.Close() // a question would only hold up the end
	limit, cancel := context.WithTimeout(context.Background(), c.drainTime)
	defer cancel()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		c.session.Drain(limit, "the Foot is stopping")
	}()
	select {
	case <-drained:
	case cause := <-served:
		return cause
	}
	c.conn.Close(wire.CloseGoingAway, "the Foot stops")
	timer := time.NewTimer(byeTime)
	defer timer.Stop()
	select {
	case <-served: // the peer has answered the goodbye
	case <-timer.C:
	}
	return errStopped
}

// localPath is the path that a caller knows by this name.
const localPath = "localPath at the Foot"

// pathOf is localPath, with a word on what callers take ~ for.
func pathOf(path string) string {
	if strings.HasPrefix(path, "~") {
		return localPath + ", where ~ is no home folder"
	}
	return localPath
}

// accept finds the place of a file that the Brain sends: the sandbox says where
// it may go, and the person whether it may come where they want to be asked.
func (c *connection) accept(ctx context.Context, init *frames.TransferInit) (*transfer.Incoming, error) {
	options, err := sandbox.StageOptions(init.TotalSize, init.Attrs)
	if err != nil {
		return nil, err
	}
	if init.OnExisting != nil {
		options.OnExisting = rootfs.OnExisting(*init.OnExisting)
	}
	reserved, err := c.project.Reserve(init.Target, options)
	if err != nil {
		return nil, fault.At(err, localPath)
	}
	p := &place{Reservation: reserved, id: init.TransferID}
	in := &transfer.Incoming{Path: reserved.Path, Release: p.release, Stage: p.stage}
	in.Ask, err = c.ask(approval.Question{
		ID: init.TransferID, Write: true, Path: reserved.Path, Bytes: init.TotalSize,
		Replaces: reserved.Exists && options.OnExisting != rootfs.KeepBoth,
	})
	if err == nil && in.Ask == nil {
		in.Staging, err = p.stage(ctx)
	}
	if err != nil {
		p.release()
		return nil, err
	}
	return in, nil
}

// ask returns how a person is asked, nil where they need not be.
func (c *connection) ask(q approval.Question) (func(context.Context) error, error) {
	q.Project = c.scope
	needed, err := c.desk.Needed(q)
	if err != nil || !needed {
		return nil, err
	}
	return func(ctx context.Context) error {
		direction := ui.Upload
		if q.Write {
			direction = ui.Download
		}
		return c.desk.Ask(ctx, q, c.patience, func() {
			c.ui.Approval(ui.Approval{ID: q.ID, Direction: direction, Path: q.Path, Bytes: q.Bytes})
		})
	}, nil
}

// place is a reserved target that becomes a staging file. Only its transfer's
// goroutine uses it.
type place struct {
	*sandbox.Reservation
	id     uuid.UUID
	target *sandbox.Target
}

func (p *place) stage(context.Context) (transfer.Staging, error) {
	target, err := p.Stage(p.id)
	if err != nil {
		return nil, fault.At(err, localPath)
	}
	p.target = target
	return staging{target.Staging, target.Told}, nil
}

func (p *place) release() {
	if p.target != nil {
		p.target.Release()
		return
	}
	p.Release()
}

// staging is a staging file as transfers see it.
type staging struct {
	*rootfs.Staging
	told func(path string) string
}

// Write says of a full disk whose it is.
func (s staging) Write(p []byte) (int, error) {
	n, err := s.Staging.Write(p)
	return n, fault.At(err, localPath)
}

// Publish returns the path of what was published, as the Brain may know it.
func (s staging) Publish(ctx context.Context) (string, error) {
	published, err := s.Staging.Publish(ctx)
	return s.told(published.Path), fault.At(err, localPath)
}

// serve opens a file that the Brain asks for. A person who wants to be asked is
// asked about a file that is there; nothing of it is read before.
func (c *connection) serve(_ context.Context, req *frames.ClientFileUploadRequest) (*transfer.Outgoing, error) {
	source, path, err := c.project.OpenSource(req.LocalPath)
	if err != nil {
		return nil, fault.At(err, pathOf(req.LocalPath))
	}
	ask, err := c.ask(approval.Question{ID: req.TransferID, Path: path, Bytes: source.Size()})
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return &transfer.Outgoing{Source: source, Name: path, Ask: ask}, nil
}

// show passes an event on. It is called with the transfer locked.
func (c *connection) show(e transfer.Event) {
	if e.State == transfer.StateComplete || e.Direction == transfer.Download && e.Bytes > 0 {
		c.useful.Store(true)
	}
	c.ui.Transfer(ui.Transfer{
		ID:         e.ID,
		Direction:  ui.Direction(e.Direction),
		Path:       e.Path,
		State:      ui.State(e.State),
		Bytes:      e.Bytes,
		TotalBytes: e.TotalBytes,
		Fault:      e.Err,
	})
	switch e.State {
	case transfer.StateComplete:
		c.log.Info("transfer", "id", e.ID, "direction", e.Direction, "path", e.Path, "bytes", e.Bytes)
	case transfer.StateFailed, transfer.StateCancelled:
		c.log.Info("transfer", "id", e.ID, "direction", e.Direction, "path", e.Path, "state", e.State,
			"code", fault.CodeOf(e.Err), "cause", causeOf(e.Err))
	}
}

// causeOf is what lies below a fault: the system's own words, for the log.
func causeOf(f *fault.Error) error {
	if f == nil {
		return nil
	}
	if cause := f.Unwrap(); cause != nil {
		return cause
	}
	return f
}

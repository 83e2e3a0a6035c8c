package hub

import (
	"context"
	"log/slog"
	"path"
	"sync"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/transfer"
	"github.com/vancetope/transfer/internal/wire"
)

// Request asks for one file to be copied between a Foot and a RootDir.
type Request struct {
	Foot       string // empty: the only one that is connected
	LocalPath  string // at the Foot
	DirName    string // the RootDir
	RemotePath string // in the RootDir
	Attrs      *common.FileAttrs
	OnExisting common.OnExisting // "" is replace
	// Owner is the token of the call.
	Owner string
	// Watch, if set, hears of each new state of the transfer until its end, and of
	// its progress at most four times a second. It must not block.
	Watch func(common.TransferStatus)
}

// replaces reports whether an existing target is simply replaced.
func (r Request) replaces() bool {
	return r.OnExisting == "" || r.OnExisting == common.OnExistingReplace
}

// move is a request on its way: what Upload and Download have in common.
type move struct {
	Request
	dir  *workspace.Dir
	path rootfs.Path
	foot *foot
	id   uuid.UUID
}

func (h *Hub) transferConfig(log *slog.Logger, features frames.FeatureSet) transfer.Config {
	return transfer.Config{
		Role:            transfer.Brain,
		ChunkSize:       int(h.cfg.ChunkSize),
		MaxSendSize:     h.cfg.MaxDownloadSize,
		MaxReceiveSize:  h.cfg.MaxUploadSize,
		Features:        features,
		PhaseTimeout:    h.cfg.PhaseTimeout,
		ConfirmTimeout:  h.cfg.ConfirmTimeout,
		CleanupInterval: h.cfg.CleanupInterval,
		OnEvent:         h.ledger.note,
		Release:         wire.PutBuffer,
		Log:             log,
	}
}

// Upload copies a file from a Foot into a RootDir. Whatever can be refused
// without the Foot is refused before a frame is sent. On failure the result
// still has the id, if one was minted.
func (h *Hub) Upload(ctx context.Context, p workspace.Project, r Request) (transfer.Result, error) {
	m, err := h.prepare(ctx, p, r)
	if err != nil {
		return transfer.Result{}, err
	}
	defer m.dir.Release()
	release, err := m.hold()
	if err != nil {
		return transfer.Result{}, err
	}
	place := newLoan(m.dir, release)
	defer place.callEnded()
	if err := h.choose(p, m, transfer.Upload); err != nil {
		return transfer.Result{}, err
	}
	return h.run(ctx, p, m, transfer.Upload, func(ctx context.Context) (transfer.Result, error) {
		return m.foot.session.Receive(ctx, transfer.ReceiveRequest{
			ID:         m.id,
			LocalPath:  r.LocalPath,
			DirName:    r.DirName,
			RemotePath: r.RemotePath,
			Attrs:      r.Attrs,
			Open: func(_ context.Context, init *frames.TransferInit) (*transfer.Incoming, error) {
				return m.stage(init, place)
			},
		})
	})
}

// hold takes the target, which a transfer that finds a free name for itself
// leaves to others.
func (m *move) hold() (release func(), err error) {
	if m.OnExisting == common.OnExistingKeepBoth {
		return func() {}, nil
	}
	return m.dir.Holds.Hold(m.path)
}

// stage opens the place of an upload once the Foot has said what it sends.
func (m *move) stage(init *frames.TransferInit, place *loan) (*transfer.Incoming, error) {
	attrs, err := parseAttrs(init.Attrs)
	if err != nil {
		return nil, err
	}
	if !place.take() {
		return nil, fault.New(common.ErrorCodeCancelled)
	}
	file, err := m.dir.Stage(m.path, m.id, rootfs.StageOptions{Size: init.TotalSize, Attrs: attrs,
		OnExisting: rootfs.OnExisting(m.OnExisting)})
	if err != nil {
		place.giveBack()
		return nil, fault.At(err, remotePath)
	}
	return &transfer.Incoming{Staging: staging{file}, Path: m.told(), Release: place.giveBack}, nil
}

// Download copies a file from a RootDir to a Foot.
func (h *Hub) Download(ctx context.Context, p workspace.Project, r Request) (transfer.Result, error) {
	m, err := h.prepare(ctx, p, r)
	if err != nil {
		return transfer.Result{}, err
	}
	defer m.dir.Release()
	// It is looked at now, and opened when its turn comes: a thousand that wait
	// hold no file open.
	if err := m.probe(); err != nil {
		return transfer.Result{}, err
	}
	place := newLoan(m.dir, func() {})
	defer place.callEnded()
	if err := h.choose(p, m, transfer.Download); err != nil {
		return transfer.Result{}, err
	}
	result, err := h.run(ctx, p, m, transfer.Download, func(ctx context.Context) (transfer.Result, error) {
		return m.foot.session.Send(ctx, transfer.SendRequest{
			ID:         m.id,
			Target:     r.LocalPath,
			Attrs:      r.Attrs,
			OnExisting: r.OnExisting,
			Path:       m.told(),
			Open:       func(context.Context) (*transfer.Outgoing, error) { return m.source(place) },
		})
	})
	if result.Path != path.Clean(r.LocalPath) {
		result.Path = safetext.Escape(result.Path) // the Foot's word
	}
	return result, err
}

// remotePath is the path that a caller knows by this name.
const remotePath = "remotePath in the RootDir"

// probe reports why the file could not be sent.
func (m *move) probe() error {
	source, err := m.dir.Root.OpenSource(m.path)
	if err != nil {
		return fault.At(err, remotePath)
	}
	return source.Close()
}

// source opens the file of a download.
func (m *move) source(place *loan) (*transfer.Outgoing, error) {
	if !place.take() {
		return nil, fault.New(common.ErrorCodeCancelled)
	}
	source, err := m.dir.Root.OpenSource(m.path)
	if err != nil {
		place.giveBack()
		return nil, fault.At(err, remotePath)
	}
	return &transfer.Outgoing{Source: source, Name: m.path.String(), Release: place.giveBack}, nil
}

// prepare finds the RootDir and checks the path in it.
func (h *Hub) prepare(ctx context.Context, p workspace.Project, r Request) (*move, error) {
	if h.isDraining() {
		return nil, fault.New(common.ErrorCodeDraining)
	}
	dir, err := h.cfg.Workspace.Use(ctx, p, r.DirName)
	if err != nil {
		return nil, err
	}
	clean, err := rootfs.CleanPath(r.RemotePath)
	err = fault.At(err, remotePath)
	if err == nil {
		_, err = parseAttrs(r.Attrs)
	}
	if err != nil {
		dir.Release()
		return nil, err
	}
	return &move{Request: r, dir: dir, path: clean}, nil
}

// choose picks the Foot and mints the transfer's id.
func (h *Hub) choose(p workspace.Project, m *move, d transfer.Direction) (err error) {
	if m.foot, err = h.pick(p, m.Foot); err != nil {
		return err
	}
	if err = m.foot.permit(d, m.LocalPath); err != nil {
		return err
	}
	if d == transfer.Download && !m.replaces() && !m.foot.features.Has(frames.FeatureOnExisting) {
		return fault.Newf(common.ErrorCodeUnsupported, "the program on this machine is too old for onExisting %s: it can only replace", m.OnExisting)
	}
	m.id, err = uuid.NewV7()
	return err
}

// run enters a transfer into the books and runs it. It ends early when the
// RootDir is closed.
func (h *Hub) run(ctx context.Context, p workspace.Project, m *move, d transfer.Direction, do func(context.Context) (transfer.Result, error)) (transfer.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.dir.Context(), func() { cancel(context.Cause(m.dir.Context())) })()
	h.ledger.begin(p, m.Owner, common.TransferStatus{
		TransferID: m.id,
		Direction:  common.Direction(d),
		Foot:       m.foot.id.Name,
		Path:       m.told(),
	}, m.Watch, func() { cancel(fault.New(common.ErrorCodeCancelled)) })
	result, err := h.inTurn(ctx, m, do)
	result.ID = m.id
	if d == transfer.Upload && err == nil {
		h.ledger.published(m.id, result.Path)
	}
	h.conclude(m, h.ledger.end(m.id, result.BytesWritten, err), result, err)
	return result, err
}

// conclude tells the log, in one line, and whoever counts that a transfer is over.
func (h *Hub) conclude(m *move, e *entry, result transfer.Result, err error) {
	if e == nil {
		return
	}
	ended := Ended{TransferID: m.id, Project: e.project, Owner: e.owner, Direction: e.told.Direction, Foot: m.foot.id.Name,
		DirName: m.DirName, Path: e.told.Path, Took: e.ended.Sub(e.started), Phases: e.phases, Err: err}
	level, outcome := slog.LevelInfo, "complete"
	if err == nil {
		ended.Bytes, ended.Hash = result.BytesWritten, result.Hash
	} else {
		level, outcome = slog.LevelWarn, string(e.told.State)
	}
	attrs := []slog.Attr{
		slog.Any("transferId", ended.TransferID), slog.String("tenant", ended.Project.Tenant), slog.String("project", ended.Project.ProjectID),
		slog.Any("direction", ended.Direction), slog.String("foot", ended.Foot), slog.String("dir", ended.DirName),
		slog.String("path", safetext.Escape(ended.Path)), slog.String("outcome", outcome), slog.Int64("bytes", ended.Bytes),
		slog.Float64("seconds", ended.Took.Seconds()),
	}
	if err != nil {
		f := fault.From(err)
		attrs = append(attrs, slog.Any("code", f.Code), slog.String("err", harmless(f.Text)))
	}
	h.log.LogAttrs(context.Background(), level, "transfer ended", attrs...)
	if h.cfg.OnEnded != nil {
		h.cfg.OnEnded(ended)
	}
}

// inTurn runs a transfer when the Foot has a slot for it.
func (h *Hub) inTurn(ctx context.Context, m *move, do func(context.Context) (transfer.Result, error)) (transfer.Result, error) {
	if err := m.foot.slots.enter(ctx, func() { h.ledger.tell(m.id) }); err != nil {
		return transfer.Result{}, err
	}
	defer m.foot.slots.leave()
	return do(ctx)
}

// told is the file's path in its RootDir.
func (m *move) told() string { return m.path.String() }

// loan is a RootDir, and what else it holds, lent to a transfer. The transfer
// may outlive the call that asked for it by the time that its last disk work
// takes: so whichever ends last gives back, and a transfer that comes too late
// gets nothing.
type loan struct {
	mu    sync.Mutex
	taken bool
	ended bool
	dir   *workspace.Dir
	back  func()
}

func newLoan(dir *workspace.Dir, back func()) *loan { return &loan{dir: dir.Again(), back: back} }

// take hands the loan to the transfer, which owes giveBack if it is true.
func (l *loan) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.taken {
		return false
	}
	l.taken = true
	return true
}

func (l *loan) giveBack() {
	l.back()
	l.dir.Release()
}

// callEnded gives back what no transfer took, and reports whether that was so.
func (l *loan) callEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.taken {
		return false
	}
	l.giveBack()
	return true
}

package main

import (
	"encoding/json"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/audit"
	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/brain/hub"
	"github.com/vancetope/transfer/brain/metrics"
	"github.com/vancetope/transfer/brain/toolset"
	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// books are what a Brain keeps about what it did: figures and the audit log.
type books struct {
	audit   *audit.Log
	figures *metrics.Metrics
	hub     atomic.Pointer[hub.Hub] // set once there is one
}

func openBooks(dir string, log *slog.Logger) (*books, error) {
	a, err := audit.Open(filepath.Join(dir, audit.FileName), log)
	if err != nil {
		return nil, err
	}
	b := &books{audit: a}
	b.figures = metrics.New(func() hub.Load {
		if h := b.hub.Load(); h != nil {
			return h.Load()
		}
		return hub.Load{}
	})
	return b, nil
}

// watch has what goes on asked of a hub.
func (b *books) watch(h *hub.Hub) { b.hub.Store(h) }

// foot returns at which Foot a transfer was, which a call need not have named.
func (b *books) foot(p workspace.Project, transferID string) string {
	id, err := uuid.Parse(transferID)
	h := b.hub.Load()
	if err != nil || h == nil {
		return ""
	}
	return h.FootOf(p, id)
}

func (b *books) close() error { return b.audit.Close() }

func (b *books) connection(err error) { b.figures.Connection(err) }

func (b *books) transfer(e hub.Ended) { b.figures.Transfer(e) }

// told are the arguments and results of tools that an audit line can have. Every
// tool's inputs and outputs use these names for these things, and the line has to
// be written also for arguments that no tool took.
type told struct {
	Foot         string           `json:"foot"`
	LocalPath    string           `json:"localPath"`
	RemotePath   string           `json:"remotePath"`
	DirName      string           `json:"dirName"`
	Path         string           `json:"path"`
	Scope        string           `json:"scope"`
	TransferID   string           `json:"transferId"`
	BytesWritten *int64           `json:"bytesWritten"`
	Hash         string           `json:"hash"`
	ErrorCode    common.ErrorCode `json:"errorCode"`

	State common.TransferState `json:"state"`
}

// read takes what is there. Arguments that are no object, or have another type
// where a name stands, leave the line without them.
func read(raw json.RawMessage) (t told) {
	_ = json.Unmarshal(raw, &t)
	return t
}

// called counts a tool call, and writes down those that did something: changed
// anything, or gave a file's content away.
func (b *books) called(c toolset.Called) {
	out := read(c.Result.Output)
	b.figures.Call(c.Tool, out.ErrorCode)
	in := read(c.Arguments)
	if c.ReadsOnly && c.Tool != "workspace_read_file" {
		return
	}
	line := audit.Line{
		Tenant: c.Caller.Project.Tenant, Project: c.Caller.Project.ProjectID,
		Token: c.Caller.TokenID, Role: string(auth.RoleAgent), Name: c.Caller.Name, Action: c.Tool,
		Foot: in.Foot, LocalPath: in.LocalPath, DirName: first(in.DirName, out.DirName), Path: first(in.RemotePath, in.Path), Scope: in.Scope,
		TransferID: first(out.TransferID, in.TransferID), Bytes: out.BytesWritten, Digest: out.Hash,
		Outcome: audit.OK, ErrorCode: out.ErrorCode, Millis: c.Took.Milliseconds(),
	}
	line.Foot = first(b.foot(c.Caller.Project, line.TransferID), line.Foot)
	switch {
	case c.Result.Failed:
		line.Outcome = audit.Failed
	case tooLate(out.State):
		line.Outcome, line.ErrorCode = audit.Failed, common.ErrorCodeConflict
	case c.Tool == "client_file_download":
		line.LocalPath = first(out.Path, line.LocalPath)
	default:
		line.Path = first(out.Path, line.Path)
	}
	b.audit.Write(line)
}

// tooLate reports whether a transfer that was to be cancelled had ended otherwise.
// Who asked got what it wanted to know, but nothing was cancelled.
func tooLate(s common.TransferState) bool { return s != "" && s != common.TransferStateCancelled }

// cancelled writes down that a person cancelled a transfer over the HTTP API, or
// how it had ended before.
func (b *books) cancelled(p auth.Principal, id common.TransferID, s common.TransferState, err error) {
	if err == nil && tooLate(s) {
		err = fault.New(common.ErrorCodeConflict)
	}
	b.acted(p, "api transfer_cancel", id.String(), err)
}

// login writes down who logged in, and counts on no name where it was refused:
// whoever tries codes has none.
func (b *books) login(p auth.Principal, err error) { b.acted(p, "login", "", err) }

func (b *books) acted(p auth.Principal, action, transferID string, err error) {
	line := audit.Line{
		Tenant: p.Tenant, Project: p.Project, Token: p.TokenID, Role: string(p.Role), Name: p.Name,
		Action: action, TransferID: transferID, Outcome: audit.OK,
	}
	if err != nil {
		line.Outcome, line.ErrorCode = audit.Failed, fault.CodeOf(err)
	}
	b.audit.Write(line)
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// serveMetrics serves the figures until stop is called.
func (s *server) serveMetrics(l net.Listener) (stop func()) {
	server := s.books.figures.Server()
	server.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)
	go func() {
		if err := server.Serve(l); !metrics.Ended(err) {
			s.log.Error("the figures are no longer served", "err", err)
		}
	}()
	return func() {
		if err := server.Close(); err != nil {
			s.log.Warn("closing the metrics listener", "err", err)
		}
	}
}

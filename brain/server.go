package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vancetope/transfer/brain/api"
	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/brain/hub"
	"github.com/vancetope/transfer/brain/refuse"
	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/brain/toolset"
	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/settings"
	"github.com/vancetope/transfer/internal/version"
)

const (
	// transfersPatience is how long running transfers may go on when the server
	// stops, answersPatience how long their answers may take to get out. Both
	// together stay below five seconds.
	transfersPatience = 4 * time.Second
	answersPatience   = 500 * time.Millisecond

	headerTimeout = 10 * time.Second // for a request's header to come in whole
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
)

// server is a Brain that serves one listener.
type server struct {
	log      *slog.Logger
	store    state.Store
	tokens   *auth.Tokens
	rooms    *workspace.Manager
	hub      *hub.Hub
	mcp      *toolset.MCP
	http     *http.Server
	books    *books
	draining atomic.Bool
}

// newServer wires the Brain's parts. The store stays the caller's when it fails.
func newServer(ctx context.Context, store state.Store, v *settings.Settings, log *slog.Logger) (*server, error) {
	tokens := auth.NewTokens(store, log)
	rooms, err := workspace.Open(ctx, workspace.Options{
		Root: v.Workspace.Root, Store: store, ModeMask: v.Transfer.BrainModeMask, Notes: notesIn(v.Brain.Data),
		EphemeralTTL: v.Workspace.EphemeralTTL, MaxBytes: v.Workspace.MaxBytes, TokenGood: tokens.Good, Log: log,
	})
	if err != nil {
		return nil, err
	}
	books, err := openBooks(v.Brain.Data, log)
	if err != nil {
		return nil, err
	}
	s := &server{log: log, store: store, tokens: tokens, books: books, rooms: rooms}
	s.hub = hub.New(hub.Config{
		Workspace:       rooms,
		Authenticate:    footOf(tokens),
		Follow:          tokens.Follow,
		ChunkSize:       v.Transfer.ChunkSize,
		MaxFrameSize:    v.Transfer.MaxFrameSize,
		MaxUploadSize:   v.Transfer.MaxUploadSize,
		MaxDownloadSize: v.Transfer.MaxDownloadSize,
		PhaseTimeout:    v.Transfer.PhaseTimeout,
		ConfirmTimeout:  v.Foot.ConfirmTimeout,
		PingInterval:    v.Transfer.PingInterval,
		CleanupInterval: v.Transfer.CleanupInterval,
		MaxConcurrent:   v.Transfer.MaxConcurrent,
		OnEnded:         books.transfer,
		OnConnection:    books.connection,
		Log:             log,
	})
	books.watch(s.hub)
	s.mcp = toolset.NewMCP(&toolset.Tools{Hub: s.hub, Workspace: rooms, Log: log, OnCalled: books.called,
		Receipts: &toolset.Receipts{Store: store, TTL: v.Receipts.TTL, Log: log}}, toolset.MCPOptions{
		Authenticate:   agentOf(tokens),
		Follow:         tokens.Follow,
		SessionTimeout: v.MCP.SessionTimeout,
		Version:        version.String(),
		Log:            slog.New(chatty{log.Handler()}),
	})
	s.http = &http.Server{
		Handler: s.routes(api.New(api.Options{
			Tokens: tokens, Feet: s.hub, Dirs: rooms, PublicURL: v.Brain.PublicURL, Log: log,
			OnLogin: books.login, OnCancelled: books.cancelled,
		})),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s, nil
}

func (s *server) routes(panel http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.Handle("/brain/{tenant}/ws", s.hub)
	mux.Handle("/mcp", s.mcp)
	mux.HandleFunc("GET "+loginPage, showLogin)
	mux.Handle("/api/", s.unlessDraining(panel))
	mux.HandleFunc("/", refuse.Unmatched(mux))
	return bodyInTime(bodyTime, mux)
}

// footOf tells the hub whose token a WebSocket request carries.
func footOf(tokens *auth.Tokens) func(*http.Request, string) (hub.Identity, error) {
	return func(r *http.Request, tenant string) (hub.Identity, error) {
		p, err := tokens.Request(r, auth.RoleFoot)
		if err != nil {
			return hub.Identity{}, err
		}
		if p.Tenant != tenant {
			return hub.Identity{}, fault.Newf(common.ErrorCodeAccessDenied, "the token is of another tenant")
		}
		return hub.Identity{TokenID: p.TokenID, Project: projectOf(p), Name: p.Name}, nil
	}
}

// agentOf tells the tools whose token a request carries.
func agentOf(tokens *auth.Tokens) func(*http.Request) (toolset.Caller, error) {
	return func(r *http.Request) (toolset.Caller, error) {
		p, err := tokens.Request(r, auth.RoleAgent)
		if err != nil {
			return toolset.Caller{}, err
		}
		return toolset.Caller{Project: projectOf(p), TokenID: p.TokenID, Name: p.Name, Access: p.Access}, nil
	}
}

func projectOf(p auth.Principal) workspace.Project {
	return workspace.Project{Tenant: p.Tenant, ProjectID: p.Project}
}

// unlessDraining refuses what comes in after the server was told to stop.
func (s *server) unlessDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			refuse.With(w, fault.New(common.ErrorCodeDraining))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serve serves the listener until ctx is done, then stops in good order. It
// calls ready once requests are accepted.
func (s *server) serve(ctx context.Context, l net.Listener, ready func() error) error {
	watching, stopWatching := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { s.tokens.Watch(watching) })
	watch.Go(func() { s.rooms.Tend(watching) })
	defer watch.Wait()
	defer stopWatching()

	failed := make(chan error, 1)
	go func() {
		if s.http.TLSConfig != nil {
			failed <- s.http.ServeTLS(l, "", "") // the files are the configuration's
			return
		}
		failed <- s.http.Serve(l)
	}()
	if err := ready(); err != nil {
		s.log.Warn("the ready line could not be printed", "err", err)
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		s.stop()
		return nil
	}
}

// stop refuses new work, lets what runs come to its end for a while, and ends
// the rest.
func (s *server) stop() {
	s.log.Info("stopping")
	s.draining.Store(true)
	s.mcp.Drain()
	transfers, cancel := context.WithTimeout(context.Background(), transfersPatience)
	defer cancel()
	s.hub.Drain(transfers)

	answers, cancel := context.WithTimeout(context.Background(), answersPatience)
	defer cancel()
	if err := s.http.Shutdown(answers); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn("stopping", "err", err)
	}
	// What is left are streams that would stay open for ever.
	s.mcp.Close()
	if err := s.http.Close(); err != nil {
		s.log.Warn("stopping", "err", err)
	}
	s.log.Info("stopped")
}

func (s *server) close() error { return errors.Join(s.books.close(), s.store.Close()) }

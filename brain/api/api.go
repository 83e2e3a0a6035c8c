// Package api serves what people and scripts ask of a Brain over HTTP:
// /api/v1/projects/{projectId}/…, as gen/openapi.yaml describes it. Routing,
// parameters and answers are generated; this package decides who may ask, and
// knows whom to ask in turn.
//
// A request is refused in this order: an unknown path (404), another method than
// the path's (405), no good token
// (401), a token of a role other than user (403), a project that is not the
// token's (404, as if there were none), a parameter that breaks its rules (400).
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/brain/refuse"
	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/api"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Feet knows the connected Feet and their transfers.
type Feet interface {
	Feet(workspace.Project) []common.ConnectedFoot
	// Transfers returns the latest first.
	Transfers(workspace.Project) []common.TransferStatus
	// Cancel ends a transfer, asked for with the owner's token if one is given,
	// and returns how it ended.
	Cancel(ctx context.Context, p workspace.Project, id common.TransferID, owner string) (common.TransferState, error)
}

// Dirs knows the RootDirs.
type Dirs interface {
	Tell(context.Context, workspace.Project) ([]common.RootDir, error)
}

// Options are whom the API asks.
type Options struct {
	Tokens *auth.Tokens
	Feet   Feet
	Dirs   Dirs
	// PublicURL is under which address people reach the Brain; "" is any.
	PublicURL string
	// OnLogin hears of each attempt to log in, with whose token was made or why
	// none was; OnCancelled of each transfer that somebody wants cancelled, with
	// how it ended. Both may be nil.
	OnLogin     func(auth.Principal, error)
	OnCancelled func(p auth.Principal, id common.TransferID, s common.TransferState, err error)
	Log         *slog.Logger
}

// New returns the handler for everything below /api/.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	routes := &router{mux: http.NewServeMux(), tokens: o.Tokens}
	routes.mux.HandleFunc("/", refuse.Unmatched(routes.mux))
	badRequest := func(w http.ResponseWriter, _ *http.Request, err error) {
		refuse.With(w, fault.Newf(common.ErrorCodeInvalidRequest, "%v", err))
	}
	answers := &lists{o}
	routes.mux.Handle("POST /api/v1/login", answers.login(newLimits()))
	strict := api.NewStrictHandlerWithOptions(answers, nil, api.StrictHTTPServerOptions{
		RequestErrorHandlerFunc: badRequest,
		ResponseErrorHandlerFunc: func(w http.ResponseWriter, r *http.Request, err error) {
			if fault.CodeOf(err) == common.ErrorCodeInternal && !errors.Is(err, context.Canceled) {
				o.Log.Error("request failed", "path", r.URL.Path, "err", err)
			}
			refuse.With(w, err)
		},
	})
	return atHome(o.PublicURL, api.HandlerWithOptions(strict, api.StdHTTPServerOptions{BaseRouter: routes, ErrorHandlerFunc: badRequest}))
}

// router puts the guard before each generated route, and so before its
// parameters are looked at.
type router struct {
	mux    *http.ServeMux
	tokens *auth.Tokens
}

func (r *router) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	r.mux.Handle(pattern, r.tokens.Require(auth.RoleUser, ownProject(http.HandlerFunc(handler))))
}

func (r *router) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mux.ServeHTTP(w, request)
}

// ownProject hides all projects but the token's.
func ownProject(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := auth.From(r.Context()); !ok || r.PathValue("projectId") != p.Project {
			refuse.With(w, fault.Texted(common.ErrorCodeNotFound, "no such project"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// projectOf returns the project of a request that the guard let through.
func projectOf(ctx context.Context) (workspace.Project, error) {
	p, ok := auth.From(ctx)
	if !ok {
		return workspace.Project{}, fault.New(common.ErrorCodeUnauthorized)
	}
	return workspace.Project{Tenant: p.Tenant, ProjectID: p.Project}, nil
}

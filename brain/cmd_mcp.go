package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/brain/bridge"
	"github.com/vancetope/transfer/brain/toolset"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/version"
)

// mcpCmd is `brain mcp`.
type mcpCmd struct {
	serverFlags
}

// Run is called by kong.
func (c *mcpCmd) Run(i invocation) error {
	client, err := c.client(i)
	if err != nil {
		return err
	}
	ctx, stop := i.untilSignal()
	defer stop()
	session, _, err := client.connect(ctx, bridgeName, nil)
	if err != nil {
		return exitOf("", err)
	}
	met := session.InitializeResult()
	client.close(session)
	o := bridge.Options{
		Brain:  &bridgedBrain{client},
		In:     i.in,
		Out:    i.out,
		Server: mcp.Implementation{Name: "vancetope-transfer", Version: version.String()},
		Log:    slog.New(chatty{i.New(i.err).Handler()}),
	}
	if met != nil {
		o.Instructions = met.Instructions
		if met.ServerInfo != nil {
			o.Server = *met.ServerInfo
		}
	}
	if err := bridge.Run(ctx, o); err != nil {
		exit := exitOf("", err)
		exit.Err = errors.New(safetext.Escape(err.Error()))
		return exit
	}
	return nil
}

const (
	bridgeName = "brain-mcp"

	// restartPatience is how long a call waits for a Brain that is not there: as
	// long as a restart takes. Nothing of the call was sent by then.
	restartPatience = 15 * time.Second
	firstRetry      = 100 * time.Millisecond
	longestRetry    = time.Second
)

// bridgedBrain is the way of `brain mcp` to its Brain. Each call has a session of
// its own: so none ends with another, and a restart in between is not noticed.
type bridgedBrain struct{ client *toolClient }

// Tools implements bridge.Brain.
func (b *bridgedBrain) Tools(ctx context.Context, cursor string) (*mcp.ListToolsResult, error) {
	session, road, err := b.connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	list, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
	if err != nil {
		return nil, coded(road.explain(err), "")
	}
	b.client.close(session)
	return list, nil
}

// Call implements bridge.Brain.
func (b *bridgedBrain) Call(ctx context.Context, c bridge.Call) (*mcp.CallToolResult, error) {
	var progress func(context.Context, *mcp.ProgressNotificationClientRequest)
	if c.Progress != nil {
		progress = func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.Progress(r.Params) }
	}
	session, road, err := b.connect(ctx, progress)
	if err != nil {
		return nil, err
	}
	params := &mcp.CallToolParams{Meta: mcp.Meta{toolset.ScopeMeta: c.Scope}, Name: c.Tool, Arguments: c.Arguments}
	if c.Progress != nil {
		params.SetProgressToken("call")
	}
	answer, err := session.CallTool(ctx, params)
	if err != nil {
		return nil, coded(road.explain(err), "; it is not known whether the call was carried out")
	}
	b.client.close(session)
	return answer, nil
}

// connect opens a session. It waits for a Brain that is not there for a while.
func (b *bridgedBrain) connect(ctx context.Context, progress func(context.Context, *mcp.ProgressNotificationClientRequest)) (*mcp.ClientSession, *road, error) {
	limit := time.NewTimer(restartPatience)
	defer limit.Stop()
	for pause := firstRetry; ; pause = min(2*pause, longestRetry) {
		session, road, err := b.client.connect(ctx, bridgeName, progress)
		var unreachable *unreachableError
		if err == nil || !errors.As(err, &unreachable) {
			return session, road, coded(err, "")
		}
		retry := time.NewTimer(pause)
		select {
		case <-retry.C:
		case <-limit.C:
			retry.Stop()
			return nil, nil, coded(err, "; nothing was done, call again later")
		case <-ctx.Done():
			retry.Stop()
			return nil, nil, coded(err, "; nothing was done")
		}
	}
}

// coded gives an error of the way to the Brain its code, and says what became of
// the call. What the Brain itself answered stays as it is.
func coded(err error, outcome string) error {
	var answered *jsonrpc.Error
	var refused *refusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return err
	case errors.As(err, &refused) && refused.status == 403:
		return fault.Wrapf(common.ErrorCodeAccessDenied, err, "%s", safetext.Escape(refused.text))
	case errors.As(err, &refused):
		return fault.Wrapf(common.ErrorCodeUnauthorized, err, "%s", "a person has to give brain mcp another token")
	}
	return fault.Wrapf(common.ErrorCodeConnectionLost, err, "%s%s", safetext.Escape(err.Error()), outcome)
}

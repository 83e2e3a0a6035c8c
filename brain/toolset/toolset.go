// Package toolset owns the tools that an LLM calls: their table, what each one
// does, the words in which it answers, and the MCP server that offers them. The
// same tools can be called without MCP.
//
// Arguments are closed: an unknown one is refused by name. A tool never fails in
// another way than by an answer that fits its output schema, with a code for
// programs and a sentence that says what to do next. What came from a peer is
// made harmless before a model reads it.
package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/vancetope/transfer/brain/hub"
	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Caller is who calls a tool, by its token.
type Caller struct {
	Project workspace.Project
	TokenID string
	// Name is whose token it is, for people.
	Name string
	// Scope is what owns the RootDirs the caller creates; empty means that the
	// token itself does.
	Scope string
	// Watch, if set, hears of the transfer that the call has begun; see
	// hub.Request.
	Watch func(common.TransferStatus)
	// Access is what the token may do to RootDirs; empty means edit.
	Access common.Access
}

func (c Caller) mayEdit() bool { return c.Access != common.AccessRead }

func (c Caller) scope() string {
	if c.Scope != "" {
		return c.Scope
	}
	return workspace.TokenScope(c.TokenID)
}

// scopeNamed is the scope of a name that the caller gave, its own for none.
func (c Caller) scopeNamed(name *string) string {
	if name == nil {
		return c.scope()
	}
	return workspace.NamedScope(c.TokenID, *name)
}

// Tools is the set of tools of one Brain.
type Tools struct {
	Hub       *hub.Hub
	Workspace *workspace.Manager
	// Receipts lets calls be repeated without being done again; nil keeps none.
	Receipts *Receipts
	Log      *slog.Logger
	// OnCalled, if set, hears of each call that is over, on the call's goroutine.
	OnCalled func(Called)
}

// Called is a call that is over. The tool is one that exists.
type Called struct {
	Caller    Caller
	Tool      string
	ReadsOnly bool
	Arguments json.RawMessage // as they came, good or not
	Result    Result
	Took      time.Duration
}

// Result is a tool's answer.
type Result struct {
	// Output is the JSON object that the tool's output schema describes.
	Output json.RawMessage
	// Text says the same in one line.
	Text string
	// Failed is true when ok is false in the output.
	Failed bool
}

// Call runs a tool. The end of ctx ends what the tool has begun. A tool that
// panics fails alone.
func (t *Tools) Call(ctx context.Context, c Caller, name string, arguments json.RawMessage) (result Result) {
	tool, ok := byName[name]
	if !ok {
		return failed(fault.Newf(common.ErrorCodeInvalidRequest, "there is no tool of that name"), nil)
	}
	begun := time.Now()
	defer func() {
		if t.OnCalled != nil {
			t.OnCalled(Called{Caller: c, Tool: name, ReadsOnly: tool.hints.readOnly, Arguments: arguments, Result: result, Took: time.Since(begun)})
		}
	}()
	defer t.recovered(name, tool.refuse, &result)
	if tool.refusedTo(c) {
		return tool.refuse(notAllowed(), nil)
	}
	if err := t.Workspace.Active(c.Project); err != nil && !tool.resting {
		return tool.refuse(t.tell(err), nil)
	}
	return tool.run(ctx, t, c, arguments, tool.refuse)
}

// recovered makes the panic of a tool its failure.
func (t *Tools) recovered(name string, refuse refusal, result *Result) {
	if p := recover(); p != nil {
		*result = refuse(t.tell(fmt.Errorf("panic in %s: %v\n%s", name, p, debug.Stack())), nil)
	}
}

package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/tools"
	"github.com/vancetope/transfer/internal/fault"
)

// brain is a Brain that does what the test says.
type brain func(context.Context, Call) (*mcp.CallToolResult, error)

func (brain) Tools(context.Context, string) (*mcp.ListToolsResult, error) {
	return nil, fault.Texted(common.ErrorCodeConnectionLost, "away")
}

func (b brain) Call(ctx context.Context, c Call) (*mcp.CallToolResult, error) { return b(ctx, c) }

// client speaks to a bridge.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
}

func connect(ctx context.Context, t *testing.T, b Brain) *client {
	inRead, in := io.Pipe()
	out, outWrite := io.Pipe()
	c := &client{t: t, in: in, out: bufio.NewReader(out), done: make(chan error, 1)}
	go func() {
		c.done <- Run(ctx, Options{Brain: b, In: inRead, Out: outWrite, Server: mcp.Implementation{Name: "test", Version: "1"}, Log: slog.New(slog.DiscardHandler)})
		_ = outWrite.Close() // never fails
	}()
	c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	c.hear()
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) call(tool string) {
	c.t.Helper()
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"a":1},"_meta":{"progressToken":"p"}}}`)
}

func (c *client) hear() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return line
}

func ok() *mcp.CallToolResult {
	return &mcp.CallToolResult{StructuredContent: map[string]any{"ok": true}, Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}
}

func TestACallGoesToTheBrainInTheBridgesScopeWhichIsClosedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []Call
		c := connect(t.Context(), t, brain(func(_ context.Context, call Call) (*mcp.CallToolResult, error) {
			calls = append(calls, call)
			return ok(), nil
		}))
		c.call("any")
		if answer := c.hear(); !strings.Contains(answer, `"ok":true`) {
			t.Error(answer)
		}
		_ = c.in.Close() // never fails
		if err := <-c.done; err != nil {
			t.Error(err)
		}
		if len(calls) != 2 || calls[0].Tool != "any" || string(calls[0].Arguments) != `{"a":1}` || calls[1].Tool != closeScope {
			t.Fatalf("the Brain was called with %+v", calls)
		}
		in, err := tools.DecodeWorkspaceCloseScopeInput(calls[1].Arguments)
		if err != nil || in.Scope != calls[0].Scope || in.Scope == "" {
			t.Errorf("closed %v, %v; the scope was %q", in, err, calls[0].Scope)
		}
	})
}

func TestABridgeThatCalledNothingClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t.Context(), t, brain(func(context.Context, Call) (*mcp.CallToolResult, error) {
			t.Error("the Brain was called")
			return ok(), nil
		}))
		c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if answer := c.hear(); !strings.Contains(answer, `"error"`) || !strings.Contains(answer, "away") {
			t.Errorf("a list that the Brain did not give: %s", answer)
		}
		_ = c.in.Close() // never fails
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

func TestACallThatDoesNotEndIsCancelledWithItsClient(t *testing.T) {
	for name, leave := range map[string]func(c *client, stop func()){
		"the input ends": func(c *client, _ func()) { _ = c.in.Close() },
		"SIGTERM":        func(c *client, stop func()) { stop(); _ = c.in.Close() },
		"it is cancelled": func(c *client, _ func()) {
			c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				cancelled := make(chan struct{})
				c := connect(ctx, t, brain(func(ctx context.Context, call Call) (*mcp.CallToolResult, error) {
					if call.Tool == closeScope {
						return ok(), nil
					}
					<-ctx.Done()
					close(cancelled)
					return nil, ctx.Err()
				}))
				go func() { _, _ = io.Copy(io.Discard, c.out) }() // what it still says does not matter
				c.call("client_file_upload")
				synctest.Wait()
				leave(c, stop)
				<-cancelled
				_ = c.in.Close() // it may be closed already
				if err := <-c.done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestProgressIsPassedOnAndNoneAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan func(*mcp.ProgressNotificationParams), 1)
		c := connect(t.Context(), t, brain(func(_ context.Context, call Call) (*mcp.CallToolResult, error) {
			if call.Progress != nil {
				call.Progress(&mcp.ProgressNotificationParams{ProgressToken: "theirs", Progress: 3, Total: 7, Message: "streaming"})
				late <- call.Progress
			}
			return ok(), nil
		}))
		c.call("any")
		if news := c.hear(); !strings.Contains(news, `"progressToken":"p"`) || !strings.Contains(news, `"progress":3`) || !strings.Contains(news, "streaming") {
			t.Errorf("the progress is told as %s", news)
		}
		c.hear()
		(<-late)(&mcp.ProgressNotificationParams{Progress: 4})
		_ = c.in.Close() // never fails
		if rest, err := io.ReadAll(c.out); err != nil || len(rest) > 0 {
			t.Errorf("after the answer: %s, %v", rest, err)
		}
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

func TestAFailureOfTheWayIsAnAnswerOfTheTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t.Context(), t, brain(func(context.Context, Call) (*mcp.CallToolResult, error) {
			return nil, fault.Newf(common.ErrorCodeConnectionLost, "the Brain is away")
		}))
		c.call("client_file_download")
		var answer struct {
			Result struct {
				IsError           bool
				StructuredContent json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(c.hear()), &answer); err != nil || !answer.Result.IsError {
			t.Fatal(answer, err)
		}
		out, err := tools.DecodeClientFileDownloadOutput(answer.Result.StructuredContent)
		if err != nil || out.Ok || *out.ErrorCode != common.ErrorCodeConnectionLost || out.BytesWritten == nil {
			t.Errorf("the answer is %s: %v", answer.Result.StructuredContent, err)
		}
		_ = c.in.Close() // never fails
		if err := <-c.done; !errors.Is(err, fault.New(common.ErrorCodeConnectionLost)) || !strings.Contains(err.Error(), "until they expire") {
			t.Errorf("a scope that is not closed is told as %v", err)
		}
	})
}

func TestTheIDsOfAClientComeBackByteByByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t.Context(), t, brain(func(context.Context, Call) (*mcp.CallToolResult, error) { return ok(), nil }))
		for _, id := range []string{`1.5`, `1e2`, `9007199254740993`, `123456789012345678901234567890`, `-0`, `"a\u0062<"`, `"1"`} {
			for _, method := range []string{`"tools/call","params":{"name":"any","arguments":{}}`, `"nonsense"`} {
				c.say(`{"jsonrpc":"2.0","id":` + id + `,"method":` + method + `}`)
				var answer struct{ ID, Result, Error json.RawMessage }
				line := c.hear()
				if err := json.Unmarshal([]byte(line), &answer); err != nil || string(answer.ID) != id || (answer.Result == nil) == (answer.Error == nil) {
					t.Errorf("the answer to %s is %s: %v", id, line, err)
				}
			}
		}
		_ = c.in.Close() // never fails
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

func TestACancellationFindsItsCallByTheClientsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, ended := make(chan struct{}, 2), make(chan error, 2)
		c := connect(t.Context(), t, brain(func(ctx context.Context, call Call) (*mcp.CallToolResult, error) {
			if call.Tool == closeScope {
				return ok(), nil
			}
			begun <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}))
		for _, id := range []string{"1.25", "1.5"} {
			c.say(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"any","arguments":{}}}`)
			<-begun
		}
		c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.75}}`)
		c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`)
		<-ended
		synctest.Wait()
		if len(ended) != 0 {
			t.Error("the other call was cancelled too")
		}
		go func() { _, _ = io.Copy(io.Discard, c.out) }() // what is said of the end is not looked at
		_ = c.in.Close()                                  // never fails
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/internal/cli"
)

// scripted is a Brain whose only tool does what a test says.
func scripted(t *testing.T, tool mcp.ToolHandler) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "scripted", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: json.RawMessage(`{"type":"object"}`)}, tool)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestProgressIsToldOnTheLogAndTheResultOnTheOutput(t *testing.T) {
	b := serve(t)
	url := scripted(t, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: 5, Total: 9007199254740991, Message: "streaming\x1b[2J",
		})
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"ok":true,"bytesWritten":9007199254740991,"path":"<a&b>"}`)}, err
	})
	code, stdout, stderr := run(t, "", "call", "tool", "{}", "--url", url, "--token-file", b.token(t, "agent"))
	if code != cli.OK || stdout != `{"bytesWritten":9007199254740991,"ok":true,"path":"<a&b>"}`+"\n" {
		t.Errorf("code %d, stdout %q", code, stdout)
	}
	if !strings.Contains(stderr, "streaming") || strings.Contains(stderr, "\x1b") {
		t.Errorf("stderr %q", stderr)
	}
}

func TestAnAnswerThatIsNoResultIsAFailedOne(t *testing.T) {
	b := serve(t)
	for name, result := range map[string]*mcp.CallToolResult{
		"no structured content": {Content: []mcp.Content{&mcp.TextContent{Text: "done"}}},
		"ok is a word":          {StructuredContent: json.RawMessage(`{"ok":"yes"}`)},
	} {
		url := scripted(t, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil })
		code, stdout, _ := run(t, "", "call", "tool", "{}", "--url", url, "--token-file", b.token(t, "agent"))
		if result := oneLine(t, stdout); code != cli.Failed || result["ok"] != false || result["errorCode"] != "internal" {
			t.Errorf("%s: code %d, %v", name, code, result)
		}
	}
}

// bearing adds a token to every request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func TestAnOpenSessionDoesNotKeepAServerFromStopping(t *testing.T) {
	b := serve(t)
	token, err := cli.ReadToken(b.token(t, "agent"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: b.url + "/mcp", HTTPClient: &http.Client{Transport: bearing(token)}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close() // the server is gone by then
	if session.ID() == "" {
		t.Fatal("there is no session to keep open")
	}
	start := time.Now()
	if code := b.stop(); code != cli.OK {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
}

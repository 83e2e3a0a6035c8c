package e2etest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is an entry of the configuration that MCP clients share.
type Server struct {
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// Generations are the revisions of MCP that stand for the one with sessions and
// for the one without.
var Generations = map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"}

// MCPClient is a client of one of the official SDKs.
type MCPClient interface {
	Caller
	// Tools lists the tools, each as it was told.
	Tools(t testing.TB) map[string]json.RawMessage
	Instructions(t testing.TB) string
	// Try calls a tool and returns its structured answer, or why there is none.
	Try(tool string, args any) (Result, error)
	// Cancelled calls a tool and cancels the call at its first sign of progress.
	Cancelled(t testing.TB, tool string, args any)
	// Close ends the session.
	Close() error
}

// ConnectMCP connects a client: sdk is go or typescript, generation a key of
// Generations.
func ConnectMCP(t testing.TB, sdk, generation string, s Server) MCPClient {
	t.Helper()
	if sdk == "go" {
		return connectGo(t, generation, s)
	}
	return connectTypeScript(t, generation, s)
}

type goClient struct {
	*Agent
	progress chan struct{}
}

func connectGo(t testing.TB, generation string, s Server) MCPClient {
	t.Helper()
	c := &goClient{progress: make(chan struct{}, 1)}
	client := mcp.NewClient(&mcp.Implementation{Name: "e2etest", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			select {
			case c.progress <- struct{}{}:
			default:
			}
		},
	})
	var transport mcp.Transport
	if s.Command != "" {
		transport = &mcp.CommandTransport{Command: bridgeCommand(t, s)}
	} else {
		transport = &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &http.Client{Transport: headers(s.Headers)}}
	}
	session, err := client.Connect(Bounded(t), transport, &mcp.ClientSessionOptions{ProtocolVersion: Generations[generation]})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() }) // it may be closed already
	c.Agent = &Agent{session}
	return c
}

// headers adds a configuration's headers to every request.
type headers map[string]string

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// bridgeCommand is the program of a configuration; what it logs comes into the
// test's log.
func bridgeCommand(t testing.TB, s Server) *exec.Cmd {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env = childEnvironment(t.TempDir())
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	log := &logBuffer{}
	cmd.Stderr = log
	t.Cleanup(func() { judgeLog(t, filepath.Base(s.Command), log.String()) })
	return cmd
}

func judgeLog(t testing.TB, name, log string) {
	for _, sign := range []string{"WARNING: DATA RACE", "panic:", "fatal error:"} {
		if strings.Contains(log, sign) {
			t.Errorf("the log of %s says %q:\n%s", name, sign, tail(log, 4000))
		}
	}
	if t.Failed() {
		t.Logf("log of %s:\n%s", name, tail(log, 4000))
	}
}

func (c *goClient) Tools(t testing.TB) map[string]json.RawMessage {
	t.Helper()
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]json.RawMessage{}
	for _, tool := range list.Tools {
		raw, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		told[tool.Name] = raw
	}
	return told
}

func (c *goClient) Instructions(testing.TB) string {
	if r := c.InitializeResult(); r != nil {
		return r.Instructions
	}
	return ""
}

func (c *goClient) Try(tool string, args any) (Result, error) {
	answer, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return Result{}, err
	}
	raw, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		return Result{}, err
	}
	result := Result{Raw: raw}
	return result, json.Unmarshal(raw, &result)
}

func (c *goClient) Cancelled(t testing.TB, tool string, args any) {
	t.Helper()
	select {
	case <-c.progress: // of an earlier call
	default:
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case <-c.progress:
			cancel()
		case <-ctx.Done():
		}
	}()
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	params.SetProgressToken("cancelled-" + t.Name())
	if answer, err := c.CallTool(ctx, params); err == nil {
		t.Errorf("the call was answered and not cancelled: %v", answer.StructuredContent)
	}
}

// typescriptClient is tools/mcpclient.
type typescriptClient struct {
	orders io.WriteCloser
	cmd    *exec.Cmd

	mu      sync.Mutex
	next    int
	waiting map[int]chan typescriptAnswer
	over    error // once it has ended
}

type typescriptAnswer struct {
	ID           int               `json:"id"`
	Error        string            `json:"error"`
	Tools        []json.RawMessage `json:"tools"`
	Instructions string            `json:"instructions"`
	Cancelled    bool              `json:"cancelled"`
	Progress     int               `json:"progress"`
	Result       struct {
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Content    []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
}

func connectTypeScript(t testing.TB, generation string, s Server) MCPClient {
	t.Helper()
	const folder = "../../tools/mcpclient"
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		t.Fatalf("the official TypeScript SDK is not installed; run scripts/setup: %v", err)
	}
	s.Env = ownHome(t, s)
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]Server{"vancetope": s}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "client.mjs", generation, file, "vancetope")
	cmd.Dir = folder
	cmd.Env = childEnvironment(t.TempDir())
	log := &logBuffer{}
	cmd.Stderr = log
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &typescriptClient{orders: orders, cmd: cmd, waiting: map[int]chan typescriptAnswer{}}
	ready := make(chan typescriptAnswer, 1)
	c.waiting[0] = ready
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(answers)
	}()
	t.Cleanup(func() {
		_ = c.Close() // it may be closed already
		<-read
		_ = cmd.Wait() // its log is judged
		judgeLog(t, "client.mjs", log.String())
	})
	if answer := <-ready; answer.Error != "" {
		t.Fatalf("connecting: %s\n%s", answer.Error, tail(log.String(), 4000))
	}
	return c
}

// ownHome is the environment of a configuration with a home of its own, so
// that no settings of this machine's user come in.
func ownHome(t testing.TB, s Server) map[string]string {
	if s.Command == "" {
		return s.Env
	}
	env := map[string]string{"HOME": t.TempDir(), "PATH": os.Getenv("PATH")}
	for name, value := range s.Env {
		env[name] = value
	}
	return env
}

func (c *typescriptClient) read(answers io.Reader) {
	in := bufio.NewReader(answers)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			c.end(err)
			return
		}
		var answer typescriptAnswer
		if err := json.Unmarshal(line, &answer); err != nil {
			c.end(err)
			return
		}
		c.mu.Lock()
		if waiting := c.waiting[answer.ID]; waiting != nil {
			delete(c.waiting, answer.ID)
			waiting <- answer
		}
		c.mu.Unlock()
	}
}

// end answers all that still wait.
func (c *typescriptClient) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = err
	for id, waiting := range c.waiting {
		waiting <- typescriptAnswer{ID: id, Error: "the client has ended: " + err.Error()}
	}
	clear(c.waiting)
}

func (c *typescriptClient) order(order map[string]any) typescriptAnswer {
	answer := make(chan typescriptAnswer, 1)
	c.mu.Lock()
	c.next++
	order["id"] = c.next
	line, err := json.Marshal(order)
	switch {
	case err != nil:
	case c.over != nil:
		err = c.over
	default:
		c.waiting[c.next] = answer
		_, err = c.orders.Write(append(line, '\n'))
	}
	c.mu.Unlock()
	if err != nil {
		return typescriptAnswer{Error: err.Error()}
	}
	return <-answer
}

func (c *typescriptClient) Tools(t testing.TB) map[string]json.RawMessage {
	t.Helper()
	answer := c.order(map[string]any{"op": "list"})
	if answer.Error != "" {
		t.Fatal(answer.Error)
	}
	told := map[string]json.RawMessage{}
	for _, raw := range answer.Tools {
		var tool struct{ Name string }
		if err := json.Unmarshal(raw, &tool); err != nil {
			t.Fatal(err)
		}
		told[tool.Name] = raw
	}
	return told
}

func (c *typescriptClient) Instructions(t testing.TB) string {
	return c.order(map[string]any{"op": "instructions"}).Instructions
}

func (c *typescriptClient) Call(t testing.TB, tool string, args any) Result {
	t.Helper()
	answer := c.order(map[string]any{"op": "call", "name": tool, "arguments": args})
	if answer.Error != "" {
		t.Fatalf("%s: %s", tool, answer.Error)
	}
	result := readResult(t, tool, answer.Result.Structured)
	if answer.Result.IsError == result.OK {
		t.Errorf("%s: isError is %v and ok is %v", tool, answer.Result.IsError, result.OK)
	}
	if len(answer.Result.Content) != 1 || answer.Result.Content[0].Text == "" || strings.Contains(answer.Result.Content[0].Text, "\n") {
		t.Errorf("%s: the text beside the result is %q, want one line", tool, answer.Result.Content)
	}
	return result
}

func (c *typescriptClient) Try(tool string, args any) (Result, error) {
	answer := c.order(map[string]any{"op": "call", "name": tool, "arguments": args})
	if answer.Error != "" {
		return Result{}, errorText(answer.Error)
	}
	result := Result{Raw: answer.Result.Structured}
	return result, json.Unmarshal(answer.Result.Structured, &result)
}

type errorText string

func (e errorText) Error() string { return string(e) }

func (c *typescriptClient) Cancelled(t testing.TB, tool string, args any) {
	t.Helper()
	answer := c.order(map[string]any{"op": "call", "name": tool, "arguments": args, "cancelAtProgress": 1})
	if answer.Error != "" || !answer.Cancelled {
		t.Errorf("the call was not cancelled: %s %s after %d notifications", answer.Error, answer.Result.Structured, answer.Progress)
	}
}

// Close lets the client end by itself.
func (c *typescriptClient) Close() error { return c.orders.Close() }

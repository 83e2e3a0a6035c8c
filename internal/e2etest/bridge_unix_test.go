//go:build unix

package e2etest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// bridgeProcess is a `brain mcp` that is spoken to by hand.
type bridgeProcess struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	log *logBuffer
}

func startBridge(t *testing.T, w *World) *bridgeProcess {
	t.Helper()
	cmd := exec.CommandContext(Bounded(t), w.Brain.binaries.Brain, "mcp", "--url", w.Brain.URL, "--token-file", w.AgentToken)
	cmd.Env = childEnvironment(t.TempDir())
	b := &bridgeProcess{Cmd: cmd, log: &logBuffer{}}
	cmd.Stderr = b.log
	var err error
	if b.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	b.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // the test has failed already
			_ = cmd.Wait()
		}
		judgeLog(t, "brain mcp", b.log.String())
	})
	return b
}

type message struct {
	Version string          `json:"jsonrpc"`
	ID      any             `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int
		Message string
	} `json:"error"`
}

func (b *bridgeProcess) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(b.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// hear returns the next line, which must be a message of JSON-RPC.
func (b *bridgeProcess) hear(t *testing.T) message {
	t.Helper()
	line, err := b.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, b.log)
	}
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" {
		t.Fatalf("stdout carries %q", line)
	}
	return m
}

func (b *bridgeProcess) greet(t *testing.T) {
	t.Helper()
	b.say(t, `{"jsonrpc":"2.0","id":"hi","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"hand","version":"1"}}}`)
	if m := b.hear(t); m.ID != "hi" || m.Error != nil {
		t.Fatalf("initialize: %+v", m)
	}
	b.say(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (b *bridgeProcess) create(t *testing.T) string {
	t.Helper()
	b.say(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"workspace_create_ephemeral_dir","arguments":{}}}`)
	var result struct {
		StructuredContent struct{ DirName string }
	}
	if m := b.hear(t); json.Unmarshal(m.Result, &result) != nil || result.StructuredContent.DirName == "" {
		t.Fatalf("creating: %+v", m)
	}
	return result.StructuredContent.DirName
}

// ended returns the exit code; nothing more may come from stdout.
func (b *bridgeProcess) ended(t *testing.T) int {
	t.Helper()
	rest, err := io.ReadAll(b.out)
	if err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	_ = b.Wait() // its code is what counts
	return b.ProcessState.ExitCode()
}

func TestGarbageOnTheBridgesInputIsAnsweredAndForgotten(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	b := startBridge(t, w)
	for _, g := range []struct {
		line string
		code int
	}{
		{"hello?", -32700}, {`{"jsonrpc":"2.0",`, -32700}, {"[]", -32600}, {"17", -32600}, {`{"a":1}`, -32600},
		{strings.Repeat("x", 11<<20), -32600},
	} {
		b.say(t, g.line)
		if m := b.hear(t); m.Error == nil || m.Error.Code != g.code || m.ID != nil {
			t.Errorf("%.20s was answered by %+v", g.line, m)
		}
	}
	b.say(t, "\n  \r")
	b.greet(t)
	b.say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}`)
	if m := b.hear(t); m.Error == nil {
		t.Errorf("an unknown tool answered %+v", m)
	}
	dir := b.create(t)
	if _, err := os.Stat(w.AtBrain(dir, "")); err != nil {
		t.Error(err)
	}
	if err := b.in.Close(); err != nil {
		t.Fatal(err)
	}
	if code := b.ended(t); code != 0 {
		t.Errorf("exit code %d at the end of the input\n%s", code, b.log)
	}
	if _, err := os.Stat(w.AtBrain(dir, "")); !os.IsNotExist(err) {
		t.Errorf("the RootDir outlives the end of the input: %v", err)
	}
}

func TestTheBridgeAnswersWhatWasAskedBeforeItsInputEnded(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	b := startBridge(t, w)
	b.say(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"hand","version":"1"}}}`+
		"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if err := b.in.Close(); err != nil {
		t.Fatal(err)
	}
	if m := b.hear(t); m.Error != nil {
		t.Errorf("%+v", m)
	}
	if m := b.hear(t); m.Error != nil || !strings.Contains(string(m.Result), "client_list") {
		t.Errorf("%+v", m)
	}
	if code := b.ended(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestSIGTERMEndsTheBridgeAndItsScope(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	b := startBridge(t, w)
	b.greet(t)
	dir := b.create(t)
	if err := b.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := b.ended(t); code != 0 {
		t.Errorf("exit code %d on SIGTERM\n%s", code, b.log)
	}
	if _, err := os.Stat(w.AtBrain(dir, "")); !os.IsNotExist(err) {
		t.Errorf("the RootDir outlives SIGTERM: %v", err)
	}
}

func TestTheBridgesExitCodes(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	wrong := t.TempDir() + "/wrong.token"
	if err := os.WriteFile(wrong, []byte(strings.Repeat("x", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{"no token file", []string{"--url", w.Brain.URL}, 2},
		{"a bad address", []string{"--url", "ftp://x", "--token-file", w.AgentToken}, 2},
		{"clear text to elsewhere", []string{"--url", "http://192.0.2.1", "--token-file", w.AgentToken}, 2},
		{"a wrong token", []string{"--url", w.Brain.URL, "--token-file", wrong}, 3},
		{"a Foot's token", []string{"--url", w.Brain.URL, "--token-file", w.FootFile}, 3},
		{"no Brain", []string{"--url", "http://127.0.0.1:1", "--token-file", w.AgentToken}, 4},
	} {
		stdout, stderr, code := w.Brain.Run(t, append([]string{"mcp"}, c.args...)...)
		if code != c.code || stdout != "" || stderr == "" {
			t.Errorf("%s: exit code %d, want %d; stdout %q, stderr:\n%s", c.name, code, c.code, stdout, stderr)
		}
	}
	b := startBridge(t, w)
	b.greet(t)
	b.create(t)
	w.Brain.Kill()
	if err := b.in.Close(); err != nil {
		t.Fatal(err)
	}
	if code := b.ended(t); code != 4 || !strings.Contains(b.log.String(), "until they expire") {
		t.Errorf("exit code %d when the scope cannot be closed, want 4\n%s", code, b.log)
	}
}

func TestARevokedTokenIsToldToTheClientOfTheBridge(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	b := startBridge(t, w)
	b.greet(t)
	listed, _, _ := w.Brain.Run(t, "token", "list", "--json", "--data", w.Brain.Data)
	var tokens []struct{ ID, Role string }
	if err := json.Unmarshal([]byte(listed), &tokens); err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if token.Role == "agent" {
			w.Brain.Run(t, "token", "revoke", token.ID, "--data", w.Brain.Data)
		}
	}
	Eventually(t, func() string {
		b.say(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"client_list","arguments":{}}}`)
		m := b.hear(t)
		if !strings.Contains(string(m.Result), `"unauthorized"`) {
			return "the answer is " + string(m.Result)
		}
		return ""
	})
	if err := b.in.Close(); err != nil {
		t.Fatal(err)
	}
	if code := b.ended(t); code != 3 {
		t.Errorf("exit code %d, want 3\n%s", code, b.log)
	}
}

func TestThePagesCommandsGiveAClientItsServer(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	place := t.TempDir()
	// A stand-in for Claude Code's command keeps what it was given.
	keep := "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\"; done >> given\necho . >> given\n"
	if err := os.WriteFile(filepath.Join(place, "claude"), []byte(keep), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.Brain.binaries.Brain, filepath.Join(place, "brain")); err != nil {
		t.Fatal(err)
	}
	for _, commands := range snippets(t, "sh") {
		shell := exec.CommandContext(Bounded(t), "sh", "-e", "-c", strings.ReplaceAll(commands, "http://127.0.0.1:9990", w.Brain.URL))
		shell.Dir = place
		shell.Env = append(childEnvironment(place), "PATH="+place+":"+os.Getenv("PATH"), "VANCE_BRAIN_DATA="+w.Brain.Data)
		if output, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, commands, output)
		}
	}
	given, err := os.ReadFile(filepath.Join(place, "given"))
	if err != nil {
		t.Fatal(err)
	}
	adds := strings.Split(strings.TrimSuffix(string(given), "\n.\n"), "\n.\n")
	if len(adds) != 2 {
		t.Fatalf("the page adds %d servers: %s", len(adds), given)
	}
	http, stdio := strings.Split(adds[0], "\n"), strings.Split(adds[1], "\n")
	if !slices.Equal(http[:5], []string{"mcp", "add", "--transport", "http", "vancetope"}) || http[6] != "--header" ||
		!slices.Equal(stdio[:4], []string{"mcp", "add", "vancetope", "--"}) {
		t.Fatalf("the page adds %q and %q", http, stdio)
	}
	name, value, _ := strings.Cut(http[7], ": ")
	for way, s := range map[string]Server{
		"http":                       {URL: http[5], Headers: map[string]string{name: value}},
		"stdio":                      {Command: filepath.Join(place, stdio[4]), Args: stdio[5:]},
		"stdio from the environment": servers(t, w.Brain, w.AgentToken)["stdio from the environment"],
	} {
		if r := ConnectMCP(t, "go", "modern", s).Call(t, "client_list", map[string]any{}); !r.OK {
			t.Errorf("%s: %s", way, r)
		}
	}
}

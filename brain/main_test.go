package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/internal/cli"
)

// patience bounds every wait; nothing waits for it to pass.
const patience = 30 * time.Second

// mainVariable makes the test binary the brain program, for tests that need a
// process of its own.
const mainVariable = "BRAIN_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// home keeps the tester's own files and settings out.
func home(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	for _, v := range []string{"VANCE_URL", "VANCE_TOKEN_FILE", "VANCE_CA_FILE"} {
		if err := os.Unsetenv(v); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a command to its end.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code = execute(ctx, args, console{in: strings.NewReader(stdin), out: &out, err: &log})
	return code, out.String(), log.String()
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// brainServer is `brain serve` in this process.
type brainServer struct {
	url  string
	data string
	log  *syncBuffer
	stop func() int // ends it as a signal would and returns the exit code
}

func serve(t *testing.T, args ...string) *brainServer {
	t.Helper()
	home(t)
	data := filepath.Join(t.TempDir(), "data")
	return serveOn(t, data, args...)
}

func serveOn(t *testing.T, data string, args ...string) *brainServer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	b := &brainServer{data: data, log: &syncBuffer{}}
	ended := make(chan int, 1)
	go func() {
		args := append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, args...)
		ended <- execute(ctx, args, console{out: in, err: b.log})
		in.Close() // a pipe in memory
	}()
	b.stop = sync.OnceValue(func() int {
		cancel()
		select {
		case code := <-ended:
			return code
		case <-time.After(patience):
			t.Error("brain serve did not stop")
			return -1
		}
	})
	t.Cleanup(func() {
		if code := b.stop(); code != cli.OK {
			t.Errorf("brain serve ended with %d: %s", code, b.log)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("no ready line: %v\n%s", err, b.log)
	}
	var said ready
	if err := json.Unmarshal(line, &said); err != nil || said.Event != "ready" || said.PID != os.Getpid() || said.Version == "" {
		t.Fatalf("ready line %s, %v", line, err)
	}
	b.url = said.URL
	return b
}

// token makes a token and returns the file it is in.
func (b *brainServer) token(t *testing.T, role string) string {
	t.Helper()
	code, stdout, stderr := run(t, "", "token", "create", "--data", b.data,
		"--tenant", "acme", "--project", "research", "--role", role, "--name", "t-"+role)
	if code != cli.OK || stderr != "" || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("token create: %d, %q, %q", code, stdout, stderr)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// get asks the server with a token, or with none.
func (b *brainServer) get(t *testing.T, path, tokenFile string) (status int, header http.Header, body map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tokenFile != "" {
		token, err := cli.ReadToken(tokenFile, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatalf("%s: %d %q is not a JSON object", path, answer.StatusCode, text)
	}
	return answer.StatusCode, answer.Header, body
}

func TestAServerIsHealthyAndEndsWellOnASignal(t *testing.T) {
	b := serve(t)
	status, header, body := b.get(t, "/healthz", "")
	if status != http.StatusOK || body["status"] != "ok" || body["version"] == "" || header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %v", status, body)
	}
	if code := b.stop(); code != cli.OK {
		t.Errorf("exit code %d", code)
	}
	if _, err := net.DialTimeout("tcp", strings.TrimPrefix(b.url, "http://"), time.Second); err == nil {
		t.Error("the port is still open")
	}
}

func TestAnUnknownPathIsNotFound(t *testing.T) {
	b := serve(t)
	for _, path := range []string{"/", "/nope", "/healthz/x", "/brain/ws", "/brain/acme/ws/x", "/mcp/x"} {
		status, _, body := b.get(t, path, "")
		if status != http.StatusNotFound || body["errorCode"] != "not_found" || body["error"] == "" {
			t.Errorf("%s: %d %v", path, status, body)
		}
	}
}

func TestAKnownPathSaysWhichMethodItTakes(t *testing.T) {
	b := serve(t)
	answer, err := http.Post(b.url+"/healthz", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "GET" {
		t.Errorf("%d, Allow %q", answer.StatusCode, answer.Header.Get("Allow"))
	}
}

func TestMistakesInTheCommandLineAndConfigurationExitWith2(t *testing.T) {
	home(t)
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer")
	makeNewer(t, newer)
	file := filepath.Join(dir, "file")
	config := filepath.Join(dir, "bad.yaml")
	for name, text := range map[string]string{file: "", config: "vance.transfer.chunk-size: 2MiB\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	serve := []string{"serve", "--listen", "127.0.0.1:0", "--data", data}
	token := []string{"token", "create", "--data", data, "--tenant", "a", "--project", "p", "--name", "n"}
	with := func(base []string, more ...string) []string { return append(append([]string(nil), base...), more...) }
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no command":               {nil, "a command is needed"},
		"unknown command":          {[]string{"launch"}, "launch"},
		"a later issue's command":  {[]string{"vfs", "list"}, "vfs"},
		"projects of no state":     {[]string{"project", "list"}, "no state"},
		"a project of no name":     {[]string{"project", "suspend", "--tenant", "t"}, "--project"},
		"a certificate, no key":    {with(serve, "--tls-cert", file), "--tls-key"},
		"a key, no certificate":    {with(serve, "--tls-key", file), "--tls-cert"},
		"an empty certificate":     {with(serve, "--tls-cert", file, "--tls-key", file), "--tls-cert, --tls-key"},
		"no such certificate":      {with(serve, "--tls-cert", "none", "--tls-key", file), "--tls-cert, --tls-key"},
		"metrics off loopback":     {with(serve, "--metrics-listen", "0.0.0.0:0"), "--metrics-listen"},
		"metrics nowhere":          {with(serve, "--metrics-listen", "x"), "vance.brain.metrics-listen"},
		"a public URL with a user": {with(serve, "--public-url", "https://me@x"), "vance.brain.public-url"},
		"a public name, no URL":    {with(serve, "--public-url", "brain.example"), "https://brain.example"},
		"an extra argument":        {with(serve, "more"), "more"},
		"listening off loopback":   {with(serve, "--listen", "0.0.0.0:0"), "127.0.0.1"},
		"listening everywhere":     {with(serve, "--listen", ":0"), "not a loopback address"},
		"listening on a name":      {with(serve, "--listen", "example.com:0"), "not a loopback address"},
		"no port":                  {with(serve, "--listen", "127.0.0.1"), "HOST:PORT"},
		"a bad port":               {with(serve, "--listen", "127.0.0.1:99999"), "65535"},
		"no such configuration":    {with(serve, "--config", filepath.Join(dir, "none")), "settings file"},
		"a bad setting":            {with(serve, "--config", config), "vance.transfer.chunk-size"},
		"data is a file":           {with(serve, "--data", file), "--data"},
		"data of a newer version":  {with(serve, "--data", newer), "newer version"},
		"somebody's home":          {with(serve, "--data", "~root/x"), "~/"},
		"token without a role":     {token, "--role"},
		"token of an unknown role": {with(token, "--role", "root"), "foot"},
		"a token for no time":      {with(token, "--role", "foot", "--ttl", "0s"), "--ttl"},
		"a token of the past":      {with(token, "--role", "foot", "--ttl", "-1h"), "--ttl"},
		"a token for some time":    {with(token, "--role", "foot", "--ttl", "a while"), "--ttl"},
		"a token to write":         {with(token, "--role", "agent", "--access", "write"), "--access"},
		"a token to do nothing":    {with(token, "--role", "agent", "--access="), "--access"},
		"a Foot's token to read":   {with(token, "--role", "foot", "--access", "read"), "foot run --access"},
		"revoking nothing":         {[]string{"token", "revoke", "--data", data}, "id"},
		"token of a bad tenant":    {with(token, "--role", "foot", "--tenant", "a/b"), "tenant"},
		"token of a bad name":      {with(token, "--role", "foot", "--name", ""), "name"},
		"token, newer data":        {with(token, "--role", "foot", "--data", newer), "newer version"},
		"call without arguments":   {[]string{"call", "client_list"}, "'{}' for none"},
		"call with a bare word":    {[]string{"call", "client_list", "x"}, "JSON object"},
		"call with a list":         {[]string{"call", "client_list", "[]"}, "JSON object"},
		"call with nothing":        {[]string{"call", "client_list", "-"}, "JSON object"},
		"call without a token":     {[]string{"call", "client_list", "{}"}, "--token-file"},
		"call with no such token":  {[]string{"call", "client_list", "{}", "--token-file", filepath.Join(dir, "none")}, "token file"},
		"call with an empty token": {[]string{"call", "client_list", "{}", "--token-file", file}, "empty"},
		"call in clear text":       {[]string{"call", "client_list", "{}", "--url", "http://192.0.2.1", "--token-file", config}, "--allow-insecure"},
		"call with no authorities": {[]string{"call", "client_list", "{}", "--ca-file", filepath.Join(dir, "none"), "--token-file", config}, ""},
		"call of another scheme":   {[]string{"call", "client_list", "{}", "--url", "ftp://x"}, "--url"},
		"call with a bad timeout":  {[]string{"call", "client_list", "{}", "--token-file", config, "--timeout", "soon"}, ""},
		"a bad log level":          {[]string{"call", "client_list", "{}", "--log-level", "loud"}, "--log-level"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", c.args...)
			if code != cli.Usage || stdout != "" || !strings.HasPrefix(lastLine(stderr), "brain: ") || !strings.Contains(stderr, c.says) {
				t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return lines[len(lines)-1]
}

// makeNewer makes a data directory as a later version would leave it.
func makeNewer(t *testing.T, dir string) {
	t.Helper()
	s, err := state.OpenSQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, state.FileName)
	db, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// The user version stands big-endian at offset 60 of the file.
	if _, err := db.WriteAt([]byte{0, 0, 0, 200}, 60); err != nil {
		t.Fatal(err)
	}
}

func TestADataDirectoryIsServedOnce(t *testing.T) {
	b := serve(t)
	code, stdout, stderr := run(t, "", "serve", "--listen", "127.0.0.1:0", "--data", b.data)
	if code != cli.InUse || stdout != "" || !strings.Contains(stderr, "another brain serve") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	b.token(t, "foot") // but tokens are made beside it
	if code := b.stop(); code != cli.OK {
		t.Fatalf("exit code %d", code)
	}
	serveOn(t, b.data)
}

func TestATakenPortIsExitFive(t *testing.T) {
	home(t)
	b := serve(t)
	taken := strings.TrimPrefix(b.url, "http://")
	for _, flag := range []string{"--listen", "--metrics-listen"} {
		args := []string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", flag, taken}
		if code, _, stderr := run(t, "", args...); code != cli.InUse || !strings.Contains(stderr, "in use") || !strings.Contains(stderr, flag) {
			t.Errorf("%s: %d, %q", flag, code, stderr)
		}
	}
}

func TestSettingsFromTheEnvironmentAreTold(t *testing.T) {
	home(t)
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	log := &syncBuffer{}
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"serve", "--listen", "localhost:0", "--data", filepath.Join(t.TempDir(), "d")},
			console{out: in, err: log, environ: []string{"VANCE_TRANSFER_CHUNK_SIZE=1KiB"}})
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cancel()
	if code := <-ended; code != cli.OK {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(log.String(), "name=vance.transfer.chunk-size value=1KiB origin=env") {
		t.Errorf("log: %s", log)
	}
}

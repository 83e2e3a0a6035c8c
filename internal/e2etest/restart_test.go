package e2etest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestARestartedBrainHasTheSameFootProcessBackAndTheNextUploadSucceeds(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	hash := WriteFile(t, w.AtFoot("file"), 100_000, 0o644, anHourAgo)
	pid := w.Foot.PID()
	for round := range 2 {
		w.Brain.Restart(t)
		w.Foot.AwaitEvent(t, "disconnected")
		w.Foot.AwaitEvent(t, "connected")
		// The folder and the tokens outlived the restart; a session of the LLM
		// client is opened anew.
		w.Agent = ConnectAgent(t, w.Brain.URL, w.AgentToken, "")
		name := fmt.Sprintf("after restart %d", round)
		up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "file", "dirName": dir, "remotePath": name})
		checkReceipt(t, up, name, 100_000, hash)
		checkFile(t, w.AtBrain(dir, name), hash, 0o644, anHourAgo)
	}
	if w.Foot.PID() != pid {
		t.Errorf("another Foot process")
	}
}

func TestAKilledBrainIsFoundAgainToo(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	hash := WriteFile(t, w.AtFoot("file"), 1000, 0o644, anHourAgo)
	dir := w.NewDir(t)
	w.Brain.Kill()
	w.Foot.AwaitEvent(t, "disconnected")
	w.Brain.start(t, strings.TrimPrefix(w.Brain.URL, "http://"))
	w.Foot.AwaitEvent(t, "connected")
	w.Agent = ConnectAgent(t, w.Brain.URL, w.AgentToken, "")
	up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "file", "dirName": dir, "remotePath": "file"})
	checkReceipt(t, up, "file", 1000, hash)
}

func TestAFootWaitsForABrainThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	brain := StartBrain(t, BrainOptions{})
	token := brain.Token(t, "acme", "p", "foot", "laptop")
	if code := brain.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	foot := StartFoot(t, FootOptions{URL: brain.URL, Tenant: "acme", ProjectID: "p", TokenFile: token})
	brain.start(t, strings.TrimPrefix(brain.URL, "http://"))
	foot.AwaitEvent(t, "connected")
}

func TestTheExitCodesOfFootRun(t *testing.T) {
	t.Parallel()
	brain := StartBrain(t, BrainOptions{})
	footToken := brain.Token(t, "acme", "p", "foot", "laptop")
	agentToken := brain.Token(t, "acme", "p", "agent", "agent")
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("no-such-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a-file")
	WriteFile(t, file, 1, 0o600, anHourAgo)
	cases := []struct {
		rule    string
		options FootOptions
		code    int
	}{
		{"an unknown token: 3", FootOptions{URL: brain.URL, Tenant: "acme", TokenFile: bad}, 3},
		{"a token of another tenant: 3", FootOptions{URL: brain.URL, Tenant: "other", TokenFile: footToken}, 3},
		{"a token of another role: 3", FootOptions{URL: brain.URL, Tenant: "acme", TokenFile: agentToken}, 3},
		{"no Brain and --once: 4", FootOptions{URL: "http://127.0.0.1:1", Tenant: "acme", TokenFile: footToken, Args: []string{"--once"}}, 4},
		{"a token file that is missing: 2", FootOptions{URL: brain.URL, Tenant: "acme", TokenFile: file + "-missing"}, 2},
		{"a root that cannot be made: 2", FootOptions{URL: brain.URL, Tenant: "acme", TokenFile: footToken, Args: []string{"--root", file + "/below"}}, 2},
		{"an unknown flag: 2", FootOptions{URL: brain.URL, Tenant: "acme", TokenFile: footToken, Args: []string{"--nonsense"}}, 2},
		{"a root whose name is not UTF-8: 2", FootOptions{URL: brain.URL, Tenant: "acme", TokenFile: footToken, Args: []string{"--root", file + "\xff"}}, 2},
		{"no choice of what is asked about: 2", FootOptions{URL: brain.URL, Tenant: "acme", TokenFile: footToken, Args: []string{"--confirm", "reads"}}, 2},
		{"a setting out of range: 2", FootOptions{URL: brain.URL, Tenant: "acme", TokenFile: footToken, Settings: map[string]string{"vance.transfer.chunk-size": "2MiB"}}, 2},
		{"an unknown setting: 2", FootOptions{URL: brain.URL, Tenant: "acme", TokenFile: footToken, Settings: map[string]string{"vance.transfer.window": "1MiB"}}, 2},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			foot := StartFoot(t, c.options)
			if code := foot.Wait(t); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, foot.Log())
			}
			if foot.Log() == "" {
				t.Error("it does not say why")
			}
		})
	}
}

func TestTheExitCodesOfBrain(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	missing := filepath.Join(t.TempDir(), "missing")
	cases := []struct {
		rule string
		args []string
		code int
	}{
		{"an unknown command: 2", []string{"fly"}, 2},
		{"an unknown flag: 2", []string{"serve", "--nonsense"}, 2},
		{"a data directory whose name is not UTF-8: 2", []string{"serve", "--listen", "127.0.0.1:0", "--data", missing + "\xff"}, 2},
		{"call with no token file: 2", []string{"call", "client_list", "{}", "--url", w.Brain.URL, "--token-file", missing}, 2},
		{"call with arguments that are no JSON: 2", []string{"call", "client_list", "{", "--url", w.Brain.URL, "--token-file", w.AgentToken}, 2},
		{"call with a Foot's token: 3", []string{"call", "client_list", "{}", "--url", w.Brain.URL, "--token-file", w.FootFile}, 3},
		{"call without a Brain: 4", []string{"call", "client_list", "{}", "--url", "http://127.0.0.1:1", "--token-file", w.AgentToken}, 4},
		{"a data directory in use: 5", []string{"serve", "--listen", "127.0.0.1:0", "--data", w.Brain.Data}, 5},
		{"a token of an unknown role: 2", []string{"token", "create", "--data", w.Brain.Data, "--tenant", "a", "--project", "p", "--role", "king", "--name", "n"}, 2},
		{"a tenant that is no segment: 2", []string{"token", "create", "--data", w.Brain.Data, "--tenant", "a/b", "--project", "p", "--role", "foot", "--name", "n"}, 2},
		{"call of a tool that fails: 1", []string{"call", "client_file_upload", `{"localPath":"a","dirName":"none","remotePath":"a"}`, "--url", w.Brain.URL, "--token-file", w.AgentToken}, 1},
		{"call that succeeds: 0", []string{"call", "client_list", "{}", "--url", w.Brain.URL, "--token-file", w.AgentToken}, 0},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			stdout, stderr, code := w.Brain.Run(t, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, c.code, stdout, stderr)
			}
			if code >= 2 && stderr == "" {
				t.Error("it does not say why")
			}
			if code <= 1 && !json.Valid([]byte(stdout)) {
				t.Errorf("stdout %q is no JSON", stdout)
			}
		})
	}
}

func TestHealthSaysOkAndTheVersion(t *testing.T) {
	t.Parallel()
	brain := StartBrain(t, BrainOptions{})
	answer, err := http.Get(brain.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(answer.Body)
	var health struct{ Status, Version string }
	if err := json.NewDecoder(answer.Body).Decode(&health); err != nil || answer.StatusCode != 200 || health.Status != "ok" || health.Version == "" {
		t.Errorf("status %d, %+v, %v", answer.StatusCode, health, err)
	}
}

func TestTheChecksBeforeTheSocketComeInOrder(t *testing.T) {
	t.Parallel()
	brain := StartBrain(t, BrainOptions{})
	foot := brain.Token(t, "acme", "p", "foot", "laptop")
	agent := brain.Token(t, "acme", "p", "agent", "agent")
	user := brain.Token(t, "acme", "p", "user", "user")
	cases := []struct {
		rule, path, tokenFile, protocol string
		status                          int
		code                            string
	}{
		{"an unknown path is 404 even without a token", "/brain/acme/nowhere", "", Subprotocol, 404, "not_found"},
		{"no token: 401", "/brain/acme/ws", "", Subprotocol, 401, "unauthorized"},
		{"another tenant: 403", "/brain/other/ws", foot, Subprotocol, 403, "access_denied"},
		{"an agent's token: 403", "/brain/acme/ws", agent, Subprotocol, 403, "access_denied"},
		{"a user's token: 403", "/brain/acme/ws", user, Subprotocol, 403, "access_denied"},
		{"no subprotocol: 400", "/brain/acme/ws", foot, "", 400, "handshake_failed"},
		{"another subprotocol: 400", "/brain/acme/ws", foot, "mqtt", 400, "handshake_failed"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			request, err := http.NewRequestWithContext(Bounded(t), "GET", brain.URL+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket",
				"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
				request.Header.Set(name, value)
			}
			if c.protocol != "" {
				request.Header.Set("Sec-WebSocket-Protocol", c.protocol)
			}
			if c.tokenFile != "" {
				request.Header.Set("Authorization", "Bearer "+readToken(t, c.tokenFile))
			}
			checkErrorBody(t, request, c.status, c.code)
		})
	}
}

// checkErrorBody sends a request that must fail and checks the whole answer.
func checkErrorBody(t *testing.T, request *http.Request, status int, code string) {
	t.Helper()
	client := http.Client{Timeout: Patience}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(answer.Body)
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if problem := invalid("api/error", raw); problem != "" {
		t.Fatalf("status %d, body %.300q: %s", answer.StatusCode, raw, problem)
	}
	var body struct{ Error, ErrorCode string }
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != status || body.ErrorCode != code || body.Error == "" {
		t.Errorf("got %d %+v, want %d %s", answer.StatusCode, body, status, code)
	}
	if got := answer.Header.Get("WWW-Authenticate"); (status == 401) != strings.HasPrefix(got, "Bearer") {
		t.Errorf("status %d with WWW-Authenticate %q", status, got)
	}
}

func TestNothingButAHelloOpensAConnection(t *testing.T) {
	t.Parallel()
	brain := StartBrain(t, BrainOptions{Settings: map[string]string{"vance.transfer.phase-timeout": "1s"}})
	token := brain.Token(t, "acme", "p", "foot", "laptop")
	hello := `{"type":"hello","protocolVersion":1,"footId":"","clientVersion":"x","os":"linux","access":"edit","grants":[],"features":[]}`
	cases := []struct{ rule, first, code string }{
		{"silence", "", "handshake_failed"},
		{"another frame", `{"type":"transfer_finish","transferId":"0198c0de-0000-7000-8000-000000000001","ok":true}`, "handshake_failed"},
		{"no JSON", "hello", "handshake_failed"},
		{"another version", strings.Replace(hello, `Version":1`, `Version":2`, 1), "unsupported_version"},
		{"another name", strings.Replace(hello, `footId":""`, `footId":"desktop"`, 1), "identity_mismatch"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			p, _, err := TryDialAsFoot(t, brain.URL, "acme", token)
			if err != nil {
				t.Fatal(err)
			}
			if c.first != "" {
				p.SendRaw(c.first)
			}
			if got := p.Expect("error"); got["code"] != c.code {
				t.Errorf("got %v, want %s", got, c.code)
			}
			if err := p.SetReadDeadline(time.Now().Add(Patience)); err != nil {
				t.Fatal(err)
			}
			_, _, err = p.ReadMessage()
			if closed := closeCode(err); closed != 1008 {
				t.Errorf("closed with %d (%v), want 1008", closed, err)
			}
		})
	}
}

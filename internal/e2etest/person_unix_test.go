//go:build unix

package e2etest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vancetope/transfer/internal/launch"
	"github.com/vancetope/transfer/internal/proxytest"
	"github.com/vancetope/transfer/internal/tlstest"
)

// The person at the Foot, with the built programs.

// personWorld is a World whose Foot asks about everything, and where phases are
// much shorter than people are quick.
type personWorld struct {
	*World
	dir string
}

const shortPhase = 1500 * time.Millisecond

func newPersonWorld(t *testing.T, o WorldOptions) *personWorld {
	t.Helper()
	o.Dir = t.TempDir()
	o.FootArgs = append(o.FootArgs, "--confirm", "all")
	short := map[string]string{"vance.transfer.phase-timeout": shortPhase.String()}
	o.BrainSettings, o.FootSettings = short, short
	return &personWorld{NewWorld(t, o), o.Dir}
}

// foot runs another command of the Foot's.
func (w *personWorld) foot(t *testing.T, want int, args ...string) string {
	t.Helper()
	args = append(args, "--state", filepath.Join(w.dir, "foot-state"))
	stdout, stderr, code := runProgram(t, RaceBinaries(t).Foot, filepath.Join(w.dir, "foot-home"), args...)
	if code != want {
		t.Fatalf("foot %v: exit code %d, want %d; stdout %q, stderr %q", args, code, want, stdout, stderr)
	}
	return stdout
}

// approval is the next question.
type approval struct{ ID, Direction, Path string }

func (w *personWorld) question(t *testing.T) approval {
	t.Helper()
	var a approval
	if err := w.Foot.AwaitEvent(t, "approval").Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

// begin calls a tool, and returns where its answer comes.
func (w *personWorld) begin(t *testing.T, tool string, arguments map[string]any) <-chan Result {
	answer := make(chan Result, 1)
	go func() { answer <- w.Command().Call(t, tool, arguments) }()
	return answer
}

func TestAPersonMayTakeLongerThanAnyPhase(t *testing.T) {
	t.Parallel()
	w := newPersonWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	hash := WriteFile(t, w.AtBrain(dir, "a"), 300_000, 0o644, anHourAgo)
	down := w.begin(t, "client_file_download", map[string]any{"localPath": "in/a", "dirName": dir, "remotePath": "a"})
	q := w.question(t)
	if q.Direction != "download" || q.Path != "in/a" {
		t.Errorf("the question is %+v", q)
	}
	time.Sleep(shortPhase + time.Second) // the person thinks
	if left, err := os.ReadDir(w.Foot.Project); err == nil && len(left) > 0 {
		t.Errorf("written before the approval: %v", left)
	}
	var status struct {
		Connected bool
		Transfers []struct{ TransferID, State string }
	}
	if err := json.Unmarshal([]byte(w.foot(t, 0, "status", "--json")), &status); err != nil {
		t.Fatal(err)
	}
	if !status.Connected || len(status.Transfers) != 1 || status.Transfers[0].State != "waiting_for_approval" || status.Transfers[0].TransferID != q.ID {
		t.Errorf("the status is %+v", status)
	}
	w.foot(t, 0, "approve", q.ID)
	checkReceipt(t, <-down, "in/a", 300_000, hash)
	if HashFile(t, w.AtFoot("in/a")) != hash {
		t.Error("the file came changed")
	}

	up := w.begin(t, "client_file_upload", map[string]any{"localPath": "in/a", "dirName": dir, "remotePath": "back"})
	q = w.question(t)
	if q.Direction != "upload" || q.Path != "in/a" {
		t.Errorf("the question is %+v", q)
	}
	time.Sleep(shortPhase + time.Second)
	w.foot(t, 0, "approve", q.ID, "--always")
	checkReceipt(t, <-up, "back", 300_000, hash)
	checkReceipt(t, w.Command().Call(t, "client_file_upload", map[string]any{"localPath": "in/a", "dirName": dir, "remotePath": "again"}), "again", 300_000, hash)
	if lines := strings.Split(strings.TrimSpace(w.foot(t, 0, "history")), "\n"); len(lines) != 3 || !strings.Contains(lines[2], "complete") {
		t.Errorf("the history is %q", lines)
	}
}

func TestADeclinedToolCallSaysSo(t *testing.T) {
	t.Parallel()
	w := newPersonWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	WriteFile(t, w.AtBrain(dir, "a"), 10, 0o644, anHourAgo)
	WriteFile(t, w.AtFoot("b"), 10, 0o644, anHourAgo)
	for tool, arguments := range map[string]map[string]any{
		"client_file_download": {"localPath": "a", "dirName": dir, "remotePath": "a"},
		"client_file_upload":   {"localPath": "b", "dirName": dir, "remotePath": "b"},
	} {
		answer := w.begin(t, tool, arguments)
		w.foot(t, 0, "decline", w.question(t).ID)
		if got := <-answer; got.OK || got.ErrorCode != "declined" {
			t.Errorf("%s: %s", tool, got)
		}
	}
	for _, place := range []string{w.AtFoot("a"), w.AtBrain(dir, "b")} {
		if _, err := os.Stat(place); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", place, err)
		}
	}
}

// What cannot be done is no question.
func TestNobodyIsAskedAboutWhatCannotBe(t *testing.T) {
	t.Parallel()
	w := newPersonWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	WriteFile(t, w.AtBrain(dir, "a"), 10, 0o644, anHourAgo)
	for code, call := range map[string]struct {
		tool string
		path string
	}{
		"path_escapes_sandbox": {"client_file_download", "../a"},
		"not_found":            {"client_file_upload", "none"},
	} {
		got := w.Command().Call(t, call.tool, map[string]any{"localPath": call.path, "dirName": dir, "remotePath": "a"})
		if got.OK || got.ErrorCode != code {
			t.Errorf("%s of %s: %s", call.tool, call.path, got)
		}
	}
	if code := w.Foot.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if events := w.Foot.Events(); len(named(events, "approval")) > 0 {
		t.Errorf("asked: %v", events)
	}
}

func named(events []launch.Event, name string) (found []launch.Event) {
	for _, e := range events {
		if e.Name == name {
			found = append(found, e)
		}
	}
	return found
}

func TestABrainThatCannotBeToldOfTheQuestionWaitsAPhase(t *testing.T) {
	t.Parallel()
	w := newPersonWorld(t, WorldOptions{Via: func(url string) string {
		tap := NewTap(t, url)
		tap.Alter(func(f TappedFrame) [][]byte { return withoutFeatures(t, f) })
		return tap.URL
	}})
	dir := w.NewDir(t)
	WriteFile(t, w.AtBrain(dir, "a"), 10, 0o644, anHourAgo)
	WriteFile(t, w.AtFoot("b"), 10, 0o644, anHourAgo)
	for tool, arguments := range map[string]map[string]any{
		"client_file_download": {"localPath": "a", "dirName": dir, "remotePath": "a"},
		"client_file_upload":   {"localPath": "b", "dirName": dir, "remotePath": "b"},
	} {
		began := time.Now()
		answer := w.begin(t, tool, arguments)
		q := w.question(t)
		// Either side may be first to lose its patience.
		if got := <-answer; got.OK || got.ErrorCode != "declined" && got.ErrorCode != "init_timeout" {
			t.Errorf("%s: %s", tool, got)
		}
		if took := time.Since(began); took < shortPhase {
			t.Errorf("%s ended after %v", tool, took)
		}
		Eventually(t, func() string {
			if strings.Contains(w.foot(t, 0, "status"), q.ID) {
				return "the question still stands"
			}
			return ""
		})
		w.foot(t, 1, "approve", q.ID)
	}
	if left, err := os.ReadDir(w.Foot.Project); err != nil || len(left) != 1 {
		t.Errorf("in the folder: %v, %v", left, err)
	}
}

func TestAQuestionIsGoneWithItsBrain(t *testing.T) {
	t.Parallel()
	w := newPersonWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	WriteFile(t, w.AtBrain(dir, "a"), 10, 0o644, anHourAgo)
	call := map[string]any{"localPath": "a", "dirName": dir, "remotePath": "a"}
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		// The Brain goes down under the call: only that it ends counts.
		w.Brain.Run(t, "call", "client_file_download", `{"localPath":"a","dirName":"`+dir+`","remotePath":"a"}`,
			"--url", w.Brain.URL, "--token-file", w.AgentToken)
	}()
	first := w.question(t)
	w.Brain.Kill()
	w.Foot.AwaitEvent(t, "disconnected")
	<-lost
	w.foot(t, 1, "approve", first.ID)
	w.Brain.start(t, strings.TrimPrefix(w.Brain.URL, "http://"))
	w.Foot.AwaitEvent(t, "connected")
	again := w.begin(t, "client_file_download", call)
	second := w.question(t)
	if second.ID == first.ID {
		t.Error("the same question again")
	}
	w.foot(t, 0, "approve", second.ID)
	if got := <-again; !got.OK {
		t.Errorf("afterwards: %s", got)
	}
}

func TestEverythingWorksOverTLSThroughAProxy(t *testing.T) {
	cert, key := tlstest.SelfSigned(t, t.TempDir(), "brain")
	brain := StartBrain(t, BrainOptions{Args: []string{"--tls-cert", cert, "--tls-key", key}})
	proxy := proxytest.Start(t, proxytest.Options{Target: strings.TrimPrefix(brain.URL, "https://")})
	t.Setenv("https_proxy", "http://user:pr0xy-password@"+proxy.Address)
	foot := StartFoot(t, FootOptions{URL: "https://brain.test", Tenant: "acme", ProjectID: "p",
		TokenFile: brain.Token(t, "acme", "p", "foot", "laptop"), Args: []string{"--ca-file", cert, "--log-level", "debug"}})
	foot.AwaitEvent(t, "connected")
	agent := brain.Token(t, "acme", "p", "agent", "helper")
	hash := WriteFile(t, foot.Project+"/a", 3_000_000, 0o600, anHourAgo)
	for _, call := range [][2]string{
		{"workspace_create_ephemeral_dir", `{"dirName":"d"}`},
		{"client_file_upload", `{"localPath":"a","dirName":"d","remotePath":"a"}`},
		{"client_file_download", `{"localPath":"b","dirName":"d","remotePath":"a"}`},
	} {
		if stdout, stderr, code := brain.Run(t, "call", call[0], call[1], "--url", brain.URL, "--token-file", agent, "--ca-file", cert); code != 0 {
			t.Fatalf("%s: %d %s %s", call[0], code, stdout, stderr)
		}
	}
	if HashFile(t, foot.Project+"/b") != hash {
		t.Error("the file came back changed")
	}
	if asked := proxy.Asked(); len(asked) != 1 || asked[0].RequestURI != "brain.test:443" {
		t.Errorf("the proxy was asked %+v", asked)
	}
	if strings.Contains(foot.Log(), "pr0xy-password") {
		t.Error("the log tells the proxy's password")
	}
}

func TestALoginOverTLSThroughAProxyIsAllThatFootRunNeeds(t *testing.T) {
	cert, key := tlstest.SelfSigned(t, t.TempDir(), "brain")
	brain := StartBrain(t, BrainOptions{Args: []string{"--tls-cert", cert, "--tls-key", key}})
	proxy := proxytest.Start(t, proxytest.Options{Target: strings.TrimPrefix(brain.URL, "https://")})
	link := func(more ...string) string {
		stdout, stderr, code := brain.Run(t, append([]string{"token", "create", "--data", brain.Data, "--tenant", "acme", "--project", "research",
			"--role", "foot", "--name", "laptop", "--link", "--public-url", "https://brain.test/"}, more...)...)
		if code != 0 {
			t.Fatalf("%d, %q, %q", code, stdout, stderr)
		}
		return strings.TrimSpace(stdout)
	}
	t.Setenv("https_proxy", "http://user:pr0xy-password@"+proxy.Address)
	foot, home := RaceBinaries(t).Foot, t.TempDir()
	expired := link("--link-ttl", "1ms")
	if _, stderr, code := runProgram(t, foot, home, "login", expired, "--ca-file", cert); code != 3 || !strings.Contains(stderr, "ask for a new one") {
		t.Errorf("an expired link: %d, %q", code, stderr)
	}
	good := link()
	if _, stderr, code := runProgram(t, foot, home, "login", good); code != 4 || !strings.Contains(stderr, "--ca-file") {
		t.Errorf("an authority that nobody knows: %d, %q", code, stderr)
	}
	if stdout, stderr, code := runProgram(t, foot, home, "login", good, "--ca-file", cert); code != 0 {
		t.Fatalf("foot login: %d, %q, %q", code, stdout, stderr)
	}
	child := startChild(t, foot, home, "run", "--json")
	if _, err := child.AwaitNamed(Bounded(t), "connected"); err != nil {
		t.Fatalf("%v\n%s", err, child.Log())
	}
	if stdout, stderr, code := runProgram(t, foot, home, "status"); code != 0 || !strings.HasPrefix(stdout, "connected to https://brain.test as laptop of acme/research") {
		t.Errorf("foot status: %d, %q, %q", code, stdout, stderr)
	}
	if stdout, _, code := brain.Run(t, "token", "list", "--data", brain.Data, "--json"); code != 0 {
		t.Error(stdout)
	} else {
		var tokens []struct{ ID string }
		if err := json.Unmarshal([]byte(stdout), &tokens); err != nil || len(tokens) != 1 {
			t.Fatalf("%s, %v", stdout, err)
		}
		if _, stderr, code := brain.Run(t, "token", "revoke", tokens[0].ID, "--data", brain.Data); code != 0 {
			t.Fatal(stderr)
		}
	}
	if code := child.Wait(t); code != 3 || !strings.Contains(child.Log(), "foot login") {
		t.Errorf("revoked: exit code %d\n%s", code, child.Log())
	}
	for _, r := range proxy.Asked() {
		if r.Method != "CONNECT" || r.RequestURI != "brain.test:443" {
			t.Errorf("the proxy was asked %s %s", r.Method, r.RequestURI)
		}
	}
}

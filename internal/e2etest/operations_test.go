package e2etest

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// scriptedFoot is a Foot played by the test that has an upload under way: its
// file was accepted, and no chunk was sent yet.
type scriptedFoot struct {
	*Peer
	id     string
	answer <-chan Result
}

func startUpload(t *testing.T, w *World, p *Peer, dir, path string) *scriptedFoot {
	t.Helper()
	answer := make(chan Result, 1)
	go func() {
		// The session is the test's; its failures are told by the answer.
		raw, err := w.Agent.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "client_file_upload",
			Arguments: map[string]any{"localPath": "f", "dirName": dir, "remotePath": path}})
		if err != nil {
			text := err.Error()
			answer <- Result{Error: &text, ErrorCode: "none at all"}
			return
		}
		var r Result
		if r.Raw, err = json.Marshal(raw.StructuredContent); err == nil {
			err = json.Unmarshal(r.Raw, &r)
		}
		if err != nil {
			t.Error(err)
		}
		answer <- r
	}()
	id := p.Expect("client.file.upload.request").Str("transferId")
	p.Send(Message{"type": "transfer_init", "transferId": id, "source": "f", "target": path, "dirName": dir,
		"totalSize": len(good), "hash": hashOf(good)})
	if got := p.ExpectOf(id, "transfer_init_response"); got["ok"] != true {
		t.Fatal(got)
	}
	return &scriptedFoot{p, id, answer}
}

func (f *scriptedFoot) result(t *testing.T) Result {
	t.Helper()
	select {
	case r := <-f.answer:
		return r
	case <-time.After(Patience):
		t.Fatal("the call has no answer")
		return Result{}
	}
}

// closed reads to the end of the connection and returns how it was closed.
func (p *Peer) closed(t *testing.T) (code int, reason string) {
	t.Helper()
	for {
		if err := p.SetReadDeadline(time.Now().Add(Patience)); err != nil {
			t.Fatal(err)
		}
		_, _, err := p.ReadMessage()
		if closed, ok := err.(*websocket.CloseError); ok {
			return closed.Code, closed.Text
		}
		if err != nil {
			return 0, err.Error()
		}
	}
}

// tokenID is the id in the token of a file, which is what revoke takes.
func tokenID(t *testing.T, file string) string {
	t.Helper()
	return strings.Split(readToken(t, file), "_")[1]
}

func (b *Brain) revoke(t *testing.T, tokenFile string) {
	t.Helper()
	if _, stderr, code := b.Run(t, "token", "revoke", tokenID(t, tokenFile), "--data", b.Data); code != 0 {
		t.Fatalf("token revoke: %d %s", code, stderr)
	}
}

func TestARevokedTokenEndsItsFootWithExitCode3(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	other := StartFoot(t, FootOptions{URL: w.Brain.URL, Tenant: w.Tenant, ProjectID: w.Project,
		TokenFile: w.Brain.Token(t, w.Tenant, w.Project, "foot", "desktop")})
	other.AwaitEvent(t, "connected")
	w.Brain.revoke(t, w.FootFile)
	if code := w.Foot.Wait(t); code != 3 || !strings.Contains(w.Foot.Log(), "token revoked") {
		t.Errorf("exit code %d\n%s", code, w.Foot.Log())
	}
	if feet := w.Agent.Call(t, "client_list", map[string]any{}).Feet; len(feet) != 1 || feet[0].Name != "desktop" {
		t.Errorf("client_list: %+v", feet)
	}
}

func TestAnExpiredTokenEndsItsFootWithExitCode3(t *testing.T) {
	t.Parallel()
	brain := StartBrain(t, BrainOptions{})
	token := brain.Token(t, "acme", "p", "foot", "laptop", "--ttl", "5s")
	foot := StartFoot(t, FootOptions{URL: brain.URL, Tenant: "acme", ProjectID: "p", TokenFile: token})
	foot.AwaitEvent(t, "connected")
	if code := foot.Wait(t); code != 3 || !strings.Contains(foot.Log(), "token expired") {
		t.Errorf("exit code %d\n%s", code, foot.Log())
	}
}

func TestWithTheTokenOfItsFootATransferIsDenied(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	dir := w.NewDir(t)
	WriteFile(t, w.AtBrain(dir, "f"), 10, 0o600, anHourAgo)
	before := Snapshot(t, w.AtBrain(dir, ""))
	f := startUpload(t, w, DialAsFoot(t, w.Brain.URL, w.Tenant, w.FootFile), dir, "f")
	w.Brain.revoke(t, w.FootFile)
	if code, reason := f.closed(t); code != 1008 || reason != "token revoked" {
		t.Errorf("closed with %d %q", code, reason)
	}
	if r := f.result(t); r.ErrorCode != "access_denied" {
		t.Error(r)
	}
	if diff := cmp.Diff(before, Snapshot(t, w.AtBrain(dir, ""))); diff != "" {
		t.Errorf("the RootDir changed (-before +after):\n%s", diff)
	}
}

func TestWithTheTokenOfTheCallItsTransferIsDeniedAndTheSessionEnds(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	dir := w.NewDir(t)
	f := startUpload(t, w, DialAsFoot(t, w.Brain.URL, w.Tenant, w.FootFile), dir, "f")
	w.Brain.revoke(t, w.AgentToken)
	if r := f.result(t); r.ErrorCode != "access_denied" {
		t.Error(r)
	}
	if got := f.ExpectOf(f.id, "transfer_complete"); got["ok"] != false || got["errorCode"] != "access_denied" {
		t.Errorf("the Foot is told %v", got)
	}
	if _, err := w.Agent.ListTools(t.Context(), nil); err == nil {
		t.Error("the session goes on")
	}
	NoStaging(t, w.AtBrain(dir, ""))
}

func TestASecondFootOnTheSameStateFolderExitsWith5(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	state := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(w.Foot.Project))), "foot-state")
	if _, err := os.Stat(filepath.Join(state, "lock")); err != nil {
		t.Fatal(err)
	}
	second := StartFoot(t, FootOptions{URL: w.Brain.URL, Tenant: w.Tenant, ProjectID: w.Project, TokenFile: w.FootFile,
		Args: []string{"--state", state}})
	if code := second.Wait(t); code != 5 || !strings.Contains(second.Log(), "uses the state folder") {
		t.Errorf("exit code %d\n%s", code, second.Log())
	}
	if feet := w.Agent.Call(t, "client_list", map[string]any{}).Feet; len(feet) != 1 {
		t.Errorf("the first Foot was disturbed: %+v", feet)
	}
}

func TestOfTwoFeetWithOneTokenTheNewcomerStaysAndTheOlderExitsWith5(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	second := StartFoot(t, FootOptions{URL: w.Brain.URL, Tenant: w.Tenant, ProjectID: w.Project, TokenFile: w.FootFile})
	second.AwaitEvent(t, "connected")
	if code := w.Foot.Wait(t); code != 5 || !strings.Contains(w.Foot.Log(), "replaced") {
		t.Errorf("exit code %d\n%s", code, w.Foot.Log())
	}
	dir := w.NewDir(t)
	WriteFile(t, filepath.Join(second.Project, "a"), 10, 0o600, anHourAgo)
	if up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "a", "dirName": dir, "remotePath": "a"}); !up.OK {
		t.Error(up)
	}
}

// Hazard: the Brain closes the dead socket of a Foot as replaced, after the same
// process has connected again, and the process takes it for its own end.
func TestALateCloseOfAnOlderSocketOfTheSameProcessMeansNothing(t *testing.T) {
	t.Parallel()
	var proxy *CutProxy
	w := NewWorld(t, WorldOptions{Via: func(url string) string {
		proxy = NewCutProxy(t, url)
		return proxy.URL
	}})
	for range 5 {
		proxy.Cut()
		w.Foot.AwaitEvent(t, "connected")
	}
	dir := w.NewDir(t)
	WriteFile(t, w.AtFoot("a"), 10, 0o600, anHourAgo)
	if up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "a", "dirName": dir, "remotePath": "a"}); !up.OK {
		t.Error(up)
	}
}

func TestADrainingBrainLetsTheRunningTransferEnd(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	dir := w.NewDir(t)
	f := startUpload(t, w, DialAsFoot(t, w.Brain.URL, w.Tenant, w.FootFile), dir, "f")
	if err := w.Brain.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.awaitDraining(t)
	if _, answer, err := TryDialAsFoot(t, w.Brain.URL, w.Tenant, w.FootFile); err == nil || answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new socket: %v", err)
	}
	if _, stderr, code := w.Brain.Run(t, "call", "client_list", "{}", "--url", w.Brain.URL, "--token-file", w.AgentToken); code != 4 || !strings.Contains(stderr, "draining") {
		t.Errorf("a new call: %d %s", code, stderr)
	}
	f.Send(chunk(f.id, 0, good, true))
	if got := f.AwaitOf(f.id, "transfer_complete"); got["ok"] != true {
		t.Errorf("the transfer under way: %v", got)
	}
	f.Send(Message{"type": "transfer_finish", "transferId": f.id, "ok": true})
	if code, _ := f.closed(t); code != 1012 {
		t.Errorf("closed with %d", code)
	}
	if r := f.result(t); !r.OK {
		t.Error(r)
	}
	if code := w.Brain.Wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if HashFile(t, w.AtBrain(dir, "f")) != hashOf(good) {
		t.Error("the file is not whole")
	}
}

func (w *World) awaitDraining(t *testing.T) {
	t.Helper()
	Eventually(t, func() string {
		answer, err := http.Get(w.Brain.URL + "/healthz")
		if err != nil {
			return err.Error()
		}
		defer closeQuietly(answer.Body)
		var body struct{ ErrorCode string }
		if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
			return err.Error()
		}
		if answer.StatusCode != http.StatusServiceUnavailable || body.ErrorCode != "draining" {
			return answer.Status + " " + body.ErrorCode
		}
		return ""
	})
}

func TestADrainingBrainCancelsWhatDoesNotEndWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	dir := w.NewDir(t)
	WriteFile(t, w.AtBrain(dir, "f"), 10, 0o600, anHourAgo)
	before := Snapshot(t, w.AtBrain(dir, ""))
	f := startUpload(t, w, DialAsFoot(t, w.Brain.URL, w.Tenant, w.FootFile), dir, "f")
	began := time.Now()
	if err := w.Brain.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := f.AwaitOf(f.id, "transfer_complete"); got["ok"] != false || got["errorCode"] != "cancelled" {
		t.Errorf("the Foot is told %v", got)
	}
	f.Send(Message{"type": "transfer_finish", "transferId": f.id, "ok": false, "error": "cancelled", "errorCode": "cancelled"})
	if code, _ := f.closed(t); code != 1012 {
		t.Errorf("closed with %d", code)
	}
	if r := f.result(t); r.ErrorCode != "cancelled" {
		t.Error(r)
	}
	if code := w.Brain.Wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > 5*time.Second+busy {
		t.Errorf("it took %v", took)
	}
	if diff := cmp.Diff(before, Snapshot(t, w.AtBrain(dir, ""))); diff != "" {
		t.Errorf("the RootDir changed (-before +after):\n%s", diff)
	}
}

// busy is what a machine that does much else adds to a promised time.
const busy = 3 * time.Second

func TestADrainingFootLetsTheRunningTransferEnd(t *testing.T) {
	p, foot := newScriptedBrain(t, nil)
	WriteFile(t, foot.Project+"/file", 10, 0o600, anHourAgo)
	receiving := transferID(1)
	p.Send(Message{"type": "transfer_init", "transferId": receiving, "source": "f", "target": "got", "totalSize": len(good), "hash": hashOf(good)})
	if got := p.ExpectOf(receiving, "transfer_init_response"); got["ok"] != true {
		t.Fatal(got)
	}
	if err := foot.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// New work is refused from some moment on.
	for n := 2; ; n++ {
		id := transferID(n)
		p.Send(Message{"type": "client.file.upload.request", "transferId": id, "localPath": "file", "dirName": "d", "remotePath": "r"})
		got := p.Receive()
		if got.Str("type") == "transfer_finish" {
			if got["errorCode"] != "draining" {
				t.Errorf("a new request: %v", got)
			}
			break
		}
		p.Send(Message{"type": "transfer_init_response", "transferId": id, "ok": false, "error": "quota", "errorCode": "quota"})
		p.AwaitOf(id, "transfer_finish")
	}
	p.Send(chunk(receiving, 0, good, true))
	if got := p.AwaitOf(receiving, "transfer_complete"); got["ok"] != true {
		t.Errorf("the transfer under way: %v", got)
	}
	p.Send(Message{"type": "transfer_finish", "transferId": receiving, "ok": true})
	if code, _ := p.closed(t); code != 1001 {
		t.Errorf("closed with %d", code)
	}
	if code := foot.Wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if HashFile(t, foot.Project+"/got") != hashOf(good) {
		t.Error("the file is not whole")
	}
}

func TestADrainingFootCancelsWhatDoesNotEndWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	p, foot := newScriptedBrain(t, nil)
	WriteFile(t, foot.Project+"/got", 10, 0o600, anHourAgo)
	before := Snapshot(t, foot.Project)
	receiving, sending := transferID(1), transferID(2)
	p.Send(Message{"type": "transfer_init", "transferId": receiving, "source": "f", "target": "got", "totalSize": len(good), "hash": hashOf(good)})
	p.ExpectOf(receiving, "transfer_init_response")
	p.Send(Message{"type": "client.file.upload.request", "transferId": sending, "localPath": "got", "dirName": "d", "remotePath": "r"})
	p.ExpectOf(sending, "transfer_init")
	began := time.Now()
	if err := foot.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := p.Receive()
		if got["ok"] != false || got["errorCode"] != "cancelled" {
			t.Errorf("the Brain is told %v", got)
		}
	}
	if code, _ := p.closed(t); code != 1001 {
		t.Errorf("closed with %d", code)
	}
	if code := foot.Wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > 5*time.Second+busy {
		t.Errorf("it took %v", took)
	}
	if diff := cmp.Diff(before, Snapshot(t, foot.Project)); diff != "" {
		t.Errorf("the project folder changed (-before +after):\n%s", diff)
	}
}

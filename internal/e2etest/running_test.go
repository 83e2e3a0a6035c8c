package e2etest

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// Operating a Brain, with the built programs.

func TestALinkIsAllThatAFootNeeds(t *testing.T) {
	t.Parallel()
	b := StartBrain(t, BrainOptions{})
	stdout, stderr, code := b.Run(t, "token", "create", "--data", b.Data, "--tenant", "acme", "--project", "research",
		"--role", "foot", "--name", "laptop", "--link")
	link := strings.TrimSpace(stdout)
	if code != 0 || !strings.HasPrefix(link, b.URL+"/login#") {
		t.Fatalf("%d, %q, %q", code, stdout, stderr)
	}
	dir := t.TempDir()
	foot, home, state := RaceBinaries(t).Foot, filepath.Join(dir, "home"), filepath.Join(dir, "state")
	mkdir(t, home)
	if stdout, stderr, code := runProgram(t, foot, home, "login", link, "--state", state); code != 0 {
		t.Fatalf("foot login: %d, %q, %q", code, stdout, stderr)
	}
	if _, stderr, code := runProgram(t, foot, home, "login", link, "--state", filepath.Join(dir, "other")); code != 3 {
		t.Errorf("a second login: %d, %q", code, stderr)
	}
	child := startChild(t, foot, home, "run", "--json", "--state", state, "--root", filepath.Join(dir, "root"))
	event, err := child.AwaitNamed(Bounded(t), "connected")
	if err != nil {
		t.Fatalf("%v\n%s", err, child.Log())
	}
	var connected struct{ Tenant, ProjectID, FootID string }
	if err := event.Decode(&connected); err != nil || connected.Tenant != "acme" || connected.ProjectID != "research" || connected.FootID != "laptop" {
		t.Errorf("%s, %v", event.Raw, err)
	}
	_, secret, _ := strings.Cut(link, "#")
	if log := b.Log(); strings.Contains(log, secret) || strings.Contains(log, "vt_") {
		t.Errorf("the Brain's log has a secret:\n%s", log)
	}
}

// observed is a Brain with all its books, and a Foot with one file.
func observed(t *testing.T) (w *World, figures string) {
	t.Helper()
	dir := t.TempDir()
	w = &World{Tenant: "acme", Project: "research"}
	w.Brain = StartBrain(t, BrainOptions{Dir: dir, Args: []string{"--metrics-listen", "127.0.0.1:0", "--log-format", "json"}})
	w.AgentToken = w.Brain.Token(t, w.Tenant, w.Project, "agent", "helper")
	w.Foot = StartFoot(t, FootOptions{Dir: dir, URL: w.Brain.URL, Tenant: w.Tenant, ProjectID: w.Project,
		TokenFile: w.Brain.Token(t, w.Tenant, w.Project, "foot", "laptop")})
	w.Foot.AwaitEvent(t, "connected")
	m := regexp.MustCompile(`"msg":"metrics","url":"([^"]+)"`).FindStringSubmatch(w.Brain.Log())
	if m == nil {
		t.Fatalf("no metrics in the log:\n%s", w.Brain.Log())
	}
	return w, m[1]
}

func put(t *testing.T, name, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(name))
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestATransferIsCountedLoggedAndWrittenDown(t *testing.T) {
	t.Parallel()
	w, figures := observed(t)
	put(t, w.AtFoot("report.txt"), "hello")
	command := w.Command()
	if made := command.Call(t, "workspace_create_ephemeral_dir", map[string]any{"dirName": "inbox"}); !made.OK {
		t.Fatal(made)
	}
	move := func(local, remote string) map[string]any {
		return map[string]any{"localPath": local, "dirName": "inbox", "remotePath": remote}
	}
	if done := command.Call(t, "client_file_upload", move("report.txt", "a/report.txt")); !done.OK {
		t.Fatal(done)
	}
	if done := command.Call(t, "client_file_upload", move("no\u001b[2Jthing\u202e", "b")); done.OK {
		t.Fatal(done)
	}

	response, err := http.Get(figures)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"vancetope_feet_connected 1", `vancetope_foot_connections_total{code="ok"} 1`,
		`vancetope_transfers_total{code="ok",direction="upload",outcome="complete"} 1`,
		`vancetope_transfers_total{code="not_found",direction="upload",outcome="failed"} 1`,
		`vancetope_transfer_bytes_total{direction="upload"} 5`,
		`vancetope_transfer_phase_seconds_count{direction="upload",phase="streaming"} 1`,
	} {
		if !bytes.Contains(text, []byte(line+"\n")) {
			t.Errorf("no %s", line)
		}
	}
	if bytes.Contains(text, []byte("acme")) || bytes.Contains(text, []byte("laptop")) {
		t.Error("the figures tell names")
	}

	sum := sha256.Sum256([]byte("hello"))
	checkAudit(t, filepath.Join(w.Brain.Data, "audit.log"), "sha256:"+hex.EncodeToString(sum[:]))
	checkLog(t, w.Brain.Log())

	stdout, stderr, code := w.Brain.Run(t, "transfers", "--url", w.Brain.URL, "--token-file", w.AgentToken)
	if code != 0 || !regexp.MustCompile(`upload +laptop +complete +5 B +5 B .* a/report\.txt +-\n`).MatchString(stdout) || !strings.Contains(stdout, "not_found") {
		t.Errorf("%d, %s, %s", code, stdout, stderr)
	}
	stdout, _, code = w.Brain.Run(t, "feet", "--json", "--url", w.Brain.URL, "--token-file", w.AgentToken)
	var feet []struct{ Name string }
	if err := json.Unmarshal([]byte(stdout), &feet); err != nil || code != 0 || len(feet) != 1 || feet[0].Name != "laptop" {
		t.Errorf("%d, %s", code, stdout)
	}
}

func checkAudit(t *testing.T, name, digest string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(text, "\x1b\u202e") || bytes.Contains(text, []byte("vt_")) {
		t.Errorf("the audit log is not harmless:\n%q", text)
	}
	type line struct {
		Tenant, Project, Token, Role, Name, Action, LocalPath, DirName, Path, Digest, Outcome, ErrorCode, TransferID, Foot string
		Bytes                                                                                                              int64
	}
	var lines []line
	for raw := range bytes.Lines(text) {
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		lines = append(lines, l)
	}
	if len(lines) != 3 {
		t.Fatalf("%d lines:\n%s", len(lines), text)
	}
	done, failed := lines[1], lines[2]
	if done.Name != "helper" || done.Role != "agent" || done.Tenant != "acme" || done.Project != "research" || len(done.Token) != 16 ||
		done.Action != "client_file_upload" || done.LocalPath != "report.txt" || done.DirName != "inbox" || done.Path != "a/report.txt" ||
		done.Bytes != 5 || done.Digest != digest || done.Foot != "laptop" || done.Outcome != "ok" || done.ErrorCode != "" || done.TransferID == "" {
		t.Errorf("%+v", done)
	}
	if failed.Outcome != "failed" || failed.ErrorCode != "not_found" || failed.LocalPath != `no\x1b[2Jthing\u202e` || failed.TransferID == "" {
		t.Errorf("%+v", failed)
	}
}

func checkLog(t *testing.T, log string) {
	t.Helper()
	type line struct {
		Msg, TransferID, Tenant, Project, Direction, Foot, Dir, Path, Outcome, Code string
		Bytes                                                                       int64
		Seconds                                                                     float64
	}
	var ended []line
	for s := bufio.NewScanner(strings.NewReader(log)); s.Scan(); {
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		if l.Msg == "transfer ended" {
			ended = append(ended, l)
		}
	}
	if len(ended) != 2 || ended[0].Outcome != "complete" || ended[0].Bytes != 5 || ended[0].Path != "a/report.txt" || ended[0].Seconds <= 0 ||
		ended[0].TransferID == "" || ended[0].Foot != "laptop" || ended[1].Outcome != "failed" || ended[1].Code != "not_found" {
		t.Errorf("%+v", ended)
	}
}

func TestABackupIsTakenWhileFilesMoveAndBecomesABrain(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	put(t, w.AtFoot("f"), strings.Repeat("x", 300_000))
	upload := func(name string) Result {
		return w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "f", "dirName": dir, "remotePath": name})
	}
	if done := upload("first"); !done.OK {
		t.Fatal(done)
	}
	over, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if done := upload("second"); !done.OK {
				t.Error(done)
				return
			}
		}
	}()
	file := filepath.Join(t.TempDir(), "brain.tar")
	stdout, stderr, code := w.Brain.Run(t, "backup", "--data", w.Brain.Data, file)
	close(stop)
	<-over
	if code != 0 {
		t.Fatalf("%d, %s, %s", code, stdout, stderr)
	}

	place := t.TempDir()
	untar(t, file, filepath.Join(place, "brain-data"))
	if text, err := os.ReadFile(filepath.Join(place, "brain-data", "workspaces", w.Tenant, w.Project, dir, "first")); err != nil || len(text) != 300_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	again := StartBrain(t, BrainOptions{Dir: place})
	agent := ConnectAgent(t, again.URL, w.AgentToken, "")
	if list := agent.Call(t, "client_list", map[string]any{}); !list.OK {
		t.Error(list)
	}
	foot := StartFoot(t, FootOptions{Dir: t.TempDir(), URL: again.URL, Tenant: w.Tenant, ProjectID: w.Project, TokenFile: w.FootFile})
	foot.AwaitEvent(t, "connected")
	if done := agent.Call(t, "client_file_download", map[string]any{"localPath": "back", "dirName": dir, "remotePath": "first"}); !done.OK || done.BytesWritten != 300_000 {
		t.Error(done)
	}
}

// untar is what docs/operating.md tells to restore with.
func untar(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mkdir(t, dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			err = root.MkdirAll(filepath.FromSlash(strings.TrimSuffix(h.Name, "/")), 0o700)
		} else {
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				err = root.WriteFile(filepath.FromSlash(h.Name), text, h.FileInfo().Mode().Perm())
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
	}
}

func TestAStateOfANewerVersionIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	b := StartBrain(t, BrainOptions{})
	if code := b.Stop(); code != 0 {
		t.Fatal(code)
	}
	db, err := sql.Open("sqlite", filepath.Join(b.Data, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("PRAGMA user_version = 99")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"token", "list"}, {"backup", filepath.Join(t.TempDir(), "b.tar")}} {
		_, stderr, code := b.Run(t, append(args, "--data", b.Data)...)
		if code != 2 || !strings.Contains(stderr, "data version 99") || !strings.Contains(stderr, "use that version") {
			t.Errorf("%v: %d, %s", args, code, stderr)
		}
	}
}

func TestBothProgramsTellTheirVersionSettingsAndCompletion(t *testing.T) {
	t.Parallel()
	b := RaceBinaries(t)
	home := t.TempDir()
	for program, path := range map[string]string{"brain": b.Brain, "foot": b.Foot} {
		stdout, stderr, code := runProgram(t, path, home, "--version", "--json")
		var v struct {
			Version  string
			Protocol int
			Commit   *string
		}
		if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 || v.Version == "" || v.Protocol != 1 || v.Commit == nil {
			t.Errorf("%s: %d, %q, %q", program, code, stdout, stderr)
		}
		if stdout, _, code := runProgram(t, path, home, "--version"); code != 0 || !strings.HasPrefix(stdout, program+" ") {
			t.Errorf("%s: %d, %q", program, code, stdout)
		}
		stdout, stderr, code = runProgram(t, path, home, "config", "--json")
		var values []struct{ Name, Value, Origin string }
		if err := json.Unmarshal([]byte(stdout), &values); err != nil || code != 0 || len(values) < 10 || values[0].Origin != "default" {
			t.Errorf("%s: %d, %q, %q", program, code, stdout, stderr)
		}
		for _, shell := range []string{"bash", "zsh", "fish"} {
			if stdout, _, code := runProgram(t, path, home, "completion", shell); code != 0 || !strings.Contains(stdout, "__complete") {
				t.Errorf("%s completion %s: %d, %q", program, shell, code, stdout)
			}
		}
		if stdout, _, code := runProgram(t, path, home, "__complete", "conf"); code != 0 || !strings.HasPrefix(stdout, "config\t") {
			t.Errorf("%s: %d, %q", program, code, stdout)
		}
	}
	config := filepath.Join(home, "foot.yaml")
	put(t, config, "vance.foot.access: read\nvance.foot.confrim: all\n")
	if _, stderr, code := runProgram(t, b.Foot, home, "config", "--config", config); code != 2 || !strings.Contains(stderr, "did you mean vance.foot.confirm") {
		t.Errorf("%d, %s", code, stderr)
	}
	put(t, config, "vance.foot.access: read\n")
	stdout, stderr, code := runProgram(t, b.Foot, home, "config", "--config", config, "--confirm", "writes")
	if code != 0 || !regexp.MustCompile(`vance\.foot\.access +read +file\n`).MatchString(stdout) || !regexp.MustCompile(`vance\.foot\.confirm +writes +flag\n`).MatchString(stdout) {
		t.Errorf("%d, %s, %s", code, stdout, stderr)
	}
}

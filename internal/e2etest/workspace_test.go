package e2etest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

// project runs a command of `brain project` and returns what it prints.
func (w *World) project(t *testing.T, command string) (state string, dirs []string) {
	t.Helper()
	begun := time.Now()
	stdout, stderr, code := w.Brain.Run(t, "project", command, "--data", w.Brain.Data, "--tenant", w.Tenant, "--project", w.Project)
	var status struct {
		Project, State string
		Dirs           []string
	}
	if err := json.Unmarshal([]byte(stdout), &status); code != 0 || err != nil || status.Project != w.Project {
		t.Fatalf("brain project %s: exit code %d, %q after %v\n%s", command, code, stdout, time.Since(begun), stderr)
	}
	return status.State, status.Dirs
}

// vanished polls until a path is gone.
func vanished(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", path)
		}
	}
}

func TestASuspendedAndRecoveredProject(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	WriteFile(t, w.AtFoot("f"), 1000, 0o644, anHourAgo)
	move := map[string]any{"localPath": "f", "dirName": dir, "remotePath": "f"}
	if r := w.Agent.Call(t, "client_file_upload", move); !r.OK {
		t.Fatal(r)
	}

	if state, dirs := w.project(t, "suspend"); state != "suspended" || len(dirs) != 1 || dirs[0] != dir {
		t.Errorf("suspended: %s, %v", state, dirs)
	}
	if r := w.Agent.Call(t, "client_file_upload", move); r.ErrorCode != "project_suspended" {
		t.Errorf("an upload into a suspended project: %s", r)
	}
	if left, err := os.ReadDir(w.AtBrain(dir, ".")); err != nil || len(left) != 0 {
		t.Errorf("the content outlives the suspension: %v, %v", left, err)
	}
	if r := w.Agent.Call(t, "workspace_list_dirs", map[string]any{}); !r.OK || !strings.Contains(string(r.Raw), dir) {
		t.Errorf("the list of a suspended project: %s", r)
	}
	w.Brain.Restart(t)
	w.Foot.AwaitEvent(t, "connected") // Feet of a suspended project stay, and come back
	w.Agent = ConnectAgent(t, w.Brain.URL, w.AgentToken, "")
	if r := w.Agent.Call(t, "client_list", map[string]any{}); r.ErrorCode != "project_suspended" {
		t.Errorf("after a restart: %s", r)
	}

	if state, _ := w.project(t, "recover"); state != "active" {
		t.Errorf("recovered: %s", state)
	}
	if r := w.Agent.Call(t, "client_file_upload", move); !r.OK {
		t.Errorf("an upload into the recovered project: %s", r)
	}

	if state, dirs := w.project(t, "close"); state != "closed" || len(dirs) != 0 {
		t.Errorf("closed: %s, %v", state, dirs)
	}
	vanished(t, w.AtBrain(dir, "."))
}

// The same commands do the work themselves where no server runs.
func TestAProjectIsClosedWhileNoBrainRuns(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	dir := w.NewDir(t)
	if code := w.Brain.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if state, dirs := w.project(t, "close"); state != "closed" || len(dirs) != 0 {
		t.Errorf("closed: %s, %v", state, dirs)
	}
	if _, err := os.Lstat(w.AtBrain(dir, ".")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the RootDir is there: %v", err)
	}
	stdout, _, code := w.Brain.Run(t, "project", "list", "--data", w.Brain.Data)
	if code != 0 || !strings.Contains(stdout, `"state":"closed"`) {
		t.Errorf("brain project list: %d, %s", code, stdout)
	}
}

func TestAnUnusedRootDirExpires(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true, BrainSettings: map[string]string{"vance.workspace.ephemeral-ttl": "1s"}})
	r := w.Agent.Call(t, "workspace_create_ephemeral_dir", map[string]any{"deleteOnCreatorClose": false})
	if !strings.Contains(string(r.Raw), `"expiresAt":"2`) {
		t.Errorf("created: %s", r)
	}
	vanished(t, w.AtBrain(r.DirName, "."))
	if again := w.Agent.Call(t, "workspace_list_files", map[string]any{"dirName": r.DirName}); again.ErrorCode != "dir_not_found" {
		t.Errorf("an expired RootDir: %s", again)
	}
}

func TestARevokedTokensRootDirsGo(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	stays := w.Agent.Call(t, "workspace_create_ephemeral_dir", map[string]any{"deleteOnCreatorClose": false, "scope": "s"})
	goes := w.Agent.Call(t, "workspace_create_ephemeral_dir", map[string]any{"scope": "s"})
	stdout, _, code := w.Brain.Run(t, "token", "list", "--json", "--data", w.Brain.Data)
	var tokens []struct{ ID, Name string }
	if err := json.Unmarshal([]byte(stdout), &tokens); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	for _, token := range tokens {
		if token.Name == "agent" {
			if _, stderr, code := w.Brain.Run(t, "token", "revoke", token.ID, "--data", w.Brain.Data); code != 0 {
				t.Fatal(stderr)
			}
		}
	}
	vanished(t, w.AtBrain(goes.DirName, "."))
	if _, err := os.Lstat(w.AtBrain(stays.DirName, ".")); err != nil {
		t.Errorf("a RootDir that is to stay: %v", err)
	}
}

func TestTheQuotaStopsUploadsAndWrites(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{BrainSettings: map[string]string{"vance.workspace.max-bytes": "1000"}})
	dir := w.NewDir(t)
	WriteFile(t, w.AtFoot("f"), 600, 0o644, anHourAgo)
	if r := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "f", "dirName": dir, "remotePath": "a"}); !r.OK {
		t.Fatal(r)
	}
	if r := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "f", "dirName": dir, "remotePath": "b"}); r.ErrorCode != "quota" {
		t.Errorf("the second upload: %s", r)
	}
	if r := w.Agent.Call(t, "workspace_write_file", map[string]any{"dirName": dir, "path": "c", "content": strings.Repeat("x", 401)}); r.ErrorCode != "quota" {
		t.Errorf("a write: %s", r)
	}
	if left, err := os.ReadDir(w.AtBrain(dir, ".")); err != nil || len(left) != 1 {
		t.Errorf("left in the RootDir: %v, %v", left, err)
	}
}

// An upload with a key is done once, whatever the Brain went through meanwhile.
func TestAnIdempotentUploadSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	r := w.Agent.Call(t, "workspace_create_ephemeral_dir", map[string]any{"deleteOnCreatorClose": false})
	WriteFile(t, w.AtFoot("f"), 600, 0o644, anHourAgo)
	move := map[string]any{"localPath": "f", "dirName": r.DirName, "remotePath": "a", "idempotencyKey": "once"}
	first := w.Command().Call(t, "client_file_upload", move)
	if !first.OK {
		t.Fatal(first)
	}
	w.Brain.Restart(t)
	if err := os.Remove(w.AtFoot("f")); err != nil {
		t.Fatal(err)
	}
	if again := w.Command().Call(t, "client_file_upload", move); again.String() != first.String() {
		t.Errorf("the receipt is %s, want %s", again, first)
	}
}

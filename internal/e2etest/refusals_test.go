package e2etest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refusal is a call that must fail, with the code and a part of the text.
type refusal struct {
	rule string
	tool string
	args map[string]any
	code string
	text string
}

func TestACallThatMustFailSaysWhyAndLeavesEverythingAsItWas(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{
		BrainSettings: map[string]string{"vance.transfer.max-upload-size": "1MiB", "vance.transfer.max-download-size": "1MiB"},
		FootSettings:  map[string]string{"vance.transfer.max-upload-size": "1MiB", "vance.transfer.max-download-size": "1MiB"},
	})
	dir := w.NewDir(t)
	outside := filepath.Join(t.TempDir(), "outside.txt")
	WriteFile(t, outside, 10, 0o644, anHourAgo)
	for _, at := range []func(string) string{w.AtFoot, func(p string) string { return w.AtBrain(dir, p) }} {
		WriteFile(t, at("file.txt"), 1000, 0o640, anHourAgo)
		WriteFile(t, at("old.txt"), 500, 0o600, anHourAgo)
		WriteFile(t, at("folder/inner.txt"), 10, 0o640, anHourAgo)
		WriteFile(t, at("large.bin"), 1<<20+1, 0o640, anHourAgo)
		link(t, outside, at("leaf"))
		link(t, filepath.Dir(outside), at("parent"))
		link(t, filepath.Join(filepath.Dir(outside), "dangling"), at("dangling"))
		link(t, "file.txt", at("inside"))
	}

	up := func(local, remote string) map[string]any {
		return map[string]any{"localPath": local, "dirName": dir, "remotePath": remote}
	}
	const upload, download = "client_file_upload", "client_file_download"
	const escapes, noLink = "path escapes project sandbox", "symlink not allowed"
	refusals := []refusal{
		{"up: .. in localPath", upload, up("../file.txt", "new"), "path_escapes_sandbox", escapes},
		{"up: .. in remotePath", upload, up("file.txt", "a/../../new"), "path_escapes_sandbox", escapes},
		{"up: absolute localPath", upload, up("/etc/passwd", "new"), "path_escapes_sandbox", escapes},
		{"up: absolute remotePath", upload, up("file.txt", "/tmp/new"), "path_escapes_sandbox", escapes},
		{"up: link as leaf of the source", upload, up("leaf", "new"), "symlink_not_allowed", noLink},
		{"up: link that stays inside", upload, up("inside", "new"), "symlink_not_allowed", noLink},
		{"up: link as parent of the source", upload, up("parent/outside.txt", "new"), "symlink_not_allowed", noLink},
		{"up: link as leaf of the target", upload, up("file.txt", "leaf"), "symlink_not_allowed", noLink},
		{"up: dangling link as target", upload, up("file.txt", "dangling"), "symlink_not_allowed", noLink},
		{"up: link as parent of the target", upload, up("file.txt", "parent/new"), "symlink_not_allowed", noLink},
		{"up: unknown dirName", upload, map[string]any{"localPath": "file.txt", "dirName": "nowhere", "remotePath": "new"}, "dir_not_found", "dirName not found"},
		{"up: missing local file", upload, up("missing.txt", "new"), "not_found", "file not found: localPath at the Foot"},
		{"up: a folder as source", upload, up("folder", "new"), "not_regular_file", "not a regular file"},
		{"up: a folder as target", upload, up("file.txt", "folder"), "invalid_path", "is a directory (remotePath in the RootDir)"},
		{"up: above the size limit", upload, up("large.bin", "old.txt"), "size_limit", "exceeds size limit"},
		{"up: a Foot that is not there", upload, map[string]any{"localPath": "file.txt", "dirName": dir, "remotePath": "new", "foot": "phone"}, "no_foot", "no Foot is connected"},
		{"up: an argument that does not exist", upload, map[string]any{"localPath": "file.txt", "dirName": dir, "remotePath": "new", "overwrite": true}, "invalid_request", "overwrite"},
		{"up: an argument that is missing", upload, map[string]any{"localPath": "file.txt", "dirName": dir}, "invalid_request", "remotePath"},

		{"down: .. in localPath", download, up("../new", "file.txt"), "path_escapes_sandbox", escapes},
		{"down: .. in remotePath", download, up("new", "../../file.txt"), "path_escapes_sandbox", escapes},
		{"down: absolute localPath", download, up("/tmp/new", "file.txt"), "path_escapes_sandbox", escapes},
		{"down: absolute remotePath", download, up("new", "/etc/passwd"), "path_escapes_sandbox", escapes},
		{"down: link as leaf of the source", download, up("new", "leaf"), "symlink_not_allowed", noLink},
		{"down: link as parent of the source", download, up("new", "parent/outside.txt"), "symlink_not_allowed", noLink},
		{"down: link as leaf of the target", download, up("leaf", "file.txt"), "symlink_not_allowed", noLink},
		{"down: dangling link as target", download, up("dangling", "file.txt"), "symlink_not_allowed", noLink},
		{"down: link as parent of the target", download, up("parent/new", "file.txt"), "symlink_not_allowed", noLink},
		{"down: unknown dirName", download, map[string]any{"localPath": "new", "dirName": "nowhere", "remotePath": "file.txt"}, "dir_not_found", "dirName not found"},
		{"down: missing remote file", download, up("new", "missing.txt"), "not_found", "file not found: remotePath in the RootDir"},
		{"down: a folder as source", download, up("new", "folder"), "not_regular_file", "not a regular file"},
		{"down: a folder as target", download, up("folder", "file.txt"), "invalid_path", "is a directory (localPath at the Foot)"},
		{"down: above the size limit", download, up("old.txt", "large.bin"), "size_limit", "exceeds size limit"},
	}

	before := []map[string]string{Snapshot(t, w.Foot.Project), Snapshot(t, w.Brain.Data+"/workspaces"), Snapshot(t, filepath.Dir(outside))}
	for way, caller := range map[string]Caller{"MCP": w.Agent, "brain call": w.Command()} {
		for _, r := range refusals {
			t.Run(way+"/"+r.rule, func(t *testing.T) {
				checkRefused(t, caller.Call(t, r.tool, r.args), r)
			})
		}
	}
	after := []map[string]string{Snapshot(t, w.Foot.Project), Snapshot(t, w.Brain.Data+"/workspaces"), Snapshot(t, filepath.Dir(outside))}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("a refused call changed something (-before +after):\n%s", diff)
	}
}

func checkRefused(t *testing.T, got Result, want refusal) {
	t.Helper()
	if got.OK || got.ErrorCode != want.code || got.Error == nil || !strings.Contains(*got.Error, want.text) {
		t.Errorf("got %s, want the code %s and %q in the text", got, want.code, want.text)
	}
	if got.BytesWritten != 0 || got.Hash != nil {
		t.Errorf("a failed call speaks of %d bytes and the hash %v", got.BytesWritten, got.Hash)
	}
}

func link(t *testing.T, target, at string) {
	t.Helper()
	if err := os.Symlink(target, at); err != nil {
		t.Fatal(err)
	}
}

func TestWithoutAFootACallFailsAtOnce(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	dir := w.NewDir(t)
	got := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "a", "dirName": dir, "remotePath": "a"})
	checkRefused(t, got, refusal{code: "no_foot", text: "no Foot is connected"})
	if list := w.Agent.Call(t, "client_list", map[string]any{}); !list.OK || len(list.Feet) != 0 {
		t.Errorf("client_list answers %s", list)
	}
}

func TestTheListNamesTheFootByItsToken(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	for way, caller := range map[string]Caller{"MCP": w.Agent, "brain call": w.Command()} {
		list := caller.Call(t, "client_list", map[string]any{})
		if !list.OK || len(list.Feet) != 1 || list.Feet[0].Name != "laptop" || list.Feet[0].ClientVersion == "" || list.Feet[0].Since == "" {
			t.Errorf("through %s: %s", way, list)
		}
	}
}

func TestAWantedNameIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{NoFoot: true})
	made := w.Agent.Call(t, "workspace_create_ephemeral_dir", map[string]any{"dirName": "reports"})
	if !made.OK || made.DirName != "reports" {
		t.Fatalf("got %s", made)
	}
	for wanted, code := range map[string]string{"reports": "already_exists", "../x": "invalid_request", "a/b": "invalid_request", "..": "invalid_request"} {
		got := w.Agent.Call(t, "workspace_create_ephemeral_dir", map[string]any{"dirName": wanted})
		if got.OK || got.ErrorCode != code {
			t.Errorf("dirName %q: got %s, want %s", wanted, got, code)
		}
	}
}

package e2etest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrantedFoldersAreReachedByNameAndByAbsolutePathAsFarAsTheirUserAllows(t *testing.T) {
	t.Parallel()
	music, work := t.TempDir(), t.TempDir()
	w := NewWorld(t, WorldOptions{FootArgs: []string{"--grant", "music=" + music, "--grant", "work=" + work + ":rw"}})
	feet := w.Agent.Call(t, "client_list", map[string]any{}).Feet
	want := []Grant{{"music", "read"}, {"work", "edit"}}
	if len(feet) != 1 || feet[0].Access != "edit" || cmp.Diff(want, feet[0].Grants) != "" {
		t.Fatalf("client_list: %+v", feet)
	}
	dir := w.NewDir(t)
	hash := WriteFile(t, filepath.Join(music, "live", "a.mp3"), 100_000, 0o600, anHourAgo)
	for _, from := range []string{"@music/live/a.mp3", filepath.Join(music, "live", "a.mp3")} {
		up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": from, "dirName": dir, "remotePath": "a.mp3"})
		if !up.OK || up.Path != "a.mp3" || *up.Hash != hash {
			t.Errorf("%s: %s", from, up)
		}
	}
	for to, file := range map[string]string{
		"@work/new/b.mp3":            filepath.Join(work, "new", "b.mp3"),
		filepath.Join(work, "c.mp3"): filepath.Join(work, "c.mp3"),
	} {
		down := w.Agent.Call(t, "client_file_download", map[string]any{"localPath": to, "dirName": dir, "remotePath": "a.mp3"})
		rel, err := filepath.Rel(work, file)
		if err != nil {
			t.Fatal(err)
		}
		if !down.OK || down.Path != "@work/"+filepath.ToSlash(rel) || HashFile(t, file) != hash {
			t.Errorf("%s: %s", to, down)
		}
	}
	before := Snapshot(t, music)
	for to, code := range map[string]string{
		"@music/b.mp3":                "access_denied",
		filepath.Join(music, "b.mp3"): "access_denied",
		"@films/b.mp3":                "not_found",
		"@work/../b.mp3":              "path_escapes_sandbox",
		"@work/.git/config":           "path_protected",
		work + "2/b.mp3":              "path_escapes_sandbox",
	} {
		down := w.Agent.Call(t, "client_file_download", map[string]any{"localPath": to, "dirName": dir, "remotePath": "a.mp3"})
		if down.ErrorCode != code {
			t.Errorf("%s: %s, want %s", to, down, code)
		}
	}
	if diff := cmp.Diff(before, Snapshot(t, music)); diff != "" {
		t.Errorf("the folder to read changed (-before +after):\n%s", diff)
	}
	NoStaging(t, music, work)
}

func TestAFootThatMayBeReadOnlyIsReadAndNeverWritten(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	w := NewWorld(t, WorldOptions{FootArgs: []string{"--access", "read", "--grant", "work=" + work + ":rw"}})
	feet := w.Agent.Call(t, "client_list", map[string]any{}).Feet
	if len(feet) != 1 || feet[0].Access != "read" || cmp.Diff([]Grant{{"work", "read"}}, feet[0].Grants) != "" {
		t.Errorf("client_list: %+v", feet)
	}
	WriteFile(t, w.AtFoot("a"), 10, 0o600, anHourAgo)
	dir := w.NewDir(t)
	if up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "a", "dirName": dir, "remotePath": "a"}); !up.OK {
		t.Error(up)
	}
	before := Snapshot(t, w.Foot.Project)
	for _, to := range []string{"a", "b", "@work/b", filepath.Join(work, "b"), w.AtFoot("b")} {
		down := w.Agent.Call(t, "client_file_download", map[string]any{"localPath": to, "dirName": dir, "remotePath": "a"})
		if down.ErrorCode != "access_denied" || down.TransferID != "" {
			t.Errorf("%s: %s", to, down)
		}
	}
	if diff := cmp.Diff(before, Snapshot(t, w.Foot.Project)); diff != "" {
		t.Errorf("the project folder changed (-before +after):\n%s", diff)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A Brain that does not keep to what it was told gets no further.
func TestAReadOnlyFootRefusesWhateverItsBrainSends(t *testing.T) {
	t.Parallel()
	music := t.TempDir()
	brain := NewFakeBrain(t, nil)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("any\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	foot := StartFoot(t, FootOptions{URL: brain.URL, Tenant: "acme", ProjectID: "proj-research", TokenFile: token,
		Args: []string{"--access", "read", "--grant", "music=" + music + ":rw"}})
	p := brain.AwaitFoot(t)
	foot.AwaitEvent(t, "connected")
	for i, target := range []string{"a", "@music/a", filepath.Join(music, "a"), "@films/a"} {
		id := transferID(i + 1)
		p.Send(Message{"type": "transfer_init", "transferId": id, "source": "f", "target": target, "totalSize": len(good), "hash": hashOf(good)})
		want := "access_denied"
		if target == "@films/a" {
			want = "not_found"
		}
		if got := p.AwaitOf(id, "transfer_init_response"); got["ok"] != false || got["errorCode"] != want {
			t.Errorf("%s: %v", target, got)
		}
	}
	if left := Snapshot(t, music); len(left) > 1 {
		t.Errorf("%v", left)
	}
}

func TestATokenToReadMayNotEditTheWorkspace(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	WriteFile(t, w.AtBrain(dir, "f"), 10, 0o600, anHourAgo)
	WriteFile(t, w.AtFoot("a"), 10, 0o600, anHourAgo)
	reader := Command{w.Brain, w.Brain.Token(t, w.Tenant, w.Project, "agent", "reader", "--access", "read")}
	for tool, args := range map[string]any{
		"client_file_upload":             map[string]any{"localPath": "a", "dirName": dir, "remotePath": "a"},
		"workspace_create_ephemeral_dir": map[string]any{},
	} {
		if denied := reader.Call(t, tool, args); denied.ErrorCode != "access_denied" {
			t.Errorf("%s: %s", tool, denied)
		}
	}
	if _, err := os.Stat(w.AtBrain(dir, "a")); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
	if down := reader.Call(t, "client_file_download", map[string]any{"localPath": "b", "dirName": dir, "remotePath": "f"}); !down.OK {
		t.Error(down)
	}
}

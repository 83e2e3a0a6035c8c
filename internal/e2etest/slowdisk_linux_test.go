package e2etest

import (
	"path/filepath"
	"testing"
)

func TestASlowDiskUnderOneTransferHoldsNoOtherUp(t *testing.T) {
	t.Parallel()
	slow := filepath.Join(t.TempDir(), "slow-disk")
	mkdir(t, slow)
	w := NewWorld(t, WorldOptions{Binaries: SlowDiskBinaries(t), FootArgs: []string{"--grant", "slow=" + slow + ":rw"}})
	if made := w.Agent.Call(t, "workspace_create_ephemeral_dir", map[string]any{"dirName": "slow-disk"}); !made.OK {
		t.Fatal(made)
	}
	dir := w.NewDir(t)
	const size = 4 << 20 // 16 s of a slow disk
	hash := WriteFile(t, w.AtFoot("big"), size, 0o644, anHourAgo)
	WriteFile(t, w.AtBrain(dir, "big"), size, 0o644, anHourAgo)
	for _, c := range []struct {
		tool string
		args map[string]any
		fast string // what ends the slowness
		to   string
	}{
		{"client_file_upload", map[string]any{"localPath": "big", "dirName": "slow-disk", "remotePath": "big"},
			w.AtBrain("slow-disk", "fast"), w.AtBrain("slow-disk", "big")},
		{"client_file_download", map[string]any{"localPath": "@slow/big", "dirName": dir, "remotePath": "big"},
			filepath.Join(slow, "fast"), filepath.Join(slow, "big")},
	} {
		t.Run(c.tool, func(t *testing.T) {
			result := make(chan Result, 1)
			go func() { result <- attempt(Bounded(t), w.Agent, c.tool, c.args) }()
			Eventually(t, func() string {
				if len(running(t, w.Agent)) == 0 {
					return "the slow transfer has not begun"
				}
				return ""
			})
			served(t, w, dir, "beside it")
			if len(running(t, w.Agent)) != 1 {
				t.Errorf("%s is over before it was compared with", c.tool)
			}
			WriteFile(t, c.fast, 0, 0o644, anHourAgo)
			if got := <-result; !got.OK || got.Hash == nil || *got.Hash != hash {
				t.Errorf("%s ends with %s", c.tool, got)
			}
			if got := HashFile(t, c.to); got != hash {
				t.Errorf("the file is %s, want %s", got, hash)
			}
		})
	}
}

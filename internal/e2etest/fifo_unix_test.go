//go:build unix

package e2etest

import (
	"syscall"
	"testing"
)

func TestAFIFOIsRefusedAtOnceOnBothSides(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	mkdir(t, w.Foot.Project)
	for _, path := range []string{w.AtFoot("fifo"), w.AtBrain(dir, "fifo")} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range []string{"client_file_upload", "client_file_download"} {
		got := w.Agent.Call(t, tool, map[string]any{"localPath": "fifo", "dirName": dir, "remotePath": "fifo"})
		checkRefused(t, got, refusal{code: "not_regular_file", text: "not a regular file"})
	}
}

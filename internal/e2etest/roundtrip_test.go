package e2etest

import (
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"
)

var anHourAgo = time.Now().Add(-time.Hour).UTC().Truncate(time.Nanosecond)

// Every size that a chunk boundary can get wrong, nested and odd names.
var travellers = []struct {
	name string
	size int64
}{
	{"empty.txt", 0},
	{"one byte.bin", 1},
	{"deep/er/and deeper/65535.bin", 65535},
	{"65536.bin", 65536},
	{"ordner/Ünïcödé – 文件 🎧.bin", 65537},
	{"-rf --help $HOME ~ 'quoted' \"twice\".bin", 3*65536 + 1},
}

func TestFilesOfEverySizeAndNameTravelBothWays(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	ways := map[string]Caller{
		"MCP":            w.Agent,
		"stateful MCP":   ConnectAgent(t, w.Brain.URL, w.AgentToken, "2025-06-18"),
		"the brain call": w.Command(),
	}
	for way, caller := range ways {
		t.Run("through "+way, func(t *testing.T) {
			dir := w.NewDir(t)
			for _, traveller := range travellers {
				thereAndBack(t, w, caller, dir, traveller.name, traveller.size)
			}
			NoStaging(t, w.Brain.Data, w.Foot.Project)
		})
	}
}

// thereAndBack uploads a file, downloads it to another place, and compares
// bytes, receipts and attributes.
func thereAndBack(t *testing.T, w *World, caller Caller, dir, name string, size int64) {
	t.Helper()
	hash := WriteFile(t, w.AtFoot("out/"+name), size, 0o750, anHourAgo)

	up := caller.Call(t, "client_file_upload", map[string]any{
		"localPath": "out/" + name, "dirName": dir, "remotePath": "in/" + name})
	checkReceipt(t, up, "in/"+name, size, hash)
	checkFile(t, w.AtBrain(dir, "in/"+name), hash, 0o640, anHourAgo) // 0750 under the mask 0644

	down := caller.Call(t, "client_file_download", map[string]any{
		"dirName": dir, "remotePath": "in/" + name, "localPath": "back/" + name})
	checkReceipt(t, down, "back/"+name, size, hash)
	checkFile(t, w.AtFoot("back/"+name), hash, 0o640, anHourAgo) // as at the Brain
	if up.TransferID == down.TransferID {
		t.Errorf("two transfers share the id %s", up.TransferID)
	}
}

func checkReceipt(t *testing.T, got Result, path string, size int64, hash string) {
	t.Helper()
	if !got.OK || got.BytesWritten != size || got.Hash == nil || *got.Hash != hash || got.Path != path {
		t.Fatalf("receipt %s, want %d bytes of %s at %q", got, size, hash, path)
	}
}

func checkFile(t *testing.T, path, hash string, mode fs.FileMode, mtime time.Time) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := HashFile(t, path); got != hash {
		t.Errorf("%s has %s, want %s", path, got, hash)
	}
	if info.Mode() != mode {
		t.Errorf("%s has mode %v, want %v", path, info.Mode(), mode)
	}
	if !info.ModTime().Equal(mtime) {
		t.Errorf("%s has mtime %v, want %v", path, info.ModTime().UTC(), mtime)
	}
}

func TestAttributesOfTheCallWinFieldByField(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	mtime := time.Date(2026, 5, 1, 14, 23, 11, 123456789, time.UTC)
	hash := WriteFile(t, w.AtFoot("script.sh"), 100, 0o755, anHourAgo)
	WriteFile(t, w.AtFoot("kept/script.sh"), 7, 0o700, anHourAgo)

	cases := []struct {
		name  string
		attrs map[string]any
		atB   fs.FileMode // under the Brain's mask 0644
		atF   fs.FileMode // of the download of a 0644 file, under Foot's 0755
		mtime time.Time
	}{
		{"both", map[string]any{"mode": "0777", "mtime": "2026-05-01T14:23:11.123456789Z"}, 0o644, 0o755, mtime},
		{"only the mode keeps the mtime", map[string]any{"mode": "0o600"}, 0o600, 0o600, anHourAgo},
		{"only the mtime keeps the mode", map[string]any{"mtime": "2026-05-01T14:23:11.123456789Z"}, 0o644, 0o644, mtime},
		{"setuid is masked", map[string]any{"mode": "4755"}, 0o644, 0o755, anHourAgo},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name := fmt.Sprintf("%d.sh", i)
			up := w.Agent.Call(t, "client_file_upload", map[string]any{
				"localPath": "script.sh", "dirName": dir, "remotePath": name, "attrs": c.attrs})
			checkReceipt(t, up, name, 100, hash)
			checkFile(t, w.AtBrain(dir, name), hash, c.atB, c.mtime)

			source := w.AtBrain(dir, name)
			if err := os.Chmod(source, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(source, anHourAgo, anHourAgo); err != nil {
				t.Fatal(err)
			}
			down := w.Agent.Call(t, "client_file_download", map[string]any{
				"localPath": "back/" + name, "dirName": dir, "remotePath": name, "attrs": c.attrs})
			checkReceipt(t, down, "back/"+name, 100, hash)
			checkFile(t, w.AtFoot("back/"+name), hash, c.atF, c.mtime)
		})
	}
}

func TestAnUploadReplacesAnExistingFile(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	for round, size := range []int64{100_000, 10} {
		name := fmt.Sprintf("round %d", round)
		hash := WriteFile(t, w.AtFoot(name), size, 0o600, anHourAgo)
		up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": name, "dirName": dir, "remotePath": "same"})
		checkReceipt(t, up, "same", size, hash)
		checkFile(t, w.AtBrain(dir, "same"), hash, 0o600, anHourAgo)
		down := w.Agent.Call(t, "client_file_download", map[string]any{"localPath": "same", "dirName": dir, "remotePath": "same"})
		checkReceipt(t, down, "same", size, hash)
		checkFile(t, w.AtFoot("same"), hash, 0o600, anHourAgo)
	}
}

func TestAFileOf300MiBTravelsBothWaysWithTheLimitRaised(t *testing.T) {
	big := BigDir(t)
	limits := map[string]string{
		"vance.transfer.max-upload-size":   "300MiB",
		"vance.transfer.max-download-size": "300MiB",
	}
	w := NewWorld(t, WorldOptions{Binaries: ShippedBinaries(t), Dir: big, BrainSettings: limits, FootSettings: limits})
	thereAndBack(t, w, w.Agent, w.NewDir(t), "300 MiB.bin", 300<<20)
}

package e2etest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// demo runs tools/demo on a file and returns what it printed and its exit
// code. It must leave nothing in its TMPDIR.
func demo(t *testing.T, file string) (output string, code int) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "demo")
	if output, err := exec.Command("go", "build", "-o", program, "github.com/vancetope/transfer/tools/demo").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	binaries, tmp := ShippedBinaries(t), t.TempDir()
	cmd := exec.CommandContext(Bounded(t), program, "--brain", binaries.Brain, "--foot", binaries.Foot, "--file="+file)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	raw, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if left := Snapshot(t, tmp); len(left) != 1 {
		t.Errorf("the demo leaves files behind: %v", left)
	}
	return string(raw), cmd.ProcessState.ExitCode()
}

func TestTheDemoTellsBothToolsTheSizeAndTheDigest(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "-odd $name\nof a\tfile 🎧")
	hash := WriteFile(t, file, 1_000_001, 0o644, anHourAgo)
	output, code := demo(t, file)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, output)
	}
	for _, want := range []string{"client_file_upload", "client_file_download", fmt.Sprint(1_000_001), strings.TrimPrefix(hash, "sha256:")} {
		if !strings.Contains(output, want) {
			t.Errorf("the demo does not say %q:\n%s", want, output)
		}
	}
}

func TestTheDemoRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for file, reason := range map[string]string{dir: "is a folder", filepath.Join(dir, "missing"): "no such file"} {
		if output, code := demo(t, file); code == 0 || !strings.Contains(output, reason) {
			t.Errorf("exit code %d, want another than 0 and %q:\n%s", code, reason, output)
		}
	}
}

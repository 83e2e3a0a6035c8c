package e2etest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"
)

func TestEachProcessStaysBelow64MiBWhileAGibibyteMovesBothWays(t *testing.T) {
	big := BigDir(t)
	limits := map[string]string{
		"vance.transfer.max-upload-size":   "1GiB",
		"vance.transfer.max-download-size": "1GiB",
	}
	w := NewWorld(t, WorldOptions{Binaries: ShippedBinaries(t), Dir: big, BrainSettings: limits, FootSettings: limits})
	dir := w.NewDir(t)
	const size = 1 << 30
	hash := WriteFile(t, w.AtFoot("gibibyte"), size, 0o644, anHourAgo)

	start := time.Now()
	up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "gibibyte", "dirName": dir, "remotePath": "gibibyte"})
	checkReceipt(t, up, "gibibyte", size, hash)
	t.Logf("up: %v", time.Since(start))
	start = time.Now()
	down := w.Agent.Call(t, "client_file_download", map[string]any{"localPath": "back", "dirName": dir, "remotePath": "gibibyte"})
	checkReceipt(t, down, "back", size, hash)
	t.Logf("down: %v", time.Since(start))
	if got := HashFile(t, w.AtFoot("back")); got != hash {
		t.Errorf("the file came back as %s, want %s", got, hash)
	}

	for _, child := range []*Child{w.Brain.Child, w.Foot.Child} {
		peak := peakMemory(t, child.PID())
		t.Logf("%s: VmHWM %d KiB", child.Name(), peak>>10)
		if peak >= 64<<20 {
			t.Errorf("%s needed %d MiB, the limit is 64", child.Name(), peak>>20)
		}
	}
}

// peakMemory is the largest resident size a process ever had.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(status)
	if match == nil {
		t.Fatalf("no VmHWM in\n%s", status)
	}
	kib, err := strconv.ParseInt(string(match[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

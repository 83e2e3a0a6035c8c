package e2etest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// corrupt changes one byte of the payload of the chunk with that seq, so that
// its length and encoding stay right.
func corrupt(t testing.TB, frame TappedFrame, seq int) [][]byte {
	if frame.Type() != "transfer_chunk" {
		return [][]byte{frame.Raw}
	}
	var chunk Message
	if err := json.Unmarshal(frame.Raw, &chunk); err != nil {
		t.Error(err)
		return nil
	}
	if chunk["seq"] != float64(seq) {
		return [][]byte{frame.Raw}
	}
	payload, err := base64.StdEncoding.DecodeString(chunk.Str("bytes"))
	if err != nil || len(payload) == 0 {
		t.Errorf("chunk %d holds no payload: %v", seq, err)
		return nil
	}
	payload[len(payload)/2] ^= 1
	chunk["bytes"] = base64.StdEncoding.EncodeToString(payload)
	raw, err := json.Marshal(chunk)
	if err != nil {
		t.Error(err)
		return nil
	}
	return [][]byte{raw}
}

func TestAByteChangedOnTheWayIsAHashMismatchAndTheOldFileStays(t *testing.T) {
	t.Parallel()
	var tap *Tap
	w := NewWorld(t, WorldOptions{Via: func(url string) string { tap = NewTap(t, url); return tap.URL }})
	dir := w.NewDir(t)
	for _, at := range []string{w.AtFoot("source"), w.AtBrain(dir, "source")} {
		WriteFile(t, at, 5*65536+1, 0o644, anHourAgo)
	}
	for _, at := range []string{w.AtFoot("old"), w.AtBrain(dir, "old")} {
		WriteFile(t, at, 10, 0o600, anHourAgo)
	}
	before := []map[string]string{Snapshot(t, w.Foot.Project), Snapshot(t, w.AtBrain(dir, ""))}
	for seq := range 6 {
		tap.Alter(func(f TappedFrame) [][]byte { return corrupt(t, f, seq) })
		for _, target := range []string{"old", "new/deep"} {
			up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "source", "dirName": dir, "remotePath": target})
			checkRefused(t, up, refusal{code: "hash_mismatch", text: "hash mismatch"})
			down := w.Command().Call(t, "client_file_download", map[string]any{"remotePath": "source", "dirName": dir, "localPath": target})
			checkRefused(t, down, refusal{code: "hash_mismatch", text: "hash mismatch"})
		}
	}
	after := []map[string]string{Snapshot(t, w.Foot.Project), Snapshot(t, w.AtBrain(dir, ""))}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("a failed transfer changed something (-before +after):\n%s", diff)
	}

	tap.Alter(nil)
	up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "source", "dirName": dir, "remotePath": "old"})
	if !up.OK {
		t.Errorf("after the failures a good transfer fails: %s", up)
	}
}

func TestASocketCutMidStreamFailsTheCallAtOnceAndTheNextOneSucceeds(t *testing.T) {
	t.Parallel()
	var proxy *CutProxy
	w := NewWorld(t, WorldOptions{Via: func(url string) string { proxy = NewCutProxy(t, url); return proxy.URL }})
	dir := w.NewDir(t)
	const size = 16 << 20
	var hash string
	for _, at := range []string{w.AtFoot("source"), w.AtBrain(dir, "source")} {
		hash = WriteFile(t, at, size, 0o644, anHourAgo)
	}
	for _, at := range []string{w.AtFoot("old"), w.AtBrain(dir, "old")} {
		WriteFile(t, at, 10, 0o600, anHourAgo)
	}
	transfers := map[string]func(target string) Result{
		"upload": func(target string) Result {
			return w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "source", "dirName": dir, "remotePath": target})
		},
		"download": func(target string) Result {
			return w.Agent.Call(t, "client_file_download", map[string]any{"remotePath": "source", "dirName": dir, "localPath": target})
		},
	}
	for name, transfer := range transfers {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reset %v", name, reset), func(t *testing.T) {
				before := []map[string]string{Snapshot(t, w.Foot.Project), Snapshot(t, w.AtBrain(dir, ""))}
				proxy.CutAfter(3<<20, reset)
				start := time.Now()
				checkRefused(t, transfer("old"), refusal{code: "connection_lost", text: "connection lost"})
				if took := time.Since(start); took > 15*time.Second {
					t.Errorf("the call took %v: it waited for a timeout", took)
				}
				w.Foot.AwaitEvent(t, "disconnected")
				w.Foot.AwaitEvent(t, "connected")
				// The receiver's own end of the transfer may come a moment after the
				// call's answer.
				Eventually(t, func() string {
					after := []map[string]string{Snapshot(t, w.Foot.Project), Snapshot(t, w.AtBrain(dir, ""))}
					return cmp.Diff(before, after)
				})
			})
		}
	}
	if proxy.Cuts() != 4 {
		t.Errorf("%d cuts happened, want 4", proxy.Cuts())
	}
	for name, transfer := range transfers {
		got := transfer(name + " again")
		checkReceipt(t, got, name+" again", size, hash)
	}
}

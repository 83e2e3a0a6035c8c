package e2etest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vancetope/transfer/internal/launch"
)

// The extensions on-existing, progress and cancel, with the built programs.

// withoutFeatures turns a Foot's hello into that of one which knows the base
// protocol alone.
func withoutFeatures(t testing.TB, f TappedFrame) [][]byte {
	if f.Type() != "hello" {
		return [][]byte{f.Raw}
	}
	var hello Message
	if err := json.Unmarshal(f.Raw, &hello); err != nil {
		t.Error(err)
	}
	hello["features"] = []string{}
	raw, err := json.Marshal(hello)
	if err != nil {
		t.Error(err)
	}
	return [][]byte{raw}
}

func TestWithAFootOfTheBaseProtocolNothingOfTheExtensionsTravels(t *testing.T) {
	t.Parallel()
	var tap *Tap
	w := NewWorld(t, WorldOptions{Via: func(url string) string {
		tap = NewTap(t, url)
		tap.Alter(func(f TappedFrame) [][]byte { return withoutFeatures(t, f) })
		return tap.URL
	}})
	dir := w.NewDir(t)
	if feet := w.Agent.Call(t, "client_list", map[string]any{}).Feet; len(feet) != 1 || len(feet[0].Features) != 0 {
		t.Errorf("in force are %+v", feet)
	}
	thereAndBack(t, w, w.Agent, dir, "a.bin", 40*65536)
	hash := WriteFile(t, w.AtFoot("b"), 10, 0o644, anHourAgo)
	kept := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "b", "dirName": dir, "remotePath": "in/a.bin", "onExisting": "keep_both"})
	checkReceipt(t, kept, "in/a-1.bin", 10, hash)
	for _, wanted := range []string{"error", "keep_both"} {
		got := w.Agent.Call(t, "client_file_download", map[string]any{"dirName": dir, "remotePath": "in/a.bin", "localPath": "x", "onExisting": wanted})
		if got.OK || got.ErrorCode != "unsupported" || got.TransferID != "" {
			t.Errorf("a download with %s: %s", wanted, got)
		}
	}
	for _, f := range tap.Frames() {
		for _, word := range []string{`"transfer_progress"`, `"transfer_cancel"`, `"onExisting"`, `"path"`} {
			if bytes.Contains(f.Raw, []byte(word)) {
				t.Errorf("the %s sent %.300s", f.From, f.Raw)
			}
		}
	}
}

func TestEightAtOnceThatKeepBothGetEightNamesBothWays(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	WriteFile(t, w.AtFoot("source"), 300_000, 0o644, anHourAgo)
	WriteFile(t, w.AtBrain(dir, "source"), 300_000, 0o644, anHourAgo)
	for tool, target := range map[string]string{"client_file_upload": "remotePath", "client_file_download": "localPath"} {
		t.Run(tool, func(t *testing.T) {
			names := make([]string, 8)
			var calls sync.WaitGroup
			for i := range names {
				arguments := map[string]any{"localPath": "source", "remotePath": "source", "dirName": dir, "onExisting": "keep_both"}
				arguments[target] = "to/archive.tar.gz"
				calls.Go(func() {
					got := w.Agent.Call(t, tool, arguments)
					if !got.OK {
						t.Errorf("%s", got)
					}
					names[i] = got.Path
				})
			}
			calls.Wait()
			slices.Sort(names)
			want := []string{}
			for n := range 7 {
				want = append(want, fmt.Sprintf("to/archive-%d.tar.gz", n+1))
			}
			if want = append(want, "to/archive.tar.gz"); !slices.Equal(names, want) {
				t.Errorf("the names are %q", names)
			}
			folder := w.AtFoot("to")
			if tool == "client_file_upload" {
				folder = w.AtBrain(dir, "to")
			}
			entries, err := os.ReadDir(folder)
			if err != nil || len(entries) != 8 {
				t.Errorf("%d entries, %v", len(entries), err)
			}
		})
	}
}

func TestOnExistingErrorLeavesTheOldFileBothWays(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	for _, at := range []string{w.AtFoot("source"), w.AtBrain(dir, "source")} {
		WriteFile(t, at, 1000, 0o644, anHourAgo)
	}
	for _, at := range []string{w.AtFoot("old"), w.AtBrain(dir, "old")} {
		WriteFile(t, at, 10, 0o600, anHourAgo)
	}
	before := []map[string]string{Snapshot(t, w.Foot.Project), Snapshot(t, w.AtBrain(dir, ""))}
	for _, caller := range []Caller{w.Agent, w.Command()} {
		for tool, target := range map[string]string{"client_file_upload": "remotePath", "client_file_download": "localPath"} {
			arguments := map[string]any{"localPath": "source", "remotePath": "source", "dirName": dir, "onExisting": "error"}
			arguments[target] = "old"
			checkRefused(t, caller.Call(t, tool, arguments), refusal{code: "already_exists", text: "already exists"})
		}
	}
	after := []map[string]string{Snapshot(t, w.Foot.Project), Snapshot(t, w.AtBrain(dir, ""))}
	for i := range before {
		if fmt.Sprint(before[i]) != fmt.Sprint(after[i]) {
			t.Errorf("before %v\nafter %v", before[i], after[i])
		}
	}
}

// stalledUpload brings an upload to the point where some chunks have come and the
// rest is held back until the test ends, and returns its id and its outcome.
func stalledUpload(t *testing.T, w *World, tap *Tap, dir string) (id string, outcome <-chan Result, release func()) {
	t.Helper()
	hold := make(chan struct{})
	reached := make(chan string, 1)
	chunks := 0
	tap.Alter(func(f TappedFrame) [][]byte {
		if f.Type() != "transfer_chunk" {
			return [][]byte{f.Raw}
		}
		if chunks++; chunks == 5 {
			var chunk Message
			if json.Unmarshal(f.Raw, &chunk) == nil {
				reached <- chunk.Str("transferId")
			}
			<-hold
		}
		return [][]byte{f.Raw}
	})
	release = sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	done := make(chan Result, 1)
	go func() {
		done <- w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "source", "dirName": dir, "remotePath": "in/b"})
	}()
	select {
	case id = <-reached:
	case <-Bounded(t).Done():
		t.Fatal("no chunk came")
	}
	return id, done, release
}

func TestARunningTransferIsToldAndCancelledByToolAndAPI(t *testing.T) {
	t.Parallel()
	var tap *Tap
	w := NewWorld(t, WorldOptions{Via: func(url string) string { tap = NewTap(t, url); return tap.URL }})
	dir := w.NewDir(t)
	user := w.Brain.Token(t, w.Tenant, w.Project, "user", "hummel")
	WriteFile(t, w.AtFoot("source"), 8<<20, 0o644, anHourAgo)
	for way, cancel := range map[string]func(id string) (status, body string){
		"tool": func(id string) (string, string) {
			got := w.Command().Call(t, "transfer_cancel", map[string]any{"transferId": id})
			return fmt.Sprint(got.OK), got.String()
		},
		"API": func(id string) (string, string) {
			request, err := http.NewRequestWithContext(Bounded(t), http.MethodDelete, w.Brain.URL+"/api/v1/projects/"+w.Project+"/transfers/"+id, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := (&http.Client{Transport: bearer{readToken(t, user)}}).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			var body Message
			if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(answer.StatusCode == http.StatusOK), string(text)
		},
	} {
		t.Run(way, func(t *testing.T) {
			id, outcome, release := stalledUpload(t, w, tap, dir)
			told := w.Command().Call(t, "transfer_status", map[string]any{"transferId": id})
			for _, want := range []string{`"state":"streaming"`, `"path":"in/b"`, `"totalBytes":8388608`} {
				if !strings.Contains(told.String(), want) {
					t.Errorf("transfer_status says %s", told)
				}
			}
			if ok, body := cancel(id); ok != "true" || !strings.Contains(body, `"state":"cancelled"`) {
				t.Errorf("it is answered by %s", body)
			}
			got := <-outcome
			checkRefused(t, got, refusal{code: "cancelled", text: "cancelled"})
			if got.TransferID != id {
				t.Errorf("the call was of %s, want %s", got.TransferID, id)
			}
			release()
			tap.Alter(nil)
			// The Foot ends it too, and is as good as new.
			_, next, err := w.Foot.Await(Bounded(t), 0, func(e launch.Event) bool {
				return e.Name == "transfer" && strings.Contains(string(e.Raw), id) && strings.Contains(string(e.Raw), `"cancelled"`)
			})
			if err != nil {
				t.Fatalf("the Foot tells of no cancelled transfer (%d events)", next)
			}
			NoStaging(t, w.Brain.Data, w.Foot.Project)
			if len(Snapshot(t, w.AtBrain(dir, ""))) != 1 {
				t.Errorf("in the RootDir: %v", Snapshot(t, w.AtBrain(dir, "")))
			}
			up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "source", "dirName": w.NewDir(t), "remotePath": "b"})
			if !up.OK {
				t.Errorf("the next upload fails: %s", up)
			}
		})
	}
}

func TestBrainCallShowsProgressOnStderrAndFootInItsEvents(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, WorldOptions{})
	dir := w.NewDir(t)
	WriteFile(t, w.AtFoot("source"), 24<<20, 0o644, anHourAgo)
	stdout, stderr, code := w.Brain.Run(t, "call", "client_file_upload",
		`{"localPath":"source","dirName":"`+dir+`","remotePath":"b"}`, "--url", w.Brain.URL, "--token-file", w.AgentToken)
	if code != 0 || strings.Count(stdout, "\n") != 1 {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	for _, state := range []string{"hashing", "streaming", "verifying"} {
		if !strings.Contains(stderr, "progress") || !strings.Contains(stderr, state) {
			t.Errorf("no %s in the progress on stderr:\n%s", state, stderr)
		}
	}
	for _, state := range []string{"hashing", "streaming", "verifying", "complete"} {
		if _, _, err := w.Foot.Await(Bounded(t), 0, func(e launch.Event) bool {
			return e.Name == "transfer" && strings.Contains(string(e.Raw), `"`+state+`"`) && strings.Contains(string(e.Raw), `"upload"`)
		}); err != nil {
			t.Errorf("no event %s of the Foot", state)
		}
	}
}

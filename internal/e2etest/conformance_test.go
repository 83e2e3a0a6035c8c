package e2etest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The frames of a recorded session, successes and failures, are held against
// the schemas and against the order that the protocol demands.
func TestEveryFrameOfASessionIsWhatTheSchemasSay(t *testing.T) {
	t.Parallel()
	var tap *Tap
	w := NewWorld(t, WorldOptions{
		BrainSettings: map[string]string{"vance.transfer.max-upload-size": "1MiB"},
		Via:           func(url string) string { tap = NewTap(t, url); return tap.URL },
	})
	dir := w.NewDir(t)
	WriteFile(t, w.AtFoot("two chunks"), 65537, 0o755, anHourAgo)
	WriteFile(t, w.AtFoot("empty"), 0, 0o644, anHourAgo)
	WriteFile(t, w.AtFoot("large"), 1<<20+1, 0o644, anHourAgo)

	calls := []struct {
		tool, local, remote string
		ok                  bool
		frames              string // the types in order, F: or B: for the sender
	}{
		{"client_file_upload", "two chunks", "a/b", true, "B:client.file.upload.request F:transfer_init B:transfer_init_response F:transfer_chunk F:transfer_chunk B:transfer_complete F:transfer_finish"},
		{"client_file_upload", "empty", "empty", true, "B:client.file.upload.request F:transfer_init B:transfer_init_response F:transfer_chunk B:transfer_complete F:transfer_finish"},
		{"client_file_upload", "missing", "x", false, "B:client.file.upload.request F:transfer_finish"},
		{"client_file_upload", "large", "x", false, "B:client.file.upload.request F:transfer_finish"},
		{"client_file_download", "down/two", "a/b", true, "B:transfer_init F:transfer_init_response B:transfer_chunk B:transfer_chunk F:transfer_complete B:transfer_finish"},
		{"client_file_download", "empty again", "empty", true, "B:transfer_init F:transfer_init_response B:transfer_chunk F:transfer_complete B:transfer_finish"},
		{"client_file_download", "../out", "a/b", false, "B:transfer_init F:transfer_init_response B:transfer_finish"},
	}
	for _, call := range calls {
		t.Run(fmt.Sprintf("%s of %s to %s", call.tool, call.local, call.remote), func(t *testing.T) {
			seen := len(tap.Frames())
			got := w.Agent.Call(t, call.tool, map[string]any{"localPath": call.local, "dirName": dir, "remotePath": call.remote,
				"attrs": map[string]any{"mode": "0600"}})
			if got.OK != call.ok {
				t.Fatalf("got %s", got)
			}
			// The last frame may come after the answer.
			Eventually(t, func() string {
				if types := typesOf(tap.Frames()[seen:]); types != call.frames {
					return fmt.Sprintf("the frames were\n %s\nwant\n %s", types, call.frames)
				}
				return ""
			})
			for _, frame := range tap.Frames()[seen:] {
				checkFrame(t, frame, got.TransferID)
			}
		})
	}
	frames := tap.Frames()
	if opening := typesOf(frames[:2]); opening != "F:hello B:welcome" {
		t.Errorf("the connection opens with %s", opening)
	}
	for _, frame := range frames[:2] {
		checkFrame(t, frame, "")
	}
}

// typesOf leaves out the news of progress, which come when there are any.
func typesOf(frames []TappedFrame) string {
	var types []string
	for _, frame := range frames {
		if frame.Type() == "transfer_progress" {
			continue
		}
		types = append(types, strings.ToUpper(string(frame.From[:1]))+":"+frame.Type())
	}
	return strings.Join(types, " ")
}

func checkFrame(t *testing.T, frame TappedFrame, transferID string) {
	t.Helper()
	if problem := invalidFrame(frame.Type(), frame.Raw); problem != "" {
		t.Errorf("%s: %s\n%.300s", frame.Type(), problem, frame.Raw)
	}
	var m Message
	if err := json.Unmarshal(frame.Raw, &m); err != nil {
		t.Fatal(err)
	}
	if m.Str("transferId") != transferID {
		t.Errorf("%s is of transfer %q, the call's is %q", frame.Type(), m.Str("transferId"), transferID)
	}
	if !strings.HasPrefix(string(frame.Raw), `{"type":"`) {
		t.Errorf("%s does not begin with its type: %.80s", frame.Type(), frame.Raw)
	}
	if source := m.Str("source"); strings.HasPrefix(source, "/") {
		t.Errorf("source %q is the sender's absolute path", source)
	}
	for _, member := range alwaysSent[frame.Type()] {
		if _, ok := m[member]; !ok {
			t.Errorf("%s lacks %s, which is always sent", frame.Type(), member)
		}
	}
	if m["ok"] == false && (m.Str("error") == "" || m.Str("errorCode") == "") {
		t.Errorf("%s fails without a text and a code: %s", frame.Type(), frame.Raw)
	}
}

// alwaysSent are the members that may be null and never absent.
var alwaysSent = map[string][]string{
	"transfer_init":          {"hash"},
	"transfer_init_response": {"error"},
	"transfer_complete":      {"error", "hashCheck"},
	"hello":                  {"access", "grants", "features"},
}

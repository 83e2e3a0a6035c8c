package toolset

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/gen/frames"
)

const listing = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

// post sends a message as the protocol with sessions wants it.
func (w *world) post(t *testing.T, body, token string, more map[string]string) (status int, text string) {
	t.Helper()
	headers := map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", versionHeader: generations["stateful"],
	}
	for name, value := range more {
		headers[name] = value
	}
	answer := w.request(t, http.MethodPost, body, headers)
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

func TestASessionServesNoTokenButItsOwn(t *testing.T) {
	w := newWorld(t)
	s := w.client(t, "agent", generations["stateful"])
	with := map[string]string{sessionHeader: s.ID()}
	if status, text := w.post(t, listing, "agent", with); status != 200 || !strings.Contains(text, "client_list") {
		t.Errorf("its own token: %d %s", status, text)
	}
	if status, text := w.post(t, listing, "agent-2", with); status != 403 || strings.Contains(text, "client_list") {
		t.Errorf("another token of the same project: %d %s", status, text)
	}
	answer := w.request(t, http.MethodGet, "", map[string]string{
		"Authorization": "Bearer agent-2", "Accept": "text/event-stream", sessionHeader: s.ID(), versionHeader: generations["stateful"]})
	if answer.StatusCode != 403 {
		t.Errorf("listening with another token: %d", answer.StatusCode)
	}
	if status, _ := w.post(t, listing, "agent", map[string]string{sessionHeader: "made-up"}); status != 404 {
		t.Errorf("an unknown session: %d", status)
	}
}

// Whoever made a call has to hear of its end, also when the session ends.
func TestACallOfADeletedSessionIsAnswered(t *testing.T) {
	w := newWorld(t)
	s := w.client(t, "agent", generations["stateful"])
	mustCall(t, s, "workspace_create_ephemeral_dir", map[string]any{"dirName": "d"})
	f := hubtest.Dial(t, w.url, "acme", "laptop")
	type answer struct {
		status int
		text   string
	}
	answered := make(chan answer, 1)
	go func() {
		status, text := w.post(t, `{"jsonrpc":"2.0","id":"the call","method":"tools/call","params":{"name":"client_file_upload",`+
			`"arguments":{"localPath":"a","dirName":"d","remotePath":"b"}}}`, "agent", map[string]string{sessionHeader: s.ID()})
		answered <- answer{status, text}
	}()
	hubtest.Next[*frames.ClientFileUploadRequest](f)
	if got := w.request(t, http.MethodDelete, "", map[string]string{"Authorization": "Bearer agent", sessionHeader: s.ID()}); got.StatusCode != 204 {
		t.Errorf("DELETE: %d", got.StatusCode)
	}
	if a := <-answered; a.status != 200 || !strings.Contains(a.text, `"id":"the call"`) || !strings.Contains(a.text, "the session ended") {
		t.Errorf("the call is answered with %d %q", a.status, a.text)
	}
}

func TestRequestsThatNoClientOfOursSendsAreRefused(t *testing.T) {
	w := newWorld(t)
	s := w.client(t, "agent", generations["stateful"])
	long := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"` + strings.Repeat("x", maxRequest) + `"}}`
	for name, c := range map[string]struct {
		body   string
		more   map[string]string
		status int
	}{
		"a page of another origin":      {listing, map[string]string{"Origin": "https://elsewhere.example"}, 403},
		"a body of another kind":        {listing, map[string]string{"Content-Type": "text/plain"}, 415},
		"a client that takes no answer": {listing, map[string]string{"Accept": "text/html"}, 400},
		"a body above the limit":        {long, nil, 413},
		"a body that is no message":     {"hello", nil, 400},
	} {
		more := map[string]string{sessionHeader: s.ID()}
		for header, value := range c.more {
			more[header] = value
		}
		if status, text := w.post(t, c.body, "agent", more); status != c.status {
			t.Errorf("%s: %d, want %d: %.200s", name, status, c.status, text)
		}
	}
}

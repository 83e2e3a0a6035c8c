package toolset

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/vancetope/transfer/brain/hub/hubtest"
)

// createIn has a session create a RootDir, which it owns unless a scope is named.
func (w *world) createIn(t *testing.T, session, arguments string) {
	t.Helper()
	answer := w.request(t, http.MethodPost,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"workspace_create_ephemeral_dir","arguments":`+arguments+`}}`,
		map[string]string{"Authorization": "Bearer agent", sessionHeader: session, versionHeader: generations["stateful"]})
	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

func (w *world) stands(dir string) bool {
	_, err := os.Lstat(w.at(dir))
	return !errors.Is(err, fs.ErrNotExist)
}

// falls waits until a RootDir is gone.
func (w *world) falls(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(hubtest.Patience); w.stands(dir); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the RootDir %s is still there", dir)
		}
	}
}

func TestRootDirsOfASessionGoWithItUnlessTheyAreToStay(t *testing.T) {
	w := newWorld(t)
	id, other := w.open(t, "agent"), w.open(t, "agent")
	w.createIn(t, id, `{"dirName":"goes"}`)
	w.createIn(t, id, `{"dirName":"stays","deleteOnCreatorClose":false}`)
	w.createIn(t, id, `{"dirName":"named","scope":"night"}`)
	w.createIn(t, other, `{"dirName":"others"}`)
	answer := w.request(t, http.MethodDelete, "", map[string]string{"Authorization": "Bearer agent", sessionHeader: id})
	if answer.StatusCode != http.StatusNoContent {
		t.Fatal(answer.Status)
	}
	w.falls(t, "goes")
	for _, dir := range []string{"stays", "named", "others"} {
		if !w.stands(dir) {
			t.Errorf("the RootDir %s went with a session that did not own it", dir)
		}
	}
	w.call(t, "workspace_close_scope", `{"scope":"night"}`)
	if !w.stands("named") {
		t.Error("another token's scope of the same name closed it")
	}
	owner := Caller{Project: acme, TokenID: "agent"}
	checked(t, "workspace_close_scope", w.Call(t.Context(), owner, "workspace_close_scope", []byte(`{"scope":"night"}`)))
	if w.stands("named") {
		t.Error("a named scope was closed and its RootDir is there")
	}
}

func TestARestartClosesNoScope(t *testing.T) {
	w := newWorld(t)
	w.createIn(t, w.open(t, "agent"), `{"dirName":"stays"}`)
	w.mcp.Close()
	for s := range w.mcp.server.Sessions() {
		if err := s.Wait(); err != nil {
			t.Log(err) // that of a connection which is gone
		}
	}
	w.call(t, "workspace_list_dirs", `{}`)
	if !w.stands("stays") {
		t.Error("the RootDir went")
	}
}

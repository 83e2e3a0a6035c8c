package toolset

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/gen/common"
)

// readerOf makes the token "reader" one that may only read.
func (w *world) readers() {
	w.mcp.auth = func(r *http.Request) (Caller, error) {
		if bearer(r) == "reader" {
			return Caller{Project: acme, TokenID: "reader", Access: common.AccessRead}, nil
		}
		return agentOf(r)
	}
}

func TestTheListLeavesOutWhatTheTokenDoesNotAllow(t *testing.T) {
	for name, version := range generations {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.readers()
			for token, want := range map[string]int{"reader": 0, "agent": 1} {
				list, err := w.client(t, token, version).ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, tool := range []string{"client_file_upload", "workspace_create_ephemeral_dir"} {
					listed := slices.ContainsFunc(list.Tools, func(l *mcp.Tool) bool { return l.Name == tool })
					if listed != (want == 1) {
						t.Errorf("%s: %s is listed: %v", token, tool, listed)
					}
				}
				for _, tool := range []string{"client_file_download", "client_list", "transfer_status", "transfer_cancel"} {
					if !slices.ContainsFunc(list.Tools, func(l *mcp.Tool) bool { return l.Name == tool }) {
						t.Errorf("%s: %s is not listed", token, tool)
					}
				}
			}
		})
	}
}

func TestATokenToReadMayNotEditTheWorkspace(t *testing.T) {
	for name, version := range generations {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.readers()
			f := hubtest.Dial(t, w.url, "acme", "laptop")
			w.call(t, "workspace_create_ephemeral_dir", `{"dirName":"d"}`)
			s := w.client(t, "reader", version)
			mustCall(t, s, "client_file_upload", map[string]any{"localPath": "a", "dirName": "d", "remotePath": "a"}).
				wantCode(t, common.ErrorCodeAccessDenied)
			mustCall(t, s, "workspace_create_ephemeral_dir", map[string]any{"dirName": "e"}).
				wantCode(t, common.ErrorCodeAccessDenied)
			f.Quiet()
			if _, err := os.Stat(w.at("e")); !os.IsNotExist(err) {
				t.Errorf("the dir was made: %v", err)
			}
			if err := os.WriteFile(w.at("d", "f"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			done := mcpLater(t.Context(), s, "client_file_download", map[string]any{"localPath": "a", "dirName": "d", "remotePath": "f"})
			f.Download()
			if down := checked(t, "client_file_download", awaitMCP(t, done)); !down.Ok {
				t.Error(down.raw)
			}
		})
	}
}

func TestATokenToReadMayCancelWhatItAskedForOnly(t *testing.T) {
	w := newWorld(t)
	w.readers()
	f, done := uploading(t, t.Context(), w, w.client(t, "agent", generations["stateful"]))
	id := w.Hub.Transfers(acme)[0].TransferID.String()
	reader := w.client(t, "reader", generations["stateful"])
	mustCall(t, reader, "transfer_cancel", map[string]any{"transferId": id}).wantCode(t, common.ErrorCodeAccessDenied)
	f.Quiet()
	if o := mustCall(t, w.client(t, "agent-2", generations["stateful"]), "transfer_cancel", map[string]any{"transferId": id}); !o.Ok {
		t.Error(o.raw)
	}
	<-done
}

// tokens plays those whose end a test decides.
type tokens struct {
	mu   sync.Mutex
	next int
	ends map[int]func(reason string)
	of   map[int]string
}

func (k *tokens) follow(tokenID string, end func(reason string)) func() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ends == nil {
		k.ends, k.of = map[int]func(string){}, map[int]string{}
	}
	k.next++
	number := k.next
	k.ends[number], k.of[number] = end, tokenID
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.ends, number)
	}
}

// end ends a token and returns how many followed it.
func (k *tokens) end(tokenID, reason string) (followed int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for number, end := range k.ends {
		if k.of[number] == tokenID {
			followed++
			go end(reason)
		}
	}
	return followed
}

func (k *tokens) none(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(hubtest.Patience)
	for {
		k.mu.Lock()
		n := len(k.ends)
		k.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d still follow a token", n)
		}
		time.Sleep(time.Millisecond) // polling: nobody tells
	}
}

func TestWithItsTokenARunningCallIsDeniedAndAnswered(t *testing.T) {
	for name, version := range generations {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var k tokens
			w.mcp.follow = k.follow
			s := w.client(t, "agent", version)
			other := w.client(t, "agent-2", version)
			_, done := uploading(t, t.Context(), w, s)
			if k.end("agent", "token revoked") == 0 {
				t.Fatal("nobody followed the token")
			}
			checked(t, "client_file_upload", awaitMCP(t, done)).wantCode(t, common.ErrorCodeAccessDenied)
			if o := mustCall(t, other, "client_list", map[string]any{}); !o.Ok {
				t.Error(o.raw)
			}
		})
	}
}

// open opens a session by hand and returns its id.
func (w *world) open(t *testing.T, token string) string {
	t.Helper()
	answer := w.request(t, http.MethodPost,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		map[string]string{"Authorization": "Bearer " + token})
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status, err)
	}
	return answer.Header.Get(sessionHeader)
}

func TestWithItsTokenASessionEndsThoughItOnlyListens(t *testing.T) {
	w := newWorld(t)
	var k tokens
	w.mcp.follow = k.follow
	id := w.open(t, "agent")
	header := map[string]string{"Authorization": "Bearer agent", sessionHeader: id, versionHeader: generations["stateful"]}
	stream := w.request(t, http.MethodGet, "", header)
	if stream.StatusCode != http.StatusOK {
		t.Fatal(stream.Status)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for scan := bufio.NewScanner(stream.Body); scan.Scan(); {
		}
	}()
	if k.end("agent", "token expired") < 2 {
		t.Error("session and stream do not both follow the token")
	}
	select {
	case <-ended:
	case <-time.After(hubtest.Patience):
		t.Fatal("the stream goes on")
	}
	k.none(t)
	// The SDK forgets a session's id a moment after the session has ended.
	for deadline := time.Now().Add(hubtest.Patience); ; time.Sleep(time.Millisecond) {
		again := w.request(t, http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, header)
		if again.StatusCode == http.StatusNotFound {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the session is still there: %s", again.Status)
		}
	}
	for s := range w.mcp.server.Sessions() {
		t.Errorf("session %s is still there", s.ID())
	}
}

func TestASessionThatEndsFollowsItsTokenNoLonger(t *testing.T) {
	w := newWorld(t)
	var k tokens
	w.mcp.follow = k.follow
	id := w.open(t, "agent")
	if answer := w.request(t, http.MethodDelete, "", map[string]string{"Authorization": "Bearer agent", sessionHeader: id}); answer.StatusCode != http.StatusNoContent {
		t.Fatal(answer.Status)
	}
	k.none(t)
}

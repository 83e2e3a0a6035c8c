package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/gen/tools"
)

// generations are the protocol versions that stand for the two handlers.
var generations = map[string]string{"stateless": "2026-07-28", "stateful": "2025-11-25"}

type withToken struct{ token string }

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return http.DefaultTransport.RoundTrip(r)
}

func (w *world) client(t *testing.T, token, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint:   w.url + "/mcp",
		HTTPClient: &http.Client{Transport: withToken{token}},
		MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // it may be closed already
	return session
}

func eachGeneration(t *testing.T, test func(t *testing.T, w *world, s *mcp.ClientSession)) {
	for name, version := range generations {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test(t, w, w.client(t, "agent", version))
		})
	}
}

// mcpCall calls a tool and returns its answer as Call would.
func mcpCall(ctx context.Context, s *mcp.ClientSession, name string, arguments map[string]any) (Result, error) {
	answer, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return Result{}, err
	}
	raw, err := json.Marshal(answer.StructuredContent)
	r := Result{Output: raw, Failed: answer.IsError}
	for _, c := range answer.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			r.Text += text.Text
		}
	}
	return r, err
}

func mustCall(t *testing.T, s *mcp.ClientSession, name string, arguments map[string]any) output {
	t.Helper()
	r, err := mcpCall(t.Context(), s, name, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return checked(t, name, r)
}

func TestTheHandlerIsChosenByTheVersion(t *testing.T) {
	eachGeneration(t, func(t *testing.T, _ *world, s *mcp.ClientSession) {
		stateful := strings.HasSuffix(t.Name(), "stateful")
		if (s.ID() != "") != stateful {
			t.Errorf("the session's id is %q", s.ID())
		}
	})
}

func TestTheToolsAreListedWithTheirSchemasAndHints(t *testing.T) {
	eachGeneration(t, func(t *testing.T, _ *world, s *mcp.ClientSession) {
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		hintsOf := map[string]hints{
			"client_file_upload":             {destructive: true},
			"client_file_download":           {destructive: true},
			"client_list":                    {readOnly: true, idempotent: true},
			"transfer_status":                {readOnly: true, idempotent: true},
			"transfer_cancel":                {destructive: true, idempotent: true},
			"workspace_create_ephemeral_dir": {},
			"workspace_list_dirs":            {readOnly: true, idempotent: true},
			"workspace_close_dir":            {destructive: true, idempotent: true},
			"workspace_close_scope":          {destructive: true, idempotent: true},
			"workspace_list_files":           {readOnly: true, idempotent: true},
			"workspace_read_file":            {readOnly: true, idempotent: true},
			"workspace_write_file":           {destructive: true},
		}
		if len(list.Tools) != len(hintsOf) {
			t.Errorf("%d tools are listed", len(list.Tools))
		}
		for _, tool := range list.Tools {
			a := tool.Annotations
			got := hints{readOnly: a.ReadOnlyHint, destructive: *a.DestructiveHint, idempotent: a.IdempotentHint}
			if got != hintsOf[tool.Name] {
				t.Errorf("%s has the hints %+v", tool.Name, got)
			}
			sameJSON(t, tool.Name, tool.InputSchema, tools.Schemas[tool.Name].Input)
			sameJSON(t, tool.Name, tool.OutputSchema, tools.Schemas[tool.Name].Output)
			if tool.Description == "" || tool.Title == "" {
				t.Errorf("%s is not described", tool.Name)
			}
		}
	})
}

func sameJSON(t *testing.T, name string, got any, want json.RawMessage) {
	t.Helper()
	var value any
	if err := json.Unmarshal(want, &value); err != nil {
		t.Fatal(err)
	}
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(value)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%s: got the schema %s, want %s", name, a, b)
	}
}

func TestAFileTravelsBothWaysOverMCP(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world, s *mcp.ClientSession) {
		f := hubtest.Dial(t, w.url, "acme", "laptop")
		dir := mustCall(t, s, "workspace_create_ephemeral_dir", map[string]any{}).DirName
		body := bytes.Repeat([]byte("content "), 50_000)

		done := mcpLater(t.Context(), s, "client_file_upload", map[string]any{"localPath": "a.bin", "dirName": dir, "remotePath": "b.bin"})
		f.Upload(body)
		up := checked(t, "client_file_upload", awaitMCP(t, done))
		if !up.Ok || *up.Hash != hubtest.Hash(body) {
			t.Error(up.raw)
		}
		done = mcpLater(t.Context(), s, "client_file_download", map[string]any{"localPath": "c.bin", "dirName": dir, "remotePath": "b.bin"})
		_, got := f.Download()
		down := checked(t, "client_file_download", awaitMCP(t, done))
		if !down.Ok || !bytes.Equal(got, body) || *down.Hash != *up.Hash {
			t.Error(down.raw)
		}
	})
}

type mcpOutcome struct {
	result Result
	err    error
}

func mcpLater(ctx context.Context, s *mcp.ClientSession, name string, arguments map[string]any) <-chan mcpOutcome {
	done := make(chan mcpOutcome, 1)
	go func() {
		r, err := mcpCall(ctx, s, name, arguments)
		done <- mcpOutcome{r, err}
	}()
	return done
}

func awaitMCP(t *testing.T, done <-chan mcpOutcome) Result {
	t.Helper()
	o := <-done
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o.result
}

func TestAFailureIsAnErrorResultNotAProtocolError(t *testing.T) {
	eachGeneration(t, func(t *testing.T, _ *world, s *mcp.ClientSession) {
		mustCall(t, s, "client_file_upload", map[string]any{"localPath": "a", "dirName": "nothing", "remotePath": "b"}).
			wantCode(t, common.ErrorCodeDirNotFound)
		mustCall(t, s, "client_list", map[string]any{"surprise": 1}).wantCode(t, common.ErrorCodeInvalidRequest)
		if _, err := mcpCall(t.Context(), s, "no_such_tool", nil); err == nil {
			t.Error("an unknown tool answered")
		}
	})
}

func TestTheCreatorIsTheSessionOrElseTheToken(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world, s *mcp.ClientSession) {
		mustCall(t, s, "workspace_create_ephemeral_dir", map[string]any{"dirName": "d"})
		dirs, err := w.Workspace.List(t.Context(), acme)
		if err != nil || len(dirs) != 1 {
			t.Fatal(dirs, err)
		}
		want := "token:agent"
		if s.ID() != "" {
			want = "mcp:" + s.ID()
		}
		if dirs[0].Creator != want {
			t.Errorf("creator %q, want %q", dirs[0].Creator, want)
		}
	})
}

// uploading brings an upload to the point where its content is awaited.
func uploading(t *testing.T, ctx context.Context, w *world, s *mcp.ClientSession) (*hubtest.Foot, <-chan mcpOutcome) {
	t.Helper()
	f := hubtest.Dial(t, w.url, "acme", "laptop")
	mustCall(t, s, "workspace_create_ephemeral_dir", map[string]any{"dirName": "d"})
	done := mcpLater(ctx, s, "client_file_upload", map[string]any{"localPath": "a", "dirName": "d", "remotePath": "b"})
	f.Offer(hubtest.Next[*frames.ClientFileUploadRequest](f), []byte("content"))
	hubtest.Next[*frames.TransferInitResponse](f)
	return f, done
}

func wantCancelled(t *testing.T, w *world, f *hubtest.Foot) {
	t.Helper()
	complete := hubtest.Next[*frames.TransferComplete](f)
	if complete.Ok || complete.ErrorCode == nil || *complete.ErrorCode != common.ErrorCodeCancelled {
		t.Errorf("complete %+v", complete)
	}
	f.Send(&frames.TransferFinish{TransferID: complete.TransferID, Error: complete.Error, ErrorCode: complete.ErrorCode})
	if left, err := os.ReadDir(w.at("d")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCancellingACallEndsItsTransfer(t *testing.T) {
	eachGeneration(t, func(t *testing.T, w *world, s *mcp.ClientSession) {
		ctx, cancel := context.WithCancel(t.Context())
		f, done := uploading(t, ctx, w, s)
		cancel()
		wantCancelled(t, w, f)
		if o := <-done; o.err == nil {
			t.Errorf("the call answered %s", o.result.Output)
		}
	})
}

func TestDeletingASessionEndsItsCalls(t *testing.T) {
	w := newWorld(t)
	s := w.client(t, "agent", generations["stateful"])
	f, done := uploading(t, t.Context(), w, s)
	remove := func(token string) int {
		answer := w.request(t, "DELETE", "", map[string]string{"Authorization": "Bearer " + token, sessionHeader: s.ID()})
		return answer.StatusCode
	}
	if status := remove("agent-2"); status != 403 {
		t.Errorf("another token's DELETE: %d", status)
	}
	f.Quiet()
	if status := remove("agent"); status != 204 {
		t.Errorf("DELETE: %d", status)
	}
	if c := hubtest.Next[*frames.TransferComplete](f); c.Ok || *c.ErrorCode != common.ErrorCodeCancelled {
		t.Errorf("the Foot was told %+v", c)
	}
	<-done
	// The session made the RootDir, which goes with it.
	for deadline := time.Now().Add(hubtest.Patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Lstat(w.at("d")); errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the RootDir outlives its session")
		}
	}
}

func TestASessionIsItsTokensAlone(t *testing.T) {
	w := newWorld(t)
	s := w.client(t, "agent", generations["stateful"])
	answer := w.request(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{
		"Authorization": "Bearer agent-2", sessionHeader: s.ID(), versionHeader: generations["stateful"],
	})
	if answer.StatusCode != 403 {
		t.Errorf("got %d", answer.StatusCode)
	}
}

func (w *world) request(t *testing.T, method, body string, header map[string]string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() }) // it was read
	return answer
}

func TestOnlyAgentsAreLetIn(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name   string
		header map[string]string
		status int
		code   common.ErrorCode
	}{
		{"no token", nil, 401, common.ErrorCodeUnauthorized},
		{"an unknown token", map[string]string{"Authorization": "Bearer guess"}, 401, common.ErrorCodeUnauthorized},
		{"a Foot's token", map[string]string{"Authorization": "Bearer laptop"}, 403, common.ErrorCodeAccessDenied},
		{"another site's page", map[string]string{"Authorization": "Bearer agent", "Sec-Fetch-Site": "cross-site"}, 403, common.ErrorCodeAccessDenied},
		{"another origin", map[string]string{"Authorization": "Bearer agent", "Origin": "https://evil.example"}, 403, common.ErrorCodeAccessDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := w.request(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, c.header)
			var body struct {
				Error     string           `json:"error"`
				ErrorCode common.ErrorCode `json:"errorCode"`
			}
			if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != c.status || body.ErrorCode != c.code || body.Error == "" {
				t.Errorf("got %d %+v", answer.StatusCode, body)
			}
			if (answer.Header.Get("WWW-Authenticate") == "Bearer") != (c.status == 401) {
				t.Errorf("WWW-Authenticate is %q", answer.Header.Get("WWW-Authenticate"))
			}
		})
	}
}

// The library for this lets reading pass.
func TestAForeignPageDoesNotEvenRead(t *testing.T) {
	w := newWorld(t)
	for _, says := range []string{"Origin", "Sec-Fetch-Site"} {
		header := map[string]string{"Authorization": "Bearer agent", "Accept": "text/event-stream"}
		header[says] = map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}[says]
		if answer := w.request(t, "GET", "", header); answer.StatusCode != 403 {
			t.Errorf("%s: %d", says, answer.StatusCode)
		}
	}
}

// What the SDK refuses in plain text has the body of all other errors.
func TestAPlainErrorHasTheCommonBody(t *testing.T) {
	w := newWorld(t)
	for version, status := range map[string]int{"2025-11-25": 400, "2026-07-28": 405} {
		answer := w.request(t, "GET", "", map[string]string{"Authorization": "Bearer agent", versionHeader: version})
		var body struct {
			Error     string           `json:"error"`
			ErrorCode common.ErrorCode `json:"errorCode"`
		}
		if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != status || body.ErrorCode != common.ErrorCodeInvalidRequest || body.Error == "" {
			t.Errorf("%s: got %d %+v", version, answer.StatusCode, body)
		}
	}
}

func TestClientsOfAProxyAreServed(t *testing.T) {
	w := newWorld(t)
	r, err := http.NewRequestWithContext(t.Context(), "POST", w.url+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "brain.example"
	r.Header = http.Header{"Authorization": {"Bearer agent"}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Origin": {"https://brain.example"}}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // only the status counts
	if answer.StatusCode != 200 {
		t.Errorf("got %d", answer.StatusCode)
	}
}

func TestDrainingRefusesRequests(t *testing.T) {
	w := newWorld(t)
	w.mcp.Drain()
	answer := w.request(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{"Authorization": "Bearer agent"})
	if body, err := io.ReadAll(answer.Body); answer.StatusCode != 503 || !bytes.Contains(body, []byte(`"draining"`)) {
		t.Errorf("got %d %s, %v", answer.StatusCode, body, err)
	}
}

func TestClosingEndsTheCallsOfSessions(t *testing.T) {
	w := newWorld(t)
	s := w.client(t, "agent", generations["stateful"])
	f, done := uploading(t, t.Context(), w, s)
	w.mcp.Close()
	wantCancelled(t, w, f)
	<-done
}

package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/brain/hub"
	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

func (w *world) modernFoot(t *testing.T) *hubtest.Foot {
	t.Helper()
	return hubtest.DialWith(t, w.url, "acme", "laptop", "on-existing", "progress", "cancel")
}

// spy records what a client posts, and holds back what it is told to.
type spy struct {
	withToken
	mu       sync.Mutex
	posted   []string
	withhold string
}

func (s *spy) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.posted = append(s.posted, string(body))
		held := s.withhold != "" && strings.Contains(string(body), s.withhold)
		s.mu.Unlock()
		if held {
			return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return s.withToken.RoundTrip(r)
}

func (s *spy) saw(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.posted, func(body string) bool { return strings.Contains(body, text) })
}

// listener collects the progress notifications of a client.
type listener struct {
	mu   sync.Mutex
	all  []mcp.ProgressNotificationParams
	came []time.Time
}

func (l *listener) hear(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, *r.Params)
	l.came = append(l.came, time.Now())
}

// states are those that were told, in their order, each once.
func (l *listener) states() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var states []string
	for _, p := range l.all {
		state, _, _ := strings.Cut(p.Message, ":")
		states = append(states, state)
	}
	return slices.Compact(states)
}

// eachClient runs a test with a client of each generation that listens.
func eachClient(t *testing.T, test func(t *testing.T, w *world, s *mcp.ClientSession, l *listener, road *spy), change ...func(*hub.Config)) {
	for name, version := range generations {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, change...)
			l, road := &listener{}, &spy{withToken: withToken{"agent"}}
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{ProgressNotificationHandler: l.hear})
			s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: w.url + "/mcp",
				HTTPClient: &http.Client{Transport: road}, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() }) // it may be closed already
			w.call(t, "workspace_create_ephemeral_dir", `{"dirName":"d"}`)
			test(t, w, s, l, road)
		})
	}
}

// uploadWith begins an upload that is to be told of under a token, nil for none.
func uploadWith(ctx context.Context, s *mcp.ClientSession, token any) <-chan error {
	params := &mcp.CallToolParams{Name: "client_file_upload", Arguments: map[string]any{"localPath": "a", "dirName": "d", "remotePath": "b"}}
	if token != nil {
		params.SetProgressToken(token)
	}
	done := make(chan error, 1)
	go func() {
		answer, err := s.CallTool(ctx, params)
		if err == nil && answer.IsError {
			err = &answerError{answer.StructuredContent}
		}
		done <- err
	}()
	return done
}

type answerError struct{ content any }

func (e *answerError) Error() string {
	text, err := json.Marshal(e.content)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestProgressIsNotifiedInWordsAndInOneGrowingNumber(t *testing.T) {
	eachClient(t, func(t *testing.T, w *world, s *mcp.ClientSession, l *listener, _ *spy) {
		f := w.modernFoot(t)
		done := uploadWith(t.Context(), s, "token-1")
		r := hubtest.Await[*frames.ClientFileUploadRequest](f)
		f.Send(&frames.TransferProgress{TransferID: r.TransferID, State: "waiting_for_approval", TotalBytes: 1000})
		begun := time.Now()
		for i := range int64(50) { // a second of hashing, told far too often
			f.Send(&frames.TransferProgress{TransferID: r.TransferID, State: "hashing", Bytes: i * 20, TotalBytes: 1000})
			time.Sleep(20 * time.Millisecond)
		}
		body := bytes.Repeat([]byte("x"), 1000)
		f.Offer(r, body)
		hubtest.Await[*frames.TransferInitResponse](f)
		f.Stream(r.TransferID, body, 1000)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)

		if got, want := l.states(), []string{"hashing", "waiting_for_approval", "hashing", "streaming", "verifying"}; !slices.Equal(got, want) {
			t.Errorf("the states are %v", got)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, p := range l.all {
			if p.ProgressToken != "token-1" {
				t.Errorf("the token is %v", p.ProgressToken)
			}
			if i > 0 && p.Progress <= l.all[i-1].Progress || p.Total > 0 && p.Progress > p.Total {
				t.Errorf("%d of %+v does not grow", i, l.all)
			}
		}
		if last := l.all[len(l.all)-1]; last.Message != "verifying" || last.Progress != last.Total {
			t.Errorf("the last one is %+v", last)
		}
		if most := int(took.Seconds()*4) + 6; len(l.all) > most {
			t.Errorf("%d notifications in %v, want at most %d", len(l.all), took, most)
		}
	})
}

func TestWithoutATokenNothingIsNotified(t *testing.T) {
	eachClient(t, func(t *testing.T, w *world, s *mcp.ClientSession, l *listener, _ *spy) {
		f := w.modernFoot(t)
		done := uploadWith(t.Context(), s, nil)
		r := hubtest.Await[*frames.ClientFileUploadRequest](f)
		f.Offer(r, []byte("x"))
		hubtest.Await[*frames.TransferInitResponse](f)
		f.Stream(r.TransferID, []byte("x"), 10)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := l.states(); len(got) != 0 {
			t.Errorf("heard %v", got)
		}
	})
}

func TestABaseFootsTransferIsNotifiedToo(t *testing.T) {
	eachClient(t, func(t *testing.T, w *world, s *mcp.ClientSession, l *listener, _ *spy) {
		f := hubtest.Dial(t, w.url, "acme", "laptop")
		done := uploadWith(t.Context(), s, 7)
		f.Upload([]byte("content"))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := l.states(); !slices.Contains(got, "streaming") {
			t.Errorf("heard %v", got)
		}
	})
}

func TestACallThatWaitsForItsTurnIsToldSo(t *testing.T) {
	eachClient(t, func(t *testing.T, w *world, s *mcp.ClientSession, l *listener, _ *spy) {
		f := w.modernFoot(t)
		first := w.later(t.Context(), "client_file_upload", `{"localPath":"a","dirName":"d","remotePath":"first"}`)
		r := hubtest.Await[*frames.ClientFileUploadRequest](f)
		done := uploadWith(t.Context(), s, "q")
		deadline := time.Now().Add(hubtest.Patience)
		for !slices.Equal(l.states(), []string{"queued"}) {
			if time.Now().After(deadline) {
				t.Fatalf("heard %v", l.states())
			}
			time.Sleep(time.Millisecond)
		}
		status := w.call(t, "transfer_status", `{}`)
		if !strings.Contains(status.raw, `"state":"queued"`) || !strings.Contains(status.text, "1 queued") {
			t.Errorf("%s, %q", status.raw, status.text)
		}
		finish := func(r *frames.ClientFileUploadRequest) {
			f.Offer(r, []byte("x"))
			hubtest.Await[*frames.TransferInitResponse](f)
			f.Stream(r.TransferID, []byte("x"), 10)
		}
		finish(r)
		await(t, first)
		finish(hubtest.Await[*frames.ClientFileUploadRequest](f))
		if err := <-done; err != nil {
			t.Error(err)
		}
	}, func(c *hub.Config) { c.MaxConcurrent = 1 })
}

func TestCancellingACallIsTheEndOfItsRequestOrAMessage(t *testing.T) {
	eachClient(t, func(t *testing.T, w *world, s *mcp.ClientSession, _ *listener, road *spy) {
		f := w.modernFoot(t)
		stateful := s.ID() != ""
		if !stateful { // there the end of the request has to be enough
			road.mu.Lock()
			road.withhold = "notifications/cancelled"
			road.mu.Unlock()
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := uploadWith(ctx, s, "c")
		r := hubtest.Await[*frames.ClientFileUploadRequest](f)
		f.Offer(r, []byte("content"))
		hubtest.Await[*frames.TransferInitResponse](f)
		cancel()
		if c := hubtest.Await[*frames.TransferCancel](f); c.TransferID != r.TransferID || c.Reason != "cancelled" {
			t.Errorf("the Foot hears %+v", c)
		}
		<-done
		if stateful && !road.saw("notifications/cancelled") {
			t.Error("the client sent no notifications/cancelled")
		}
		if left, err := os.ReadDir(w.at("d")); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		status := w.call(t, "transfer_status", `{"transferId":"`+r.TransferID.String()+`"}`)
		if !strings.Contains(status.raw, `"state":"cancelled"`) || !strings.Contains(status.raw, `"errorCode":"cancelled"`) {
			t.Errorf("told %s", status.raw)
		}
	})
}

func TestATransferIsToldAndCancelled(t *testing.T) {
	eachClient(t, func(t *testing.T, w *world, s *mcp.ClientSession, _ *listener, _ *spy) {
		f := w.modernFoot(t)
		done := uploadWith(t.Context(), s, nil)
		r := hubtest.Await[*frames.ClientFileUploadRequest](f)
		id := r.TransferID.String()
		f.Offer(r, []byte("content"))
		hubtest.Await[*frames.TransferInitResponse](f)

		told := mustCall(t, s, "transfer_status", map[string]any{})
		for _, want := range []string{`"transferId":"` + id + `"`, `"direction":"upload"`, `"foot":"laptop"`, `"path":"b"`, `"state":"streaming"`,
			`"bytes":0`, `"totalBytes":7`, `"bytesPerSecond":0`, `"startedAt":"`, `"error":null`} {
			if !strings.Contains(told.raw, want) {
				t.Errorf("transfer_status says %s, want %s in it", told.raw, want)
			}
		}
		mustCall(t, s, "transfer_status", map[string]any{"transferId": "01890a5d-ac96-774b-bcce-b302099a8057"}).wantCode(t, common.ErrorCodeNotFound)
		mustCall(t, s, "transfer_cancel", map[string]any{"transferId": "01890a5d-ac96-774b-bcce-b302099a8057"}).wantCode(t, common.ErrorCodeNotFound)

		reader := agent
		reader.TokenID, reader.Access = "another", common.AccessRead
		checked(t, "transfer_cancel", w.Call(t.Context(), reader, "transfer_cancel", json.RawMessage(`{"transferId":"`+id+`"}`))).
			wantCode(t, common.ErrorCodeAccessDenied)
		reader.TokenID = "agent" // the caller's own token, whatever it may do
		own := checked(t, "transfer_cancel", w.Call(t.Context(), reader, "transfer_cancel", json.RawMessage(`{"transferId":"`+id+`"}`)))
		if !own.Ok || own.TransferID != id || !strings.Contains(own.raw, `"state":"cancelled"`) {
			t.Errorf("%s, %q", own.raw, own.text)
		}
		if err := <-done; err == nil || !strings.Contains(err.Error(), `"errorCode":"cancelled"`) || !strings.Contains(err.Error(), id) {
			t.Errorf("the call came to %v", err)
		}
		if again := mustCall(t, s, "transfer_cancel", map[string]any{"transferId": id}); !again.Ok || !strings.Contains(again.raw, `"state":"cancelled"`) {
			t.Errorf("the second time: %s", again.raw)
		}
	})
}

func TestAnotherTokenThatMayEditCancelsToo(t *testing.T) {
	w := newWorld(t)
	w.call(t, "workspace_create_ephemeral_dir", `{"dirName":"d"}`)
	f := w.modernFoot(t)
	done := w.later(t.Context(), "client_file_upload", `{"localPath":"a","dirName":"d","remotePath":"b"}`)
	r := hubtest.Await[*frames.ClientFileUploadRequest](f)
	editor := agent
	editor.TokenID, editor.Access = "another", common.AccessEdit
	o := checked(t, "transfer_cancel", w.Call(t.Context(), editor, "transfer_cancel", json.RawMessage(`{"transferId":"`+r.TransferID.String()+`"}`)))
	if !o.Ok {
		t.Error(o.raw)
	}
	checked(t, "client_file_upload", await(t, done)).wantCode(t, common.ErrorCodeCancelled)
}

func TestAnotherProjectsTransfersAreNeitherToldNorCancelled(t *testing.T) {
	w := newWorld(t)
	w.call(t, "workspace_create_ephemeral_dir", `{"dirName":"d"}`)
	f := w.modernFoot(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := w.later(ctx, "client_file_upload", `{"localPath":"a","dirName":"d","remotePath":"b"}`)
	r := hubtest.Await[*frames.ClientFileUploadRequest](f)
	stranger, err := agentOf(&http.Request{Header: http.Header{"Authorization": {"Bearer stranger"}}})
	if err != nil {
		t.Fatal(err)
	}
	told := checked(t, "transfer_status", w.Call(t.Context(), stranger, "transfer_status", json.RawMessage(`{}`)))
	if !strings.Contains(told.raw, `"transfers":[]`) {
		t.Errorf("told %s", told.raw)
	}
	checked(t, "transfer_cancel", w.Call(t.Context(), stranger, "transfer_cancel", json.RawMessage(`{"transferId":"`+r.TransferID.String()+`"}`))).
		wantCode(t, common.ErrorCodeNotFound)
	cancel()
	await(t, done)
}

func TestAToolSaysWhatToDoAboutAnExistingTarget(t *testing.T) {
	w := newWorld(t)
	w.call(t, "workspace_create_ephemeral_dir", `{"dirName":"d"}`)
	if err := os.WriteFile(w.at("d", "b"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := w.modernFoot(t)
	play := func(done <-chan Result) output {
		r := hubtest.Await[*frames.ClientFileUploadRequest](f)
		f.Offer(r, []byte("new"))
		if a := hubtest.Await[*frames.TransferInitResponse](f); a.Ok {
			f.Stream(r.TransferID, []byte("new"), 10)
		} else {
			f.Send(&frames.TransferFinish{TransferID: r.TransferID, Error: a.Error, ErrorCode: a.ErrorCode})
		}
		return checked(t, "client_file_upload", await(t, done))
	}
	up := func(o string) <-chan Result {
		return w.later(t.Context(), "client_file_upload", `{"localPath":"a","dirName":"d","remotePath":"b","onExisting":"`+o+`"}`)
	}
	play(up("error")).wantCode(t, common.ErrorCodeAlreadyExists)
	if o := play(up("keep_both")); !o.Ok || o.Path != "b-1" {
		t.Error(o.raw)
	}
	if o := play(up("replace")); !o.Ok || o.Path != "b" {
		t.Error(o.raw)
	}
	done := w.later(t.Context(), "client_file_download", `{"dirName":"d","remotePath":"b","localPath":"x","onExisting":"keep_both"}`)
	init := hubtest.Await[*frames.TransferInit](f)
	if init.OnExisting == nil || *init.OnExisting != common.OnExistingKeepBoth {
		t.Errorf("the Foot is told %v", init.OnExisting)
	}
	check, path := frames.HashCheckOk, "x-1"
	f.Send(&frames.TransferInitResponse{TransferID: init.TransferID, Ok: true})
	hubtest.Await[*frames.TransferChunk](f)
	f.Send(&frames.TransferComplete{TransferID: init.TransferID, Ok: true, BytesWritten: 3, HashCheck: &check, Path: &path})
	if o := checked(t, "client_file_download", await(t, done)); !o.Ok || o.Path != "x-1" || !strings.Contains(o.text, `"x-1"`) {
		t.Errorf("%s, %q", o.raw, o.text)
	}
}

func TestADownloadThatMustNotReplaceSaysThatTheFootIsTooOld(t *testing.T) {
	w := newWorld(t)
	w.call(t, "workspace_create_ephemeral_dir", `{"dirName":"d"}`)
	if err := os.WriteFile(w.at("d", "b"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := hubtest.Dial(t, w.url, "acme", "laptop")
	o := w.call(t, "client_file_download", `{"dirName":"d","remotePath":"b","localPath":"x","onExisting":"error"}`)
	o.wantCode(t, common.ErrorCodeUnsupported)
	f.Quiet()
}

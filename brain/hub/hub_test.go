package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/transfer"
	"github.com/vancetope/transfer/internal/wire"
)

var acme = workspace.Project{Tenant: "acme", ProjectID: "proj"}

// tokens are those of the test world; the value of one of another role is empty.
var tokens = map[string]Identity{
	"laptop":  {TokenID: "1", Project: acme, Name: "laptop"},
	"desktop": {TokenID: "2", Project: acme, Name: "desktop"},
	"foreign": {TokenID: "3", Project: workspace.Project{Tenant: "umbrella", ProjectID: "proj"}, Name: "laptop"},
	"agent":   {},
}

func authenticate(r *http.Request, _ string) (Identity, error) {
	id, ok := tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	switch {
	case !ok:
		return Identity{}, fault.New(common.ErrorCodeUnauthorized)
	case id.Name == "":
		return Identity{}, fault.Newf(common.ErrorCodeAccessDenied, "not a token of a Foot")
	}
	return id, nil
}

type world struct {
	*Hub
	workspace *workspace.Manager
	root      string
	url       string
}

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	store, err := state.OpenSQLite(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{root: t.TempDir()}
	w.workspace, err = workspace.Open(t.Context(), workspace.Options{Root: w.root, Store: store, ModeMask: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Workspace:       w.workspace,
		Authenticate:    authenticate,
		ChunkSize:       64 << 10,
		MaxFrameSize:    4 << 20,
		MaxUploadSize:   8 << 20,
		MaxDownloadSize: 8 << 20,
		PhaseTimeout:    hubtest.Patience,
		PingInterval:    time.Minute,
		CleanupInterval: time.Minute,
	}
	for _, c := range change {
		c(&cfg)
	}
	w.Hub = New(cfg)
	mux := http.NewServeMux()
	mux.Handle("/brain/{tenant}/ws", w.Hub)
	server := httptest.NewServer(mux)
	w.url = server.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		w.Drain(ctx)
		server.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) dir(t *testing.T, name string) string {
	t.Helper()
	if _, err := w.workspace.Create(t.Context(), acme, workspace.CreateRequest{Type: workspace.TypeEphemeral, DirName: name}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(w.root, acme.Tenant, acme.ProjectID, name)
}

func (w *world) foot(t *testing.T, token string) *hubtest.Foot {
	t.Helper()
	return hubtest.Dial(t, w.url, "acme", token)
}

// outcome is what a call came to.
type outcome struct {
	transfer.Result
	err error
}

type call func(context.Context, workspace.Project, Request) (transfer.Result, error)

// start makes a call in the background.
func start(ctx context.Context, do call, r Request) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		result, err := do(ctx, acme, r)
		done <- outcome{result, err}
	}()
	return done
}

func await(t *testing.T, done <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(hubtest.Patience):
		t.Fatal("the call did not end")
		return outcome{}
	}
}

func (o outcome) wantCode(t *testing.T, code common.ErrorCode) {
	t.Helper()
	if fault.CodeOf(o.err) != code {
		t.Errorf("got %v (%s), want %s", o.err, fault.CodeOf(o.err), code)
	}
}

// listing is every path below dir, so that what is left behind shows.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	found := []string{}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			found = append(found, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantListing(t *testing.T, dir string, want ...string) {
	t.Helper()
	deadline := time.Now().Add(hubtest.Patience)
	for {
		got := listing(t, dir)
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("the folder has %q, want %q", got, want)
			return
		}
		time.Sleep(time.Millisecond) // polling: the disk tells nobody
	}
}

func content(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func upload(dir, path string) Request {
	return Request{LocalPath: "sounds/test.wav", DirName: dir, RemotePath: path}
}

func TestTheEndpointChecksPathThenTokenThenTenantThenSubprotocol(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name, tenant, token string
		protocols           []string
		status              int
		code                common.ErrorCode
	}{
		{"a tenant that cannot be one is an unknown path", "a%20b", "", nil, 404, common.ErrorCodeNotFound},
		{"no token", "acme", "", nil, 401, common.ErrorCodeUnauthorized},
		{"an unknown token", "acme", "guess", nil, 401, common.ErrorCodeUnauthorized},
		{"a token of another role", "acme", "agent", nil, 403, common.ErrorCodeAccessDenied},
		{"a token of another tenant", "acme", "foreign", nil, 403, common.ErrorCodeAccessDenied},
		{"no subprotocol", "acme", "laptop", nil, 400, common.ErrorCodeHandshakeFailed},
		{"another subprotocol", "acme", "laptop", []string{"vancetope.v9"}, 400, common.ErrorCodeHandshakeFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, answer, err := hubtest.Request(w.url, c.tenant, c.token, c.protocols...)
			if err == nil || answer == nil {
				t.Fatalf("got %v, want a refusal", err)
			}
			checkRefusal(t, answer, c.status, c.code)
		})
	}
}

func checkRefusal(t *testing.T, answer *http.Response, status int, code common.ErrorCode) {
	t.Helper()
	var body struct {
		Error     string           `json:"error"`
		ErrorCode common.ErrorCode `json:"errorCode"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != status || body.ErrorCode != code || body.Error == "" {
		t.Errorf("got %d %+v, want %d %s", answer.StatusCode, body, status, code)
	}
	if challenge := answer.Header.Get("WWW-Authenticate"); (challenge == "Bearer") != (status == 401) {
		t.Errorf("WWW-Authenticate is %q with status %d", challenge, status)
	}
}

func TestARequestThatIsNoWebSocketIsABadRequest(t *testing.T) {
	w := newWorld(t)
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/brain/acme/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer laptop")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	checkRefusal(t, answer, 400, common.ErrorCodeHandshakeFailed)
}

func TestWelcomeTellsTheFootWhoItIsAndBrainsLimits(t *testing.T) {
	w := newWorld(t)
	f := w.foot(t, "laptop")
	got := f.Welcome
	if got.Tenant != "acme" || got.ProjectID != "proj" || got.FootID != "laptop" || got.ProtocolVersion != 1 {
		t.Errorf("welcome %+v", got)
	}
	if got.ConnectionID == uuid.Nil || len(got.Features) != 0 {
		t.Errorf("connection %v, features %v", got.ConnectionID, got.Features)
	}
	want := frames.WelcomeSettings{
		ChunkSize: 64 << 10, MaxFrameSize: 4 << 20, MaxUploadSize: 8 << 20, MaxDownloadSize: 8 << 20,
		PhaseTimeoutMs: hubtest.Patience.Milliseconds(), PingIntervalMs: 60_000,
	}
	if got.Settings != want {
		t.Errorf("settings %+v, want %+v", got.Settings, want)
	}
}

func TestAFootThatClaimsAnotherNameIsRefused(t *testing.T) {
	w := newWorld(t)
	f := hubtest.DialSilent(t, w.url, "acme", "laptop")
	hello := hubtest.Hello()
	hello.FootID = "desktop"
	f.Send(hello)
	if e := hubtest.Next[*frames.ErrorFrame](f); e.Code != common.ErrorCodeIdentityMismatch {
		t.Errorf("error %+v", e)
	}
	if code, _ := f.Closed(); code != websocket.ClosePolicyViolation {
		t.Errorf("closed with %d", code)
	}
	if feet := w.Feet(acme); len(feet) != 0 {
		t.Errorf("connected: %+v", feet)
	}
}

func TestAFootMayClaimItsOwnName(t *testing.T) {
	w := newWorld(t)
	f := hubtest.DialSilent(t, w.url, "acme", "laptop")
	hello := hubtest.Hello()
	hello.FootID = "laptop"
	f.Send(hello)
	hubtest.Next[*frames.Welcome](f)
}

func TestASecondHelloIsUnexpected(t *testing.T) {
	w := newWorld(t)
	f := w.foot(t, "laptop")
	f.Send(hubtest.Hello())
	if e := hubtest.Next[*frames.ErrorFrame](f); e.Code != common.ErrorCodeUnexpectedFrame {
		t.Errorf("error %+v", e)
	}
}

func TestFeetAreListedWhileTheyAreConnected(t *testing.T) {
	w := newWorld(t)
	laptop, _ := w.foot(t, "laptop"), w.foot(t, "desktop")
	feet := w.Feet(acme)
	if len(feet) != 2 || feet[0].Name != "desktop" || feet[1].Name != "laptop" {
		t.Fatalf("feet %+v", feet)
	}
	if f := feet[1]; f.Os != common.OsLinux || f.ClientVersion != "test" || f.Features == nil || time.Since(f.Since) > time.Minute {
		t.Errorf("foot %+v", f)
	}
	if feet := w.Feet(workspace.Project{Tenant: "umbrella", ProjectID: "proj"}); len(feet) != 0 {
		t.Errorf("another tenant sees %+v", feet)
	}
	laptop.Cut()
	eventually(t, "one Foot left", func() bool { return len(w.Feet(acme)) == 1 })
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hubtest.Patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestTheNewcomerReplacesTheOlderConnection(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	older := w.foot(t, "laptop")
	call := start(t.Context(), w.Upload, upload("d", "a.txt"))
	request := hubtest.Next[*frames.ClientFileUploadRequest](older)
	older.Offer(request, content(10))
	hubtest.Next[*frames.TransferInitResponse](older)

	newer := w.foot(t, "laptop")
	if code, reason := older.Closed(); code != wire.ClosePolicy || reason != "replaced" {
		t.Errorf("closed with %d %q", code, reason)
	}
	await(t, call).wantCode(t, common.ErrorCodeConnectionLost)
	wantListing(t, dir)

	call = start(t.Context(), w.Upload, upload("d", "a.txt"))
	newer.Upload(content(10))
	if o := await(t, call); o.err != nil {
		t.Errorf("the newcomer's upload: %v", o.err)
	}
	if feet := w.Feet(acme); len(feet) != 1 {
		t.Errorf("feet %+v", feet)
	}
}

func TestAnUploadLandsInTheRootDir(t *testing.T) {
	for _, size := range []int{0, 1, 65535, 65536, 65537, 1 << 20} {
		w := newWorld(t)
		dir := w.dir(t, "d")
		f := w.foot(t, "laptop")
		body := content(size)
		call := start(t.Context(), w.Upload, upload("d", "in/grüße 文.bin"))
		done := f.Upload(body)
		o := await(t, call)
		if o.err != nil || o.BytesWritten != int64(size) || o.Hash != hubtest.Hash(body) || o.Path != "in/grüße 文.bin" {
			t.Errorf("%d bytes: %+v", size, o)
		}
		if done == nil || !done.Ok || done.BytesWritten != int64(size) || done.HashCheck == nil || *done.HashCheck != frames.HashCheckOk {
			t.Errorf("%d bytes: complete %+v", size, done)
		}
		got, err := os.ReadFile(filepath.Join(dir, "in", "grüße 文.bin"))
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes: the file has %d, %v", size, len(got), err)
		}
		wantListing(t, dir, "in", "in/grüße 文.bin")
	}
}

func TestTheUploadRequestCarriesTheCallersWords(t *testing.T) {
	w := newWorld(t)
	w.dir(t, "d")
	f := w.foot(t, "laptop")
	mode, mtime := "0640", time.Date(2026, 5, 1, 14, 23, 11, 0, time.UTC)
	r := upload("d", "x/../a.txt")
	r.Attrs = &common.FileAttrs{Mode: &mode, Mtime: &mtime}
	call := start(t.Context(), w.Upload, r)
	got := hubtest.Next[*frames.ClientFileUploadRequest](f)
	if got.LocalPath != "sounds/test.wav" || got.DirName != "d" || got.RemotePath != "x/../a.txt" {
		t.Errorf("request %+v", got)
	}
	if got.Attrs == nil || *got.Attrs.Mode != mode || !got.Attrs.Mtime.Equal(mtime) {
		t.Errorf("attrs %+v", got.Attrs)
	}
	if got.TransferID.Version() != 7 {
		t.Errorf("id %v is no version 7", got.TransferID)
	}
	f.Send(&frames.TransferFinish{TransferID: got.TransferID, Error: text("gone"), ErrorCode: code(common.ErrorCodeNotFound)})
	if o := await(t, call); o.ID != got.TransferID {
		t.Errorf("the call's id is %v, the frame's %v", o.ID, got.TransferID)
	}
}

func text(s string) *string                     { return &s }
func code(c common.ErrorCode) *common.ErrorCode { return &c }

func TestTheCallersAttributesWinFieldByField(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.foot(t, "laptop")
	mode := "0600"
	r := upload("d", "a.txt")
	r.Attrs = &common.FileAttrs{Mode: &mode}
	call := start(t.Context(), w.Upload, r)
	request := hubtest.Next[*frames.ClientFileUploadRequest](f)
	hash, footMode, mtime := hubtest.Hash(nil), "0777", time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Send(&frames.TransferInit{TransferID: request.TransferID, Target: "a.txt", DirName: &request.DirName,
		Hash: &hash, Attrs: &common.FileAttrs{Mode: &footMode, Mtime: &mtime}})
	hubtest.Next[*frames.TransferInitResponse](f)
	f.Stream(request.TransferID, nil, 1)
	hubtest.Next[*frames.TransferComplete](f)
	if o := await(t, call); o.err != nil {
		t.Fatal(o.err)
	}
	info, err := os.Stat(filepath.Join(dir, "a.txt"))
	if err != nil || info.Mode().Perm() != 0o600 || !info.ModTime().Equal(mtime) {
		t.Errorf("mode %v, mtime %v, %v", info.Mode(), info.ModTime(), err)
	}
}

func TestWhatBrainCanRefuseIsRefusedBeforeAnyFrame(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.foot(t, "laptop")
	if err := os.WriteFile(filepath.Join(dir, "there.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("there.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	badMode := "0o9"
	for _, c := range []struct {
		name string
		do   call
		r    Request
		code common.ErrorCode
	}{
		{"unknown dirName", w.Upload, upload("nothing", "a"), common.ErrorCodeDirNotFound},
		{"unknown dirName, download", w.Download, upload("nothing", "a"), common.ErrorCodeDirNotFound},
		{"a dirName that leaves", w.Upload, upload("../d", "a"), common.ErrorCodeDirNotFound},
		{"a path that leaves", w.Upload, upload("d", "../a"), common.ErrorCodePathEscapesSandbox},
		{"an absolute path", w.Upload, upload("d", "/etc/passwd"), common.ErrorCodePathEscapesSandbox},
		{"an absolute path, download", w.Download, upload("d", "/etc/passwd"), common.ErrorCodePathEscapesSandbox},
		{"an empty path", w.Upload, upload("d", ""), common.ErrorCodeInvalidPath},
		{"a folder's path", w.Upload, upload("d", "a/"), common.ErrorCodeInvalidPath},
		{"a name of ours", w.Upload, upload("d", ".vance-part-x"), common.ErrorCodeInvalidPath},
		{"a missing file", w.Download, upload("d", "missing"), common.ErrorCodeNotFound},
		{"a link", w.Download, upload("d", "link"), common.ErrorCodeSymlinkNotAllowed},
		{"an unknown Foot", w.Upload, Request{Foot: "phone", DirName: "d", RemotePath: "a", LocalPath: "a"}, common.ErrorCodeNoFoot},
		{"a bad mode", w.Upload, Request{DirName: "d", RemotePath: "a", LocalPath: "a", Attrs: &common.FileAttrs{Mode: &badMode}}, common.ErrorCodeInvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := await(t, start(t.Context(), c.do, c.r))
			o.wantCode(t, c.code)
			if o.ID != uuid.Nil {
				t.Error("an id was minted")
			}
		})
	}
	f.Quiet()
	if told := w.Transfers(acme); len(told) != 0 {
		t.Errorf("told %+v", told)
	}
	wantListing(t, dir, "link", "there.txt")
}

func TestWithoutAFootThereIsNone(t *testing.T) {
	w := newWorld(t)
	w.dir(t, "d")
	await(t, start(t.Context(), w.Upload, upload("d", "a"))).wantCode(t, common.ErrorCodeNoFoot)
}

func TestSeveralFeetMustBeNamed(t *testing.T) {
	w := newWorld(t)
	w.dir(t, "d")
	w.foot(t, "laptop")
	desktop := w.foot(t, "desktop")
	o := await(t, start(t.Context(), w.Upload, upload("d", "a")))
	o.wantCode(t, common.ErrorCodeFootAmbiguous)
	if o.err == nil || !strings.Contains(o.err.Error(), "desktop, laptop") {
		t.Errorf("the names are not in %q", o.err)
	}
	r := upload("d", "a")
	r.Foot = "desktop"
	call := start(t.Context(), w.Upload, r)
	desktop.Upload(content(3))
	if o := await(t, call); o.err != nil {
		t.Error(o.err)
	}
}

func TestATargetInUseIsBusyUntilItsTransferEnds(t *testing.T) {
	w := newWorld(t)
	w.dir(t, "d")
	f := w.foot(t, "laptop")
	first := start(t.Context(), w.Upload, upload("d", "a.txt"))
	request := hubtest.Next[*frames.ClientFileUploadRequest](f)
	o := await(t, start(t.Context(), w.Upload, upload("d", "./x/../a.txt")))
	o.wantCode(t, common.ErrorCodeTargetBusy)
	f.Quiet()
	f.Send(&frames.TransferFinish{TransferID: request.TransferID, Error: text("no"), ErrorCode: code(common.ErrorCodeNotFound)})
	await(t, first).wantCode(t, common.ErrorCodeNotFound)

	// The place is free as soon as the call is answered.
	for range 20 {
		call := start(t.Context(), w.Upload, upload("d", "a.txt"))
		f.Upload(content(10))
		if o := await(t, call); o.err != nil {
			t.Fatal(o.err)
		}
	}
}

func TestAnInitForAnotherPlaceIsRefused(t *testing.T) {
	w := newWorld(t)
	dir, other := w.dir(t, "d"), w.dir(t, "other")
	f := w.foot(t, "laptop")
	for _, change := range []func(*frames.TransferInit){
		func(i *frames.TransferInit) { i.Target = "b.txt" },
		func(i *frames.TransferInit) { i.DirName = text("other") },
		func(i *frames.TransferInit) { i.DirName = nil },
	} {
		call := start(t.Context(), w.Upload, upload("d", "a.txt"))
		request := hubtest.Next[*frames.ClientFileUploadRequest](f)
		hash := hubtest.Hash(nil)
		init := &frames.TransferInit{TransferID: request.TransferID, Target: "a.txt", DirName: text("d"), Hash: &hash}
		change(init)
		f.Send(init)
		if answer := hubtest.Next[*frames.TransferInitResponse](f); answer.Ok {
			t.Errorf("accepted %+v", init)
		}
		if o := await(t, call); o.err == nil {
			t.Error("the call succeeded")
		}
	}
	wantListing(t, dir)
	wantListing(t, other)
}

func TestAnInitNobodyAskedForIsUnknown(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.foot(t, "laptop")
	hash := hubtest.Hash(nil)
	f.Send(&frames.TransferInit{TransferID: uuid.New(), Target: "a.txt", DirName: text("d"), Hash: &hash})
	answer := hubtest.Next[*frames.TransferInitResponse](f)
	if answer.Ok || answer.ErrorCode == nil || *answer.ErrorCode != common.ErrorCodeUnknownTransfer {
		t.Errorf("answer %+v", answer)
	}
	wantListing(t, dir)
}

func TestAnotherFootCannotTouchATransfer(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	laptop, desktop := w.foot(t, "laptop"), w.foot(t, "desktop")
	r := upload("d", "a.txt")
	r.Foot = "laptop"
	call := start(t.Context(), w.Upload, r)
	request := hubtest.Next[*frames.ClientFileUploadRequest](laptop)
	body := content(100)
	laptop.Offer(request, body)
	hubtest.Next[*frames.TransferInitResponse](laptop)

	desktop.Send(&frames.TransferChunk{TransferID: request.TransferID, Bytes: content(5), Last: true})
	desktop.Send(&frames.TransferFinish{TransferID: request.TransferID, Error: text("no")})
	for range 2 {
		e := hubtest.Next[*frames.ErrorFrame](desktop)
		if e.Code != common.ErrorCodeUnknownTransfer || e.TransferID == nil || *e.TransferID != request.TransferID {
			t.Errorf("error %+v", e)
		}
	}
	laptop.Stream(request.TransferID, body, 64)
	if o := await(t, call); o.err != nil {
		t.Error(o.err)
	}
	wantListing(t, dir, "a.txt")
}

func TestAFailedUploadLeavesTheOldFileWhole(t *testing.T) {
	for _, c := range []struct {
		name string
		code common.ErrorCode
		play func(f *hubtest.Foot, r *frames.ClientFileUploadRequest)
	}{
		{"local failure", common.ErrorCodeNotFound, func(f *hubtest.Foot, r *frames.ClientFileUploadRequest) {
			f.Send(&frames.TransferFinish{TransferID: r.TransferID, Error: text("file not found"), ErrorCode: code(common.ErrorCodeNotFound)})
		}},
		{"too large", common.ErrorCodeSizeLimit, func(f *hubtest.Foot, r *frames.ClientFileUploadRequest) {
			hash := hubtest.Hash(nil)
			f.Send(&frames.TransferInit{TransferID: r.TransferID, Target: r.RemotePath, DirName: &r.DirName, TotalSize: 8<<20 + 1, Hash: &hash})
		}},
		{"hash mismatch", common.ErrorCodeHashMismatch, func(f *hubtest.Foot, r *frames.ClientFileUploadRequest) {
			f.Offer(r, []byte("what was promised"))
			hubtest.Next[*frames.TransferInitResponse](f)
			f.Stream(r.TransferID, []byte("what is delivered"), 5)
		}},
		{"size mismatch", common.ErrorCodeSizeMismatch, func(f *hubtest.Foot, r *frames.ClientFileUploadRequest) {
			f.Offer(r, []byte("much more"))
			hubtest.Next[*frames.TransferInitResponse](f)
			f.Stream(r.TransferID, []byte("less"), 5)
		}},
		{"out of order", common.ErrorCodeOutOfOrder, func(f *hubtest.Foot, r *frames.ClientFileUploadRequest) {
			f.Offer(r, []byte("content"))
			hubtest.Next[*frames.TransferInitResponse](f)
			f.Send(&frames.TransferChunk{TransferID: r.TransferID, Seq: 1, Bytes: []byte("con")})
		}},
		{"sender gives up", common.ErrorCodeSourceChanged, func(f *hubtest.Foot, r *frames.ClientFileUploadRequest) {
			f.Offer(r, []byte("content"))
			hubtest.Next[*frames.TransferInitResponse](f)
			f.Send(&frames.TransferChunk{TransferID: r.TransferID, Bytes: []byte("con")})
			f.Send(&frames.TransferFinish{TransferID: r.TransferID, Error: text("source changed during transfer"), ErrorCode: code(common.ErrorCodeSourceChanged)})
		}},
		{"cut mid-stream", common.ErrorCodeConnectionLost, func(f *hubtest.Foot, r *frames.ClientFileUploadRequest) {
			f.Offer(r, []byte("content"))
			hubtest.Next[*frames.TransferInitResponse](f)
			f.Send(&frames.TransferChunk{TransferID: r.TransferID, Bytes: []byte("con")})
			f.Cut()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			dir := w.dir(t, "d")
			old := filepath.Join(dir, "a.txt")
			if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			f := w.foot(t, "laptop")
			call := start(t.Context(), w.Upload, upload("d", "a.txt"))
			c.play(f, hubtest.Next[*frames.ClientFileUploadRequest](f))
			o := await(t, call)
			o.wantCode(t, c.code)
			if o.ID == uuid.Nil {
				t.Error("the failure has no id")
			}
			wantListing(t, dir, "a.txt")
			if got, err := os.ReadFile(old); err != nil || string(got) != "old" {
				t.Errorf("the old file: %q, %v", got, err)
			}
			told := w.Transfers(acme)
			if len(told) != 1 || told[0].State != common.TransferStateFailed || told[0].ErrorCode == nil || *told[0].ErrorCode != c.code {
				t.Errorf("told %+v", told)
			}
		})
	}
}

func TestASilentFootIsAnInitTimeout(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.PhaseTimeout = 50 * time.Millisecond })
	w.dir(t, "d")
	f := w.foot(t, "laptop")
	o := await(t, start(t.Context(), w.Upload, upload("d", "a.txt")))
	o.wantCode(t, common.ErrorCodeInitTimeout)
	hubtest.Next[*frames.ClientFileUploadRequest](f)
}

func TestADownloadReachesTheFoot(t *testing.T) {
	for _, size := range []int{0, 1, 65535, 65536, 65537, 1 << 20} {
		w := newWorld(t)
		dir := w.dir(t, "d")
		body := content(size)
		file := filepath.Join(dir, "out.bin")
		if err := os.WriteFile(file, body, 0o640); err != nil {
			t.Fatal(err)
		}
		mtime := time.Date(2021, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
		if err := os.Chtimes(file, mtime, mtime); err != nil {
			t.Fatal(err)
		}
		f := w.foot(t, "laptop")
		call := start(t.Context(), w.Download, Request{DirName: "d", RemotePath: "./out.bin", LocalPath: "reports/q2.bin"})
		init, got := f.Download()
		o := await(t, call)
		if o.err != nil || o.BytesWritten != int64(size) || o.Hash != hubtest.Hash(body) || o.Path != "reports/q2.bin" {
			t.Errorf("%d bytes: %+v", size, o)
		}
		if !bytes.Equal(got, body) {
			t.Errorf("%d bytes: got %d others", size, len(got))
		}
		if init.Target != "reports/q2.bin" || init.DirName != nil || init.TotalSize != int64(size) || *init.Hash != hubtest.Hash(body) {
			t.Errorf("init %+v", init)
		}
		if init.TransferID.Version() != 7 {
			t.Errorf("id %v is no version 7", init.TransferID)
		}
		if init.Source == nil || *init.Source != "out.bin" {
			t.Errorf("source %v", init.Source)
		}
		if init.Attrs == nil || *init.Attrs.Mode != "0640" || !init.Attrs.Mtime.Equal(mtime) {
			t.Errorf("attrs %+v", init.Attrs)
		}
	}
}

func TestATooLargeDownloadIsRefusedBeforeAnyFrame(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxDownloadSize = 3 })
	dir := w.dir(t, "d")
	for name, body := range map[string]string{"fits": "abc", "big": "abcd"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := w.foot(t, "laptop")
	o := await(t, start(t.Context(), w.Download, Request{DirName: "d", RemotePath: "big", LocalPath: "x"}))
	o.wantCode(t, common.ErrorCodeSizeLimit)
	f.Quiet()
	call := start(t.Context(), w.Download, Request{DirName: "d", RemotePath: "fits", LocalPath: "x"})
	f.Download()
	if o := await(t, call); o.err != nil {
		t.Error(o.err)
	}
}

func TestTheFootsRefusalIsTheCallsFailure(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := w.foot(t, "laptop")
	call := start(t.Context(), w.Download, Request{DirName: "d", RemotePath: "a", LocalPath: "../../.bashrc"})
	init := hubtest.Next[*frames.TransferInit](f)
	f.Send(&frames.TransferInitResponse{TransferID: init.TransferID, Error: text("path escapes project sandbox"), ErrorCode: code(common.ErrorCodePathEscapesSandbox)})
	if finish := hubtest.Next[*frames.TransferFinish](f); finish.Ok {
		t.Errorf("finish %+v", finish)
	}
	await(t, call).wantCode(t, common.ErrorCodePathEscapesSandbox)
}

func TestTheEndOfTheCallEndsTheTransfer(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.foot(t, "laptop")
	ctx, cancel := context.WithCancel(t.Context())
	call := start(ctx, w.Upload, upload("d", "a.txt"))
	request := hubtest.Next[*frames.ClientFileUploadRequest](f)
	f.Offer(request, content(100))
	hubtest.Next[*frames.TransferInitResponse](f)
	cancel()
	await(t, call).wantCode(t, common.ErrorCodeCancelled)
	done := hubtest.Next[*frames.TransferComplete](f)
	if done.Ok || done.ErrorCode == nil || *done.ErrorCode != common.ErrorCodeCancelled {
		t.Errorf("complete %+v", done)
	}
	wantListing(t, dir)
	if told := w.Transfers(acme); len(told) != 1 || told[0].State != common.TransferStateCancelled {
		t.Errorf("told %+v", told)
	}
}

func TestClosingARootDirAbortsTheTransfersInside(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.foot(t, "laptop")
	call := start(t.Context(), w.Upload, upload("d", "a.txt"))
	request := hubtest.Next[*frames.ClientFileUploadRequest](f)
	f.Offer(request, content(100))
	hubtest.Next[*frames.TransferInitResponse](f)
	if err := w.workspace.CloseDir(t.Context(), acme, "d"); err != nil {
		t.Fatal(err)
	}
	await(t, call).wantCode(t, common.ErrorCodeCancelled)
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	await(t, start(t.Context(), w.Upload, upload("d", "a.txt"))).wantCode(t, common.ErrorCodeDirNotFound)
}

func TestRunningTransfersAreTold(t *testing.T) {
	w := newWorld(t)
	w.dir(t, "d")
	f := w.foot(t, "laptop")
	call := start(t.Context(), w.Upload, upload("d", "x/a.txt"))
	request := hubtest.Next[*frames.ClientFileUploadRequest](f)
	told := w.Transfers(acme)
	if len(told) != 1 {
		t.Fatalf("told %+v", told)
	}
	got := told[0]
	if got.TransferID != request.TransferID || got.Direction != "upload" || got.Foot != "laptop" || got.Path != "x/a.txt" || got.Error != nil {
		t.Errorf("told %+v", got)
	}
	if other := w.Transfers(workspace.Project{Tenant: "umbrella", ProjectID: "proj"}); len(other) != 0 {
		t.Errorf("another tenant sees %+v", other)
	}
	f.Offer(request, content(100))
	hubtest.Next[*frames.TransferInitResponse](f)
	if got := w.Transfers(acme)[0]; got.State != "streaming" || got.TotalBytes != 100 {
		t.Errorf("told %+v", got)
	}
	f.Stream(request.TransferID, content(100), 100)
	await(t, call)
	if got := w.Transfers(acme)[0]; got.State != common.TransferStateComplete || got.Bytes != 100 || got.TotalBytes != 100 {
		t.Errorf("told %+v", got)
	}
}

func TestDrainingLetsRunningTransfersEnd(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.foot(t, "laptop")
	call := start(t.Context(), w.Upload, upload("d", "a.txt"))
	request := hubtest.Next[*frames.ClientFileUploadRequest](f)
	drained := make(chan struct{})
	go func() {
		w.Drain(context.Background())
		close(drained)
	}()
	eventually(t, "draining", w.isDraining)
	await(t, start(t.Context(), w.Upload, upload("d", "b.txt"))).wantCode(t, common.ErrorCodeDraining)
	_, answer, err := hubtest.Request(w.url, "acme", "desktop", wire.Subprotocol)
	if err == nil || answer == nil {
		t.Fatalf("a new socket: %v", err)
	}
	checkRefusal(t, answer, 503, common.ErrorCodeDraining)

	f.Offer(request, content(10))
	hubtest.Next[*frames.TransferInitResponse](f)
	f.Stream(request.TransferID, content(10), 10)
	hubtest.Next[*frames.TransferComplete](f)
	if o := await(t, call); o.err != nil {
		t.Error(o.err)
	}
	<-drained
	if code, _ := f.Closed(); code != wire.CloseRestart {
		t.Errorf("closed with %d", code)
	}
	wantListing(t, dir, "a.txt")
}

func TestDrainingCancelsWhatDoesNotEnd(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.foot(t, "laptop")
	call := start(t.Context(), w.Upload, upload("d", "a.txt"))
	request := hubtest.Next[*frames.ClientFileUploadRequest](f)
	f.Offer(request, content(10))
	hubtest.Next[*frames.TransferInitResponse](f)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Drain(ctx)
	await(t, call).wantCode(t, common.ErrorCodeCancelled)
	wantListing(t, dir)
}

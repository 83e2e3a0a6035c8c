package agent

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/foot/internal/fakebrain"
	"github.com/vancetope/transfer/foot/sandbox"
	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/settings"
	"github.com/vancetope/transfer/internal/transfer"
	"github.com/vancetope/transfer/internal/wire"
)

// recorder is a UI that keeps what it is told.
type recorder struct {
	mu      sync.Mutex
	changed chan struct{} // closed and renewed with each event
	events  []string
	last    map[uuid.UUID]ui.Transfer
	// features are those of the last connection.
	features []string
}

func newRecorder() *recorder {
	return &recorder{changed: make(chan struct{}), last: make(map[uuid.UUID]ui.Transfer)}
}

func (r *recorder) note(event string) {
	r.events = append(r.events, event)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) locked(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(event)
}

func (r *recorder) Connecting(string) { r.locked("connecting") }
func (r *recorder) Connected(c ui.Connected) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.features = c.Features
	r.note("connected " + c.Tenant + "/" + c.ProjectID + " " + c.FootID)
}
func (r *recorder) Disconnected(reason string)             { r.locked("disconnected") }
func (r *recorder) Reconnecting(_ time.Duration, _ string) { r.locked("reconnecting") }
func (r *recorder) Refused(reason, remedy string)          { r.locked("refused " + remedy) }
func (r *recorder) Stopping(running int)                   { r.locked("stopping") }
func (r *recorder) Approval(a ui.Approval) {
	r.locked("approval " + string(a.Direction) + " " + a.Path)
}
func (r *recorder) Close() error { return nil }

func (r *recorder) Transfer(t ui.Transfer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[t.ID] = t
	r.note(string(t.Direction) + " " + t.Path + " " + string(t.State))
}

// await waits until an event was seen.
func (r *recorder) await(t *testing.T, want string) {
	t.Helper()
	deadline := time.After(fakebrain.Patience)
	for {
		r.mu.Lock()
		seen, changed := append([]string(nil), r.events...), r.changed
		r.mu.Unlock()
		for _, e := range seen {
			if e == want {
				return
			}
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("no event %q in %q", want, seen)
		}
	}
}

func (r *recorder) count(event string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.events {
		if e == event {
			n++
		}
	}
	return n
}

// foot is an agent under test.
type foot struct {
	*recorder
	agent   *Agent
	folder  string // of the project acme/proj
	stop    context.CancelFunc
	outcome chan error
}

// start runs an agent against a Brain; change may alter its configuration.
func start(t *testing.T, b *fakebrain.Brain, change ...func(*Config)) *foot {
	t.Helper()
	home := t.TempDir()
	values, err := settings.Load(settings.Options{Program: settings.ForFoot, Flags: map[string]string{
		"vance.foot.workspace.root": filepath.Join(home, "root"),
	}, File: emptyFile(t)})
	if err != nil {
		t.Fatal(err)
	}
	values.Foot.ReconnectMin, values.Foot.ReconnectMax = time.Millisecond, 50*time.Millisecond
	state, err := OpenState(filepath.Join(home, "state"))
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.Open(values.Foot.WorkspaceRoot, sandbox.Options{Mask: values.Transfer.FootModeMask})
	if err != nil {
		t.Fatal(err)
	}
	f := &foot{recorder: newRecorder(), outcome: make(chan error, 1), folder: filepath.Join(home, "root", "acme", "proj")}
	cfg := Config{
		Brain: b.URL, Tenant: "acme", Token: "secret-token", Settings: values,
		Sandbox: box, State: state, UI: f.recorder, Log: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&cfg)
	}
	f.agent = New(cfg)
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.outcome <- f.agent.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		if err := errors.Join(box.Close(), state.Close()); err != nil {
			t.Error(err)
		}
	})
	return f
}

func emptyFile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "foot.yaml")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// end waits for the agent's own end.
func (f *foot) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-f.outcome:
		return err
	case <-time.After(fakebrain.Patience):
		t.Fatal("the agent does not end")
		return nil
	}
}

// put writes a file into the project's folder.
func (f *foot) put(t *testing.T, path, content string) {
	t.Helper()
	name := filepath.Join(f.folder, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

// listing names all that lies in the project's folder.
func (f *foot) listing(t *testing.T) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(f.folder, func(path string, _ os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		names = append(names, strings.TrimPrefix(path, f.folder))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

func (f *foot) content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(f.folder, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// download sends a file to the Foot to its good end.
func download(t *testing.T, peer *fakebrain.Foot, target, content string) {
	t.Helper()
	id := newID()
	peer.Offer(id, target, content)
	if r := fakebrain.Expect[*frames.TransferInitResponse](peer); !r.Ok {
		t.Fatalf("the Foot refuses %s: %s", target, *r.Error)
	}
	peer.Stream(id, content, 1000)
	c := fakebrain.Expect[*frames.TransferComplete](peer)
	if !c.Ok || c.BytesWritten != int64(len(content)) || c.TransferID != id {
		t.Fatalf("the Foot ends %s with %+v", target, c)
	}
	peer.Send(&frames.TransferFinish{TransferID: id, Ok: true})
}

func TestTheFootTellsWhatItIsAndNothingOfItsDisk(t *testing.T) {
	b := fakebrain.New(t)
	f := start(t, b)
	peer := b.Await(t)
	if got := peer.Request.Header.Get("Authorization"); got != "Bearer secret-token" {
		t.Errorf("Authorization %q", got)
	}
	if got := peer.Request.URL.Path; got != "/brain/acme/ws" {
		t.Errorf("path %q", got)
	}
	h := peer.Hello
	if h.ProtocolVersion != 1 || h.FootID != "" || h.ClientVersion == "" || h.Access != common.AccessEdit ||
		h.Grants == nil || len(h.Grants) != 0 || !slices.Equal(h.Features, transfer.Features.Names()) {
		t.Errorf("hello %+v", h)
	}
	f.await(t, "connected acme/proj laptop")
	if got := f.listing(t); got != "" {
		t.Errorf("the project's folder was made by connecting: %s", got)
	}
}

func TestAFileFromTheBrainLandsInTheSandbox(t *testing.T) {
	b := fakebrain.New(t)
	f := start(t, b)
	peer := b.Await(t)
	content := strings.Repeat("0123456789", 1234)
	download(t, peer, "reports/ü/q2.txt", content)
	if got := f.content(t, "reports/ü/q2.txt"); got != content {
		t.Errorf("%d bytes landed, want %d", len(got), len(content))
	}
	f.await(t, "download reports/ü/q2.txt complete")
	download(t, peer, "empty", "")
	if got := f.listing(t); got != " /empty /reports /reports/ü /reports/ü/q2.txt" {
		t.Errorf("in the folder: %s", got)
	}
}

func TestAFileForTheBrainIsOfferedAsAskedAndWithoutTheMachinesPaths(t *testing.T) {
	b := fakebrain.New(t)
	f := start(t, b)
	peer := b.Await(t)
	content := strings.Repeat("abc", 50_000)
	f.put(t, "music/a.wav", content)
	mode := "0600"
	for _, local := range []string{"music/a.wav", filepath.Join(f.folder, "music", "a.wav")} {
		id := newID()
		peer.Send(&frames.ClientFileUploadRequest{TransferID: id, LocalPath: local, DirName: "drop", RemotePath: "in/b.wav",
			Attrs: &common.FileAttrs{Mode: &mode}})
		init, got, _ := peer.Receive()
		if got != content {
			t.Errorf("%d bytes came, want %d", len(got), len(content))
		}
		if init.TransferID != id || init.Target != "in/b.wav" || init.DirName == nil || *init.DirName != "drop" ||
			init.TotalSize != int64(len(content)) || init.Hash == nil || *init.Hash != fakebrain.Hash(content) {
			t.Errorf("offer %+v", init)
		}
		if init.Source == nil || filepath.IsAbs(*init.Source) || strings.Contains(*init.Source, f.folder) {
			t.Errorf("the offer's source is %v", init.Source)
		}
		if init.Attrs == nil || init.Attrs.Mode == nil || *init.Attrs.Mode != mode || init.Attrs.Mtime == nil {
			t.Errorf("the tool's mode and the file's time are not both there: %+v", init.Attrs)
		}
	}
	f.await(t, "upload music/a.wav complete")
}

func TestALocalFailureOfAnUploadIsAnsweredByAFinishAlone(t *testing.T) {
	b := fakebrain.New(t)
	f := start(t, b, func(c *Config) { c.Settings.Transfer.MaxUploadSize = 100 })
	peer := b.Await(t)
	f.put(t, "large", strings.Repeat("x", 101))
	f.put(t, "folder/a", "x")
	if err := os.Symlink("large", filepath.Join(f.folder, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]common.ErrorCode{
		"missing":       common.ErrorCodeNotFound,
		"../outside":    common.ErrorCodePathEscapesSandbox,
		"/etc/passwd":   common.ErrorCodePathEscapesSandbox,
		"folder":        common.ErrorCodeNotRegularFile,
		"link":          common.ErrorCodeSymlinkNotAllowed,
		"large":         common.ErrorCodeSizeLimit,
		"folder/a/deep": common.ErrorCodeNotFound,
	} {
		id := newID()
		peer.Send(&frames.ClientFileUploadRequest{TransferID: id, LocalPath: path, DirName: "drop", RemotePath: "x"})
		finish := fakebrain.Expect[*frames.TransferFinish](peer)
		if finish.TransferID != id || finish.Ok || finish.Error == nil || *finish.Error == "" ||
			finish.ErrorCode == nil || *finish.ErrorCode != want {
			t.Errorf("%s: %+v, want %s", path, finish, want)
		}
	}
	f.put(t, "small", strings.Repeat("x", 100))
	peer.Send(&frames.ClientFileUploadRequest{TransferID: newID(), LocalPath: "small", DirName: "drop", RemotePath: "x"})
	peer.Receive()
}

func TestAnOfferThatTheSandboxRefusesIsAnsweredAndLeavesNothing(t *testing.T) {
	b := fakebrain.New(t)
	f := start(t, b, func(c *Config) { c.Settings.Transfer.MaxDownloadSize = 10 })
	peer := b.Await(t)
	for _, row := range []struct {
		target, content string
		want            common.ErrorCode
	}{
		{"../x", "", common.ErrorCodePathEscapesSandbox},
		{"/etc/x", "", common.ErrorCodePathEscapesSandbox},
		{"a/", "", common.ErrorCodeInvalidPath},
		{".git/config", "", common.ErrorCodePathProtected},
		{".vance-part-x", "", common.ErrorCodeInvalidPath},
		{"large", "12345678901", common.ErrorCodeSizeLimit},
	} {
		id := newID()
		peer.Offer(id, row.target, row.content)
		r := fakebrain.Expect[*frames.TransferInitResponse](peer)
		if r.TransferID != id || r.Ok || r.ErrorCode == nil || *r.ErrorCode != row.want {
			t.Errorf("%s: %+v, want %s", row.target, r, row.want)
		}
		peer.Send(&frames.TransferFinish{TransferID: id, Ok: false})
	}
	if got := f.listing(t); got != "" && got != " " {
		t.Errorf("left behind: %q", got)
	}
	download(t, peer, "fits", "1234567890")
}

func TestChunksObeyTheStricterSide(t *testing.T) {
	for _, row := range []struct {
		name                    string
		own, brain, frame, want int64
	}{
		{"the Brain's", 64 << 10, 1000, 4 << 20, 1000},
		{"our own", 500, 64 << 10, 4 << 20, 500},
		{"what the Brain's frames hold", 1 << 20, 1 << 20, 64 << 10, ((64<<10 - 1<<10) / 4) * 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := fakebrain.New(t)
			b.Welcome(func(w *frames.Welcome) {
				w.Settings.ChunkSize, w.Settings.MaxFrameSize = row.brain, row.frame
			})
			f := start(t, b, func(c *Config) { c.Settings.Transfer.ChunkSize = row.own })
			peer := b.Await(t)
			f.put(t, "a", strings.Repeat("x", int(row.want)*2+1))
			peer.Send(&frames.ClientFileUploadRequest{TransferID: newID(), LocalPath: "a", DirName: "d", RemotePath: "a"})
			if _, _, largest := peer.Receive(); largest != int(row.want) {
				t.Errorf("chunks of %d bytes, want %d", largest, row.want)
			}
		})
	}
}

func TestAFootThatCannotReadTheBrainsChunksSaysSoAndEnds(t *testing.T) {
	b := fakebrain.New(t)
	b.Welcome(func(w *frames.Welcome) { w.Settings.ChunkSize = 1 << 20 })
	f := start(t, b, func(c *Config) { c.Settings.Transfer.MaxFrameSize = 64 << 10 })
	err := f.end(t)
	if !errors.Is(err, ErrConfiguration) || !strings.Contains(err.Error(), "chunks of 1MiB") || !strings.Contains(err.Error(), "max-frame-size here") {
		t.Errorf("%v", err)
	}
}

func TestTheStricterTimeoutAndTheSmallerUploadLimitCount(t *testing.T) {
	own := settings.Transfer{ChunkSize: 100, MaxFrameSize: 4 << 20, PhaseTimeout: 10 * time.Second, MaxUploadSize: 5, MaxDownloadSize: 7}
	brain := frames.WelcomeSettings{ChunkSize: 200, MaxFrameSize: 1 << 20, PhaseTimeoutMs: 3000, MaxUploadSize: 9, MaxDownloadSize: 1}
	got, err := agree(own, brain)
	if err != nil || got.phaseTimeout != 3*time.Second || got.maxUpload != 5 || got.maxDownload != 7 || got.chunkSize != 100 {
		t.Errorf("%+v, %v", got, err)
	}
	brain.PhaseTimeoutMs, brain.MaxUploadSize = 60_000, 2
	if got, err = agree(own, brain); err != nil || got.phaseTimeout != 10*time.Second || got.maxUpload != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	brain.MaxFrameSize = frameSlack + 3
	if _, err = agree(own, brain); err == nil {
		t.Error("a frame without room for a byte is accepted")
	}
}

func TestALostConnectionIsMadeAgainAndNothingIsLeftBehind(t *testing.T) {
	for name, lose := range map[string]func(*fakebrain.Foot){
		"cut":     (*fakebrain.Foot).Cut,
		"restart": func(p *fakebrain.Foot) { p.Close(wire.CloseRestart, "restarting") },
	} {
		t.Run(name, func(t *testing.T) {
			b := fakebrain.New(t)
			f := start(t, b)
			peer := b.Await(t)
			f.put(t, "old", "whole")
			id := newID()
			peer.Offer(id, "old", "never complete")
			fakebrain.Expect[*frames.TransferInitResponse](peer)
			peer.Send(&frames.TransferChunk{TransferID: id, Seq: 0, Bytes: []byte("never")})
			lose(peer)

			peer = b.Await(t)
			f.await(t, "download old failed")
			f.await(t, "disconnected")
			if got := f.listing(t); got != " /old" {
				t.Errorf("in the folder: %s", got)
			}
			if got := f.content(t, "old"); got != "whole" {
				t.Errorf("the old file is %q", got)
			}
			download(t, peer, "old", "new")
		})
	}
}

func TestAnEndThatTryingAgainCannotMendEndsTheFoot(t *testing.T) {
	for _, row := range []struct {
		name    string
		prepare func(*fakebrain.Brain)
		script  func(*fakebrain.Foot)
		refused string // the remedy's key word
		is      error
	}{
		{name: "401", prepare: func(b *fakebrain.Brain) {
			b.Refuse(http.StatusUnauthorized, common.ErrorCodeUnauthorized, "missing, unknown, revoked or expired token")
		}, refused: "token create"},
		{name: "403", prepare: func(b *fakebrain.Brain) {
			b.Refuse(http.StatusForbidden, common.ErrorCodeAccessDenied, "access denied")
		}, refused: "role foot"},
		{name: "identity mismatch", prepare: func(b *fakebrain.Brain) {
			b.First(&frames.ErrorFrame{Code: common.ErrorCodeIdentityMismatch, Message: "identity mismatch"})
		}, refused: "token"},
		{name: "unsupported version", prepare: func(b *fakebrain.Brain) {
			b.First(&frames.ErrorFrame{Code: common.ErrorCodeUnsupportedVersion, Message: "unsupported protocol version"})
		}, refused: "update"},
		{name: "another tenant", prepare: func(b *fakebrain.Brain) {
			b.Welcome(func(w *frames.Welcome) { w.Tenant = "umbrella" })
		}, refused: "--tenant"},
		{name: "token revoked", script: func(p *fakebrain.Foot) { p.Close(wire.ClosePolicy, wire.ReasonTokenRevoked) }, refused: "token create"},
		{name: "token expired", script: func(p *fakebrain.Foot) { p.Close(wire.ClosePolicy, wire.ReasonTokenExpired) }, refused: "token create"},
		{name: "replaced", script: func(p *fakebrain.Foot) { p.Close(wire.ClosePolicy, wire.ReasonReplaced) }, is: ErrReplaced},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := fakebrain.New(t)
			if row.prepare != nil {
				row.prepare(b)
			}
			f := start(t, b)
			if row.script != nil {
				row.script(b.Await(t))
			}
			err := f.end(t)
			if row.is != nil {
				if !errors.Is(err, row.is) {
					t.Errorf("ended with %v, want %v", err, row.is)
				}
				return
			}
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(refused.Remedy, row.refused) {
				t.Fatalf("ended with %v, want a refusal with a remedy about %q", err, row.refused)
			}
			f.await(t, "refused "+refused.Remedy)
		})
	}
}

func TestAProjectFolderThatCannotBeUsedIsToBePutRightHere(t *testing.T) {
	b := fakebrain.New(t)
	f := start(t, b, func(c *Config) {
		// A link that leads to itself.
		if err := os.Symlink("acme", filepath.Join(c.Settings.Foot.WorkspaceRoot, "acme")); err != nil {
			t.Fatal(err)
		}
	})
	if err := f.end(t); !errors.Is(err, ErrConfiguration) {
		t.Errorf("ended with %v, want a configuration error", err)
	}
}

func TestOtherFailuresAreTriedAgain(t *testing.T) {
	for name, prepare := range map[string]func(*fakebrain.Brain){
		"503 draining": func(b *fakebrain.Brain) {
			b.Refuse(http.StatusServiceUnavailable, common.ErrorCodeDraining, "draining")
		},
		"404": func(b *fakebrain.Brain) { b.Refuse(http.StatusNotFound, common.ErrorCodeNotFound, "not found") },
		"500": func(b *fakebrain.Brain) { b.Refuse(http.StatusInternalServerError, common.ErrorCodeInternal, "") },
		"a broken handshake": func(b *fakebrain.Brain) {
			b.First(&frames.ErrorFrame{Code: common.ErrorCodeHandshakeFailed, Message: "expected hello"})
		},
		"frames without room": func(b *fakebrain.Brain) {
			b.Welcome(func(w *frames.Welcome) { w.Settings.MaxFrameSize = 1 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := fakebrain.New(t)
			prepare(b)
			f := start(t, b)
			f.await(t, "reconnecting")
			b.Refuse(0, "", "")
			b.First(nil)
			b.Welcome(func(w *frames.Welcome) { w.Settings.MaxFrameSize = 4 << 20 })
			f.await(t, "connected acme/proj laptop")
		})
	}
}

func TestOnceEndsWithTheFirstConnection(t *testing.T) {
	once := func(c *Config) { c.Once = true }
	b := fakebrain.New(t)
	f := start(t, b, once)
	b.Await(t).Cut()
	if err := f.end(t); !errors.Is(err, ErrUnreachable) {
		t.Errorf("lost: %v, want unreachable", err)
	}
	b.Refuse(http.StatusServiceUnavailable, common.ErrorCodeDraining, "draining")
	if err := start(t, b, once).end(t); !errors.Is(err, ErrUnreachable) {
		t.Errorf("503: %v, want unreachable", err)
	}
	b.Refuse(http.StatusUnauthorized, common.ErrorCodeUnauthorized, "no")
	var refused *RefusedError
	if err := start(t, b, once).end(t); !errors.As(err, &refused) {
		t.Errorf("401: %v, want refused", err)
	}
	gone := func(c *Config) { c.Once, c.Brain = true, "http://127.0.0.1:1" }
	if err := start(t, b, gone).end(t); !errors.Is(err, ErrUnreachable) {
		t.Errorf("nobody listens: %v, want unreachable", err)
	}
}

func TestAnIdleFootThatIsStoppedSaysGoodbye(t *testing.T) {
	b := fakebrain.New(t)
	f := start(t, b)
	peer := b.Await(t)
	f.await(t, "connected acme/proj laptop")
	f.stop()
	if code := peer.AwaitClose(); code != wire.CloseGoingAway {
		t.Errorf("close code %d, want 1001", code)
	}
	if err := f.end(t); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestStoppingLetsRunningTransfersEndAndTakesNoNewOnes(t *testing.T) {
	b := fakebrain.New(t)
	f := start(t, b)
	peer := b.Await(t)
	id := newID()
	peer.Offer(id, "a", "content")
	fakebrain.Expect[*frames.TransferInitResponse](peer)
	f.stop()
	f.await(t, "stopping")
	late := newID()
	for { // the refusal begins a moment after the word
		peer.Offer(late, late.String(), "x") // the one before may still hold its target
		r := fakebrain.Expect[*frames.TransferInitResponse](peer)
		if !r.Ok {
			if *r.ErrorCode != common.ErrorCodeDraining {
				t.Errorf("a late offer: %+v, want draining", r)
			}
			break
		}
		peer.Send(&frames.TransferFinish{TransferID: late, Ok: false})
		late = newID()
	}
	peer.Stream(id, "content", 3)
	if c := fakebrain.Expect[*frames.TransferComplete](peer); !c.Ok {
		t.Errorf("the running transfer ends with %+v", c)
	}
	// The file is safe: the Foot need not wait for the finish.
	if code := peer.AwaitClose(); code != wire.CloseGoingAway {
		t.Errorf("close code %d, want 1001", code)
	}
	if err := f.end(t); err != nil {
		t.Errorf("ended with %v", err)
	}
	if got := f.content(t, "a"); got != "content" {
		t.Errorf("the file is %q", got)
	}
}

func TestStoppingCancelsWhatDoesNotEnd(t *testing.T) {
	b := fakebrain.New(t)
	f := start(t, b, func(c *Config) { c.DrainTime = 50 * time.Millisecond })
	peer := b.Await(t)
	id := newID()
	peer.Offer(id, "a", "content")
	fakebrain.Expect[*frames.TransferInitResponse](peer)
	f.stop()
	c := fakebrain.Expect[*frames.TransferComplete](peer)
	if c.TransferID != id || c.Ok || c.ErrorCode == nil || *c.ErrorCode != common.ErrorCodeCancelled {
		t.Errorf("the running transfer ends with %+v, want cancelled", c)
	}
	if code := peer.AwaitClose(); code != wire.CloseGoingAway {
		t.Errorf("close code %d, want 1001", code)
	}
	if err := f.end(t); err != nil {
		t.Errorf("ended with %v", err)
	}
	if got := f.listing(t); got != "" && got != " " {
		t.Errorf("left behind: %q", got)
	}
}

func TestStoppingWhileThereIsNoBrainEndsAtOnce(t *testing.T) {
	b := fakebrain.New(t)
	b.Refuse(http.StatusServiceUnavailable, common.ErrorCodeDraining, "draining")
	f := start(t, b, func(c *Config) { c.Settings.Foot.ReconnectMin, c.Settings.Foot.ReconnectMax = time.Hour, time.Hour })
	f.await(t, "reconnecting")
	f.stop()
	if err := f.end(t); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestASecondWelcomeAndAnUploadAnswerAreErrorsAndHarmNothing(t *testing.T) {
	b := fakebrain.New(t)
	start(t, b)
	peer := b.Await(t)
	peer.SendRaw(`{"type":"welcome","protocolVersion":1,"connectionId":"018f0000-0000-7000-8000-000000000001","tenant":"umbrella",` +
		`"projectId":"proj","footId":"laptop","features":[],"settings":{"chunkSize":1,"maxFrameSize":65536,"phaseTimeoutMs":100,` +
		`"pingIntervalMs":1000,"maxUploadSize":1,"maxDownloadSize":1}}`)
	if e := fakebrain.Expect[*frames.ErrorFrame](peer); e.Code != common.ErrorCodeUnexpectedFrame {
		t.Errorf("a second welcome: %+v", e)
	}
	nothing := newID()
	peer.Send(&frames.TransferInitResponse{TransferID: nothing, Ok: true})
	e := fakebrain.Expect[*frames.ErrorFrame](peer)
	if e.Code != common.ErrorCodeUnknownTransfer || e.TransferID == nil || *e.TransferID != nothing {
		t.Errorf("an answer to nothing: %+v", e)
	}
	peer.Send(&frames.ErrorFrame{Code: common.ErrorCodeInternal, Message: "\x1b[2J"}) // not answered
	download(t, peer, "a", "still works")
}

func TestTwoTransfersToOneTargetAreBusyAlsoAcrossConnections(t *testing.T) {
	b := fakebrain.New(t)
	start(t, b)
	peer := b.Await(t)
	first, second := newID(), newID()
	peer.Offer(first, "a", "content")
	fakebrain.Expect[*frames.TransferInitResponse](peer)
	peer.Offer(second, "x/../a", "content")
	if r := fakebrain.Expect[*frames.TransferInitResponse](peer); r.Ok || *r.ErrorCode != common.ErrorCodeTargetBusy {
		t.Errorf("the second: %+v, want busy", r)
	}
	peer.Cut()
	download(t, b.Await(t), "a", "content") // the hold ended with the connection
}

func TestAFootWhoseStateFolderIsTakenGivesWay(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	unnamed := func(c *Config) {
		state, err := OpenState("")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := state.Close(); err != nil {
				t.Error(err)
			}
		})
		c.State = state
	}
	b := fakebrain.New(t)
	first := start(t, b, unnamed)
	first.await(t, "connected acme/proj laptop")
	if err := start(t, b, unnamed).end(t); !errors.Is(err, ErrInUse) {
		t.Errorf("the second: %v, want in use", err)
	}
	if n := first.count("disconnected"); n != 0 {
		t.Errorf("the first lost its connection %d times", n)
	}
}

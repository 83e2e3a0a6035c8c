package hub

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

// allFeatures are the names of all extensions that a Foot of this version offers.
var allFeatures = []string{"on-existing", "progress", "cancel"}

func (w *world) modernFoot(t *testing.T) *hubtest.Foot {
	t.Helper()
	return hubtest.DialWith(t, w.url, "acme", "laptop", allFeatures...)
}

func onExisting(r Request, o common.OnExisting) Request {
	r.OnExisting = o
	return r
}

// finishUpload plays the rest of an upload whose request has come.
func finishUpload(f *hubtest.Foot, r *frames.ClientFileUploadRequest, body []byte) *frames.TransferComplete {
	f.Offer(r, body)
	if a := hubtest.Await[*frames.TransferInitResponse](f); !a.Ok {
		f.Send(&frames.TransferFinish{TransferID: r.TransferID, Error: a.Error, ErrorCode: a.ErrorCode})
		return nil
	}
	f.Stream(r.TransferID, body, 64<<10)
	done := hubtest.Await[*frames.TransferComplete](f)
	f.Send(&frames.TransferFinish{TransferID: r.TransferID, Ok: done.Ok, Error: done.Error, ErrorCode: done.ErrorCode})
	return done
}

func TestTheFeaturesInForceAreThoseThatBothKnow(t *testing.T) {
	for _, c := range []struct{ offered, want []string }{
		{nil, []string{}},
		{[]string{}, []string{}},
		{[]string{"progress"}, []string{"progress"}},
		{[]string{"cancel", "warp-drive", "on-existing", "trailing-hash"}, []string{"cancel", "on-existing"}},
		{allFeatures, []string{"cancel", "on-existing", "progress"}},
	} {
		t.Run(strings.Join(c.offered, ","), func(t *testing.T) {
			w := newWorld(t)
			offered := c.offered
			if offered == nil {
				offered = []string{}
			}
			f := hubtest.DialWith(t, w.url, "acme", "laptop", offered...)
			if !slices.Equal(f.Welcome.Features, c.want) {
				t.Errorf("welcome says %v, want %v", f.Welcome.Features, c.want)
			}
			if told := w.Feet(acme)[0].Features; !slices.Equal(told, c.want) {
				t.Errorf("client_list says %v, want %v", told, c.want)
			}
		})
	}
}

func TestAFrameOfAFeatureNotInForceIsUnexpectedAndWithoutEffect(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.foot(t, "laptop")
	call := start(t.Context(), w.Upload, upload("d", "a.txt"))
	r := hubtest.Next[*frames.ClientFileUploadRequest](f)
	for _, text := range []string{
		`{"type":"transfer_cancel","transferId":"` + r.TransferID.String() + `","reason":"x"}`,
		`{"type":"transfer_progress","transferId":"` + r.TransferID.String() + `","state":"waiting_for_approval","bytes":0,"totalBytes":0}`,
	} {
		f.SendText(text)
		if e := hubtest.Next[*frames.ErrorFrame](f); e.Code != common.ErrorCodeUnexpectedFrame {
			t.Errorf("%s: %s", text, e.Code)
		}
	}
	finishUpload(f, r, content(10))
	if o := await(t, call); o.err != nil {
		t.Error(o.err)
	}
	wantListing(t, dir, "a.txt")
}

func TestAnUploadGoesByTheToolsOnExistingAlone(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.modernFoot(t)
	old := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("error", func(t *testing.T) {
		call := start(t.Context(), w.Upload, onExisting(upload("d", "a.txt"), common.OnExistingError))
		r := hubtest.Await[*frames.ClientFileUploadRequest](f)
		init := &frames.TransferInit{TransferID: r.TransferID, Target: r.RemotePath, DirName: &r.DirName, TotalSize: 3}
		hash, other := hubtest.Hash([]byte("new")), common.OnExistingReplace
		init.Hash, init.OnExisting = &hash, &other // the Foot may say what it likes
		f.Send(init)
		a := hubtest.Await[*frames.TransferInitResponse](f)
		if a.Ok || *a.ErrorCode != common.ErrorCodeAlreadyExists {
			t.Errorf("the init is answered by %+v", a)
		}
		f.Send(&frames.TransferFinish{TransferID: r.TransferID, Error: a.Error, ErrorCode: a.ErrorCode})
		await(t, call).wantCode(t, common.ErrorCodeAlreadyExists)
	})
	t.Run("keep_both", func(t *testing.T) {
		call := start(t.Context(), w.Upload, onExisting(upload("d", "a.txt"), common.OnExistingKeepBoth))
		done := finishUpload(f, hubtest.Await[*frames.ClientFileUploadRequest](f), []byte("new"))
		if done == nil || done.Path == nil || *done.Path != "a-1.txt" {
			t.Errorf("the Foot hears %+v", done)
		}
		if o := await(t, call); o.err != nil || o.Path != "a-1.txt" {
			t.Errorf("the call came to %+v", o)
		}
		if told := w.Transfers(acme)[0]; told.Path != "a-1.txt" {
			t.Errorf("told %+v", told)
		}
	})
	if kept, err := os.ReadFile(old); err != nil || string(kept) != "old" {
		t.Errorf("the old file is %q, %v", kept, err)
	}
	t.Run("replace", func(t *testing.T) {
		call := start(t.Context(), w.Upload, onExisting(upload("d", "a.txt"), common.OnExistingReplace))
		finishUpload(f, hubtest.Await[*frames.ClientFileUploadRequest](f), []byte("new"))
		if o := await(t, call); o.err != nil || o.Path != "a.txt" {
			t.Errorf("the call came to %+v", o)
		}
	})
	wantListing(t, dir, "a-1.txt", "a.txt")
}

func TestAFileThatAppearsDuringTheTransferIsNotReplaced(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.modernFoot(t)
	call := start(t.Context(), w.Upload, onExisting(upload("d", "a.txt"), common.OnExistingError))
	r := hubtest.Await[*frames.ClientFileUploadRequest](f)
	f.Offer(r, []byte("new"))
	if a := hubtest.Await[*frames.TransferInitResponse](f); !a.Ok {
		t.Fatal(*a.Error)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Stream(r.TransferID, []byte("new"), 10)
	if done := hubtest.Await[*frames.TransferComplete](f); done.Ok || *done.ErrorCode != common.ErrorCodeAlreadyExists {
		t.Errorf("the Foot hears %+v", done)
	}
	await(t, call).wantCode(t, common.ErrorCodeAlreadyExists)
	wantListing(t, dir, "a.txt")
	if got, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(got) != "theirs" {
		t.Errorf("the file is %q, %v", got, err)
	}
}

func TestEightUploadsThatKeepBothGetEightNames(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.modernFoot(t)
	var calls []<-chan outcome
	var requests []*frames.ClientFileUploadRequest
	for range 8 { // they hold no target, so that all run at once
		calls = append(calls, start(t.Context(), w.Upload, onExisting(upload("d", "a.tar.gz"), common.OnExistingKeepBoth)))
		requests = append(requests, hubtest.Await[*frames.ClientFileUploadRequest](f))
	}
	body := content(1000)
	for _, r := range requests {
		f.Offer(r, body)
	}
	for range requests {
		if a := hubtest.Await[*frames.TransferInitResponse](f); !a.Ok {
			t.Fatal(*a.Error)
		}
	}
	for _, r := range requests {
		f.Stream(r.TransferID, body, len(body))
	}
	var names []string
	for _, call := range calls {
		o := await(t, call)
		if o.err != nil {
			t.Fatal(o.err)
		}
		names = append(names, o.Path)
	}
	slices.Sort(names)
	want := []string{"a-1.tar.gz", "a-2.tar.gz", "a-3.tar.gz", "a-4.tar.gz", "a-5.tar.gz", "a-6.tar.gz", "a-7.tar.gz", "a.tar.gz"}
	if !slices.Equal(names, want) {
		t.Errorf("the names are %v", names)
	}
	wantListing(t, dir, want...)
}

func TestADownloadThatMustNotReplaceIsUnsupportedByABaseFoot(t *testing.T) {
	w := newWorld(t)
	w.file(t, "d", "a.txt", content(10))
	f := w.foot(t, "laptop")
	for _, o := range []common.OnExisting{common.OnExistingError, common.OnExistingKeepBoth} {
		result, err := w.Download(t.Context(), acme, onExisting(Request{LocalPath: "a", DirName: "d", RemotePath: "a.txt"}, o))
		outcome{result, err}.wantCode(t, common.ErrorCodeUnsupported)
		if result.ID != uuid.Nil || len(w.Transfers(acme)) != 0 {
			t.Errorf("a transfer was begun: %v", result.ID)
		}
	}
	f.Quiet()
	call := start(t.Context(), w.Download, onExisting(Request{LocalPath: "a", DirName: "d", RemotePath: "a.txt"}, common.OnExistingReplace))
	f.Download()
	if o := await(t, call); o.err != nil || o.Path != "a" {
		t.Errorf("replace came to %+v", o)
	}
}

// file writes a file into a new RootDir.
func (w *world) file(t *testing.T, dir, name string, body []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir(t, dir), name), body, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADownloadTellsTheFootAndHearsTheName(t *testing.T) {
	for told, want := range map[string]string{"out/a-1.txt": "out/a-1.txt", "out/a\u202etxt.exe": `out/a\u202etxt.exe`} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t)
			body := content(10)
			w.file(t, "d", "a.txt", body)
			f := w.modernFoot(t)
			call := start(t.Context(), w.Download, onExisting(Request{LocalPath: "out/a.txt", DirName: "d", RemotePath: "a.txt"}, common.OnExistingKeepBoth))
			init := hubtest.Await[*frames.TransferInit](f)
			if init.OnExisting == nil || *init.OnExisting != common.OnExistingKeepBoth {
				t.Errorf("the init says %v", init.OnExisting)
			}
			f.Send(&frames.TransferInitResponse{TransferID: init.TransferID, Ok: true})
			hubtest.Await[*frames.TransferChunk](f)
			check := frames.HashCheckOk
			f.Send(&frames.TransferComplete{TransferID: init.TransferID, Ok: true, BytesWritten: 10, HashCheck: &check, Path: &told})
			if o := await(t, call); o.err != nil || o.Path != want {
				t.Errorf("the call came to %+v, want the path %s", o, want)
			}
		})
	}
}

func TestCancellingATransfer(t *testing.T) {
	for name, dial := range map[string]func(*world, *testing.T) *hubtest.Foot{
		"with cancel": (*world).modernFoot,
		"base":        func(w *world, t *testing.T) *hubtest.Foot { return w.foot(t, "laptop") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			dir := w.dir(t, "d")
			f := dial(w, t)
			request := upload("d", "x/a.txt")
			request.Owner = "a1"
			call := start(t.Context(), w.Upload, request)
			r := hubtest.Await[*frames.ClientFileUploadRequest](f)
			f.Offer(r, content(100))
			hubtest.Await[*frames.TransferInitResponse](f)

			_, err := w.Cancel(t.Context(), acme, r.TransferID, "a2")
			outcome{err: err}.wantCode(t, common.ErrorCodeAccessDenied)
			_, err = w.Cancel(t.Context(), tokens["foreign"].Project, r.TransferID, "")
			outcome{err: err}.wantCode(t, common.ErrorCodeNotFound)
			_, err = w.Cancel(t.Context(), acme, uuid.New(), "")
			outcome{err: err}.wantCode(t, common.ErrorCodeNotFound)

			state, err := w.Cancel(t.Context(), acme, r.TransferID, "a1")
			if err != nil || state != common.TransferStateCancelled {
				t.Errorf("it ended as %s, %v", state, err)
			}
			await(t, call).wantCode(t, common.ErrorCodeCancelled)
			if name == "base" {
				if done := hubtest.Await[*frames.TransferComplete](f); done.Ok || *done.Error != "cancelled" {
					t.Errorf("the Foot hears %+v", done)
				}
			} else if c := hubtest.Await[*frames.TransferCancel](f); c.TransferID != r.TransferID || c.Reason != "cancelled" {
				t.Errorf("the Foot hears %+v", c)
			}
			wantListing(t, dir)
			// Once more is no error: it stays as it ended.
			if state, err := w.Cancel(t.Context(), acme, r.TransferID, ""); err != nil || state != common.TransferStateCancelled {
				t.Errorf("the second time it is %s, %v", state, err)
			}
		})
	}
}

func TestCancellingWhatHasSucceededUndoesNothing(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.modernFoot(t)
	call := start(t.Context(), w.Upload, upload("d", "a.txt"))
	finishUpload(f, hubtest.Await[*frames.ClientFileUploadRequest](f), content(10))
	o := await(t, call)
	if state, err := w.Cancel(t.Context(), acme, o.ID, ""); err != nil || state != common.TransferStateComplete {
		t.Errorf("it is %s, %v", state, err)
	}
	wantListing(t, dir, "a.txt")
}

func TestTheFootCancels(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "d")
	f := w.modernFoot(t)
	call := start(t.Context(), w.Upload, upload("d", "a.txt"))
	r := hubtest.Await[*frames.ClientFileUploadRequest](f)
	f.Offer(r, content(100))
	hubtest.Await[*frames.TransferInitResponse](f)
	f.Send(&frames.TransferCancel{TransferID: r.TransferID, Reason: "by the person"})
	o := await(t, call)
	o.wantCode(t, common.ErrorCodeCancelled)
	if o.err.Error() != "cancelled: by the person" {
		t.Errorf("the call came to %q", o.err)
	}
	wantListing(t, dir)
	if told := w.Transfers(acme)[0]; told.State != common.TransferStateCancelled {
		t.Errorf("told %+v", told)
	}
}

// watched collects what a call's transfer reports.
type watched struct {
	mu  sync.Mutex
	all []common.TransferStatus
}

func (w *watched) hear(s common.TransferStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, s)
}

func (w *watched) states() []common.TransferState {
	w.mu.Lock()
	defer w.mu.Unlock()
	var states []common.TransferState
	for _, s := range w.all {
		states = append(states, s.State)
	}
	return slices.Compact(states)
}

func TestBeyondMaxConcurrentATransferIsQueuedAndNothingIsSent(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxConcurrent = 2; c.PhaseTimeout = 300 * time.Millisecond })
	w.dir(t, "d")
	f := w.modernFoot(t)
	ends := map[string]<-chan outcome{}
	var inFlight []*frames.ClientFileUploadRequest
	for _, name := range []string{"a", "b"} {
		ends[name] = start(t.Context(), w.Upload, upload("d", name))
		inFlight = append(inFlight, hubtest.Await[*frames.ClientFileUploadRequest](f))
	}
	for _, r := range inFlight {
		f.Offer(r, []byte("1"))
		hubtest.Await[*frames.TransferInitResponse](f)
	}
	var news watched
	request := upload("d", "c")
	request.Watch = news.hear
	waiting := start(t.Context(), w.Upload, request)
	w.wait(t, func() bool { return len(news.states()) == 1 })
	if got := w.Transfers(acme)[0]; got.State != common.TransferStateQueued || got.Path != "c" {
		t.Errorf("told %+v", got)
	}
	// It has no timer: it outlives a phase by far, while the others are kept alive.
	for i := range int64(6) {
		time.Sleep(100 * time.Millisecond)
		for _, r := range inFlight {
			f.Send(&frames.TransferProgress{TransferID: r.TransferID, State: "streaming", Bytes: i, TotalBytes: 10})
		}
	}
	f.Stream(inFlight[0].TransferID, []byte("1"), 1)
	if o := await(t, ends["a"]); o.err != nil {
		t.Error(o.err)
	}
	finishUpload(f, hubtest.Await[*frames.ClientFileUploadRequest](f), []byte("2"))
	if o := await(t, waiting); o.err != nil {
		t.Error(o.err)
	}
	if got := news.states(); got[0] != "queued" || !slices.Contains(got, "streaming") {
		t.Errorf("the caller heard %v", got)
	}
}

// wait polls until something is so.
func (w *world) wait(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hubtest.Patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never came about")
		}
	}
}

func TestTheOneThousandAndFirstThatWaitsFailsAtOnce(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxConcurrent = 1; c.PhaseTimeout = time.Minute })
	w.dir(t, "d")
	f := w.modernFoot(t)
	running := start(t.Context(), w.Upload, upload("d", "first"))
	r := hubtest.Await[*frames.ClientFileUploadRequest](f)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make([]<-chan outcome, 1000)
	for i := range waiting {
		waiting[i] = start(ctx, w.Upload, upload("d", fmt.Sprint("w", i)))
	}
	w.wait(t, w.allWait)
	_, err := w.Upload(t.Context(), acme, upload("d", "one too many"))
	outcome{err: err}.wantCode(t, common.ErrorCodeLimit)
	cancel() // of those that wait; the Foot hears nothing of it
	for _, call := range waiting {
		await(t, call).wantCode(t, common.ErrorCodeCancelled)
	}
	f.Quiet()
	finishUpload(f, r, []byte("1"))
	if o := await(t, running); o.err != nil {
		t.Error(o.err)
	}
	// Everybody has given back what they had.
	again := start(t.Context(), w.Upload, upload("d", "w7"))
	finishUpload(f, hubtest.Await[*frames.ClientFileUploadRequest](f), []byte("1"))
	if o := await(t, again); o.err != nil {
		t.Error(o.err)
	}
}

// allWait reports whether 1,000 wait for the only Foot.
func (w *world) allWait() bool {
	f, err := w.pick(acme, "")
	if err != nil {
		return false
	}
	f.slots.mu.Lock()
	defer f.slots.mu.Unlock()
	return len(f.slots.waiting) == 1000
}

func TestThoseThatWaitHearOfALostConnectionAndCanBeCancelled(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.MaxConcurrent = 1 })
	w.dir(t, "d")
	f := w.modernFoot(t)
	running := start(t.Context(), w.Upload, upload("d", "a"))
	hubtest.Await[*frames.ClientFileUploadRequest](f)
	cancelled := start(t.Context(), w.Upload, upload("d", "b"))
	w.wait(t, func() bool { return len(w.Transfers(acme)) == 2 })
	lost := start(t.Context(), w.Upload, upload("d", "c"))
	w.wait(t, func() bool { return len(w.Transfers(acme)) == 3 })
	if state, err := w.Cancel(t.Context(), acme, w.Transfers(acme)[1].TransferID, ""); err != nil || state != common.TransferStateCancelled {
		t.Errorf("it is %s, %v", state, err)
	}
	await(t, cancelled).wantCode(t, common.ErrorCodeCancelled)
	f.Quiet()
	f.Cut()
	await(t, running).wantCode(t, common.ErrorCodeConnectionLost)
	await(t, lost).wantCode(t, common.ErrorCodeConnectionLost)
}

func TestTheFootsHashingIsToldToTheCaller(t *testing.T) {
	w := newWorld(t)
	w.dir(t, "d")
	f := w.modernFoot(t)
	var news watched
	request := upload("d", "a")
	request.Watch = news.hear
	call := start(t.Context(), w.Upload, request)
	r := hubtest.Await[*frames.ClientFileUploadRequest](f)
	time.Sleep(300 * time.Millisecond) // mere progress is told four times a second
	f.Send(&frames.TransferProgress{TransferID: r.TransferID, State: "hashing", Bytes: 7, TotalBytes: 10})
	w.wait(t, func() bool {
		s := w.Transfers(acme)[0]
		return s.Bytes == 7 && s.TotalBytes == 10 && s.State == "hashing"
	})
	finishUpload(f, r, content(10))
	if o := await(t, call); o.err != nil {
		t.Fatal(o.err)
	}
	if got := news.states(); !slices.Equal(got, []common.TransferState{"hashing", "streaming", "verifying"}) {
		t.Errorf("the caller heard %v", got)
	}
}

func TestAnApprovalThatNeverComesIsDeclined(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.ConfirmTimeout = 200 * time.Millisecond })
	w.dir(t, "d")
	f := w.modernFoot(t)
	call := start(t.Context(), w.Upload, upload("d", "a"))
	r := hubtest.Await[*frames.ClientFileUploadRequest](f)
	f.Send(&frames.TransferProgress{TransferID: r.TransferID, State: "waiting_for_approval", Bytes: 0, TotalBytes: 10})
	await(t, call).wantCode(t, common.ErrorCodeDeclined)
	if c := hubtest.Await[*frames.TransferCancel](f); c.Reason != "declined" {
		t.Errorf("the Foot hears %+v", c)
	}
}

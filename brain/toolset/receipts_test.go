package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

const keyedUpload = `{"localPath":"a","dirName":"d","remotePath":"b","idempotencyKey":"k1"}`

// withReceipts is a world whose Brain keeps receipts, a Foot, and a RootDir d.
func withReceipts(t *testing.T, ttl time.Duration) (*world, *hubtest.Foot) {
	t.Helper()
	w := newWorld(t)
	store, err := state.OpenSQLite(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Receipts = &Receipts{Store: store, TTL: ttl, Log: slog.New(slog.DiscardHandler)}
	w.call(t, "workspace_create_ephemeral_dir", `{"dirName":"d"}`)
	return w, hubtest.Dial(t, w.url, "acme", "laptop")
}

func TestACallThatSucceededIsNotDoneAgainUnderItsKey(t *testing.T) {
	w, f := withReceipts(t, time.Hour)
	done := w.later(t.Context(), "client_file_upload", keyedUpload)
	f.Upload([]byte("content"))
	first := checked(t, "client_file_upload", await(t, done))
	if !first.Ok {
		t.Fatal(first.raw)
	}
	// Equal arguments in another order, with spaces, are equal.
	again := w.call(t, "client_file_upload", `{ "idempotencyKey":"k1", "remotePath":"b", "dirName":"d", "localPath":"a" }`)
	if again.raw != first.raw || again.text != first.text {
		t.Errorf("the receipt is %s, want %s", again.raw, first.raw)
	}
	if again := w.call(t, "client_file_upload", `{"idempotencyKey":"k1","remotePath":"b","dirName":"d","localPath":"a","onExisting":"replace"}`); again.raw != first.raw {
		t.Errorf("with the default spelled out: %s", again.raw)
	}
	f.Quiet()
	w.call(t, "client_file_upload", `{"idempotencyKey":"k1","remotePath":"b","dirName":"d","localPath":"a","onExisting":"keep_both"}`).wantCode(t, common.ErrorCodeConflict)
	w.call(t, "client_file_upload", `{"localPath":"other","dirName":"d","remotePath":"b","idempotencyKey":"k1"}`).wantCode(t, common.ErrorCodeConflict)
	w.call(t, "client_file_download", keyedUpload).wantCode(t, common.ErrorCodeConflict)

	// Neither source nor destination is looked at, and a restart forgets nothing.
	w.call(t, "workspace_close_dir", `{"dirName":"d"}`)
	w.Receipts = &Receipts{Store: w.Receipts.Store, TTL: time.Hour, Log: w.Receipts.Log}
	if again := w.call(t, "client_file_upload", keyedUpload); again.raw != first.raw {
		t.Errorf("after a restart: %s", again.raw)
	}
	// The key is the token's.
	r := w.Call(t.Context(), Caller{Project: acme, TokenID: "a2"}, "client_file_upload", json.RawMessage(keyedUpload))
	checked(t, "client_file_upload", r).wantCode(t, common.ErrorCodeDirNotFound)
}

func TestACallThatFailedIsDoneAgainUnderItsKey(t *testing.T) {
	w, f := withReceipts(t, time.Hour)
	done := w.later(t.Context(), "client_file_upload", keyedUpload)
	r := hubtest.Next[*frames.ClientFileUploadRequest](f)
	code, text := common.ErrorCodeNotFound, "file not found"
	f.Send(&frames.TransferFinish{TransferID: r.TransferID, Error: &text, ErrorCode: &code})
	checked(t, "client_file_upload", await(t, done)).wantCode(t, common.ErrorCodeNotFound)

	done = w.later(t.Context(), "client_file_upload", keyedUpload)
	f.Upload([]byte("content"))
	if o := checked(t, "client_file_upload", await(t, done)); !o.Ok {
		t.Error(o.raw)
	}
}

func TestAReceiptIsForgottenAfterItsTime(t *testing.T) {
	w, f := withReceipts(t, time.Millisecond)
	for i := range 2 {
		done := w.later(t.Context(), "client_file_upload", keyedUpload)
		f.Upload([]byte(fmt.Sprintf("content %d", i)))
		if o := checked(t, "client_file_upload", await(t, done)); !o.Ok {
			t.Fatal(o.raw)
		}
		waitForgotten(t, w.Receipts)
	}
}

func waitForgotten(t *testing.T, r *Receipts) {
	t.Helper()
	for deadline := time.Now().Add(hubtest.Patience); ; time.Sleep(time.Millisecond) {
		list, err := r.Store.List(t.Context(), receiptPrefix)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the receipt is kept")
		}
	}
}

func TestCallsOfOneKeyJoinAndTheLastToGoEndsTheTransfer(t *testing.T) {
	w, f := withReceipts(t, time.Hour)
	leaving := make([]context.CancelFunc, 3)
	calls := make([]<-chan Result, 3)
	for i := range calls {
		ctx, cancel := context.WithCancel(t.Context())
		leaving[i] = cancel
		calls[i] = w.later(ctx, "client_file_upload", keyedUpload)
	}
	r := hubtest.Next[*frames.ClientFileUploadRequest](f)
	f.Offer(r, []byte("content"))
	hubtest.Next[*frames.TransferInitResponse](f)
	w.joined(t, 3)

	leaving[0]()
	checked(t, "client_file_upload", await(t, calls[0])).wantCode(t, common.ErrorCodeCancelled)
	f.Quiet()
	leaving[1]()
	checked(t, "client_file_upload", await(t, calls[1])).wantCode(t, common.ErrorCodeCancelled)
	f.Quiet()
	leaving[2]()
	checked(t, "client_file_upload", await(t, calls[2])).wantCode(t, common.ErrorCodeCancelled)
	if c := hubtest.Next[*frames.TransferComplete](f); c.Ok || *c.ErrorCode != common.ErrorCodeCancelled {
		t.Errorf("the Foot was told %+v", c)
	}
}

// watched tells when somebody begins to wait for its end.
type watched struct {
	context.Context
	once  sync.Once
	asked chan struct{}
}

func (w *watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.asked) })
	return w.Context.Done()
}

func TestACallThatEverybodyLeftIsNotJoined(t *testing.T) {
	w, _ := withReceipts(t, time.Hour)
	began, leave := make(chan struct{}), make(chan struct{})
	old, cancel := context.WithCancel(t.Context())
	refuse := func(f *fault.Error) Result { return failed(f, nil) }
	answers := make(chan Result, 2)
	go func() {
		answers <- w.Receipts.once(old, Caller{}, "tool", "k", "{}", func(ctx context.Context) Result {
			close(began)
			<-ctx.Done()
			<-leave // it takes its time to end
			return Result{Failed: true}
		}, refuse)
	}()
	<-began
	cancel()
	w.joined(t, 0)
	waits := &watched{Context: t.Context(), asked: make(chan struct{})}
	go func() {
		answers <- w.Receipts.once(waits, Caller{}, "tool", "k", "{}", func(context.Context) Result { return Result{Output: []byte("2")} }, refuse)
	}()
	<-waits.asked
	close(leave)
	first, second := <-answers, <-answers
	if first.Failed == second.Failed || string(first.Output)+string(second.Output) != "2" {
		t.Errorf("%+v and %+v", first, second)
	}
}

func TestCallsThatJoinedGetTheSameReceipt(t *testing.T) {
	w, f := withReceipts(t, time.Hour)
	one := w.later(t.Context(), "client_file_upload", keyedUpload)
	r := hubtest.Next[*frames.ClientFileUploadRequest](f)
	two := w.later(t.Context(), "client_file_upload", keyedUpload)
	w.joined(t, 2)
	f.Offer(r, []byte("content"))
	hubtest.Next[*frames.TransferInitResponse](f)
	f.Stream(r.TransferID, []byte("content"), 64<<10)
	hubtest.Next[*frames.TransferComplete](f)
	f.Send(&frames.TransferFinish{TransferID: r.TransferID, Ok: true})
	a, b := await(t, one), await(t, two)
	if string(a.Output) != string(b.Output) || a.Failed {
		t.Errorf("%s and %s", a.Output, b.Output)
	}
}

// joined waits until so many callers wait for the one call that runs.
func (w *world) joined(t *testing.T, n int) {
	t.Helper()
	waiting := func() int {
		w.Receipts.mu.Lock()
		defer w.Receipts.mu.Unlock()
		for _, c := range w.Receipts.running {
			return c.waiting
		}
		return 0
	}
	for deadline := time.Now().Add(hubtest.Patience); waiting() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d wait for the call, want %d", waiting(), n)
		}
	}
}

func TestWhoAsksForAnUnknownTransferIsToldWhereToLook(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"transfer_status", "transfer_cancel"} {
		got := w.call(t, name, `{"transferId":"01890a5d-ac96-774b-bcce-b302099a8057"}`)
		got.wantCode(t, common.ErrorCodeNotFound)
		if !strings.Contains(got.text, "transfer_status without transferId") || strings.Contains(got.text, "path") {
			t.Errorf("%s: %s", name, got.text)
		}
	}
}

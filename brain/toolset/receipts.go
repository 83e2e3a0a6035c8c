package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/tools"
	"github.com/vancetope/transfer/internal/fault"
)

// Receipts make a call with an idempotencyKey happen once: a caller that lost the
// answer may ask again. The same key of the same token with equal arguments joins
// the call that runs, or gets the receipt of the one that went well, without a
// look at source or destination; one that failed runs again; other arguments are
// a conflict. Receipts are kept in the state store, calls that run in memory: a
// restart of Brain ends them anyway.
type Receipts struct {
	Store state.Store
	TTL   time.Duration // vance.receipts.ttl
	Log   *slog.Logger

	mu      sync.Mutex
	running map[string]*keyedCall
}

// keyOfUpload and keyOfDownload return the key of a call, whose arguments then say
// what is the default by leaving it out: both ways ask for the same.
func keyOfUpload(in *tools.ClientFileUploadInput) *string {
	in.OnExisting = unlessDefault(in.OnExisting)
	return in.IdempotencyKey
}

func keyOfDownload(in *tools.ClientFileDownloadInput) *string {
	in.OnExisting = unlessDefault(in.OnExisting)
	return in.IdempotencyKey
}

func unlessDefault(o *common.OnExisting) *common.OnExisting {
	if onExisting(o) == onExisting(nil) {
		return nil
	}
	return o
}

// keyed runs a tool under the key that its arguments have, if any.
func keyed[In any](name string, decode func([]byte) (*In, error), keyOf func(*In) *string, run runner) runner {
	return func(ctx context.Context, t *Tools, c Caller, arguments json.RawMessage, refuse refusal) Result {
		in, err := decode(arguments)
		if err != nil || keyOf(in) == nil || t.Receipts == nil {
			return run(ctx, t, c, arguments, refuse)
		}
		equal, err := json.Marshal(in) // the schema's order of members, whatever the caller's
		if err != nil {
			return refuse(t.tell(err), nil)
		}
		return t.Receipts.once(ctx, c, name, *keyOf(in), string(equal),
			func(ctx context.Context) (result Result) {
				defer t.recovered(name, refuse, &result) // it runs on a goroutine of its own
				return run(ctx, t, c, arguments, refuse)
			},
			func(f *fault.Error) Result { return refuse(t.tell(f), nil) })
	}
}

// keyedCall is a call that runs, and those who wait for it.
type keyedCall struct {
	arguments string
	waiting   int
	cancel    context.CancelCauseFunc
	done      chan struct{} // closed once result is there
	result    Result
}

// kept is a receipt as it is stored.
type kept struct {
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Text      string          `json:"text"`
}

const receiptPrefix = "receipt/"

// once runs a call under its key. The call itself outlives a caller that goes
// away, and is cancelled when the last one has.
func (r *Receipts) once(ctx context.Context, c Caller, tool, key, arguments string, run func(context.Context) Result, refuse func(*fault.Error) Result) Result {
	at := receiptPrefix + c.TokenID + "/" + key
	arguments = tool + " " + arguments
	call, err := r.lockAt(ctx, at)
	if err != nil {
		return refuse(err)
	}
	if call == nil {
		receipt, err := r.find(ctx, at)
		if err != nil {
			r.mu.Unlock()
			return refuse(fault.Wrap(common.ErrorCodeInternal, err))
		}
		if receipt != nil {
			r.mu.Unlock()
			if receipt.Arguments != arguments {
				return refuse(otherArguments(key))
			}
			return Result{Output: receipt.Output, Text: receipt.Text}
		}
		call = r.begin(ctx, at, arguments, run)
	} else if call.arguments != arguments {
		r.mu.Unlock()
		return refuse(otherArguments(key))
	}
	call.waiting++
	r.mu.Unlock()
	return r.await(ctx, call, refuse)
}

// lockAt takes the lock and returns the call that runs under a key, if any. One
// that everybody has left is not joined but waited for: it ends as cancelled.
func (r *Receipts) lockAt(ctx context.Context, at string) (*keyedCall, *fault.Error) {
	for {
		r.mu.Lock()
		call := r.running[at]
		if call == nil || call.waiting > 0 {
			return call, nil
		}
		r.mu.Unlock()
		select {
		case <-call.done:
		case <-ctx.Done():
			return nil, whyLeft(ctx)
		}
	}
}

func otherArguments(key string) *fault.Error {
	return fault.Newf(common.ErrorCodeConflict, "the idempotencyKey %q was used with other arguments; choose another", key)
}

// begin starts the call; the caller holds the lock.
func (r *Receipts) begin(ctx context.Context, at, arguments string, run func(context.Context) Result) *keyedCall {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	call := &keyedCall{arguments: arguments, cancel: cancel, done: make(chan struct{})}
	if r.running == nil {
		r.running = make(map[string]*keyedCall)
	}
	r.running[at] = call
	go func() {
		defer cancel(nil)
		call.result = run(own)
		if !call.result.Failed {
			r.keep(context.WithoutCancel(ctx), at, arguments, call.result)
		}
		r.mu.Lock()
		delete(r.running, at)
		r.mu.Unlock()
		close(call.done)
	}()
	return call
}

// await waits for the call. The last one who stops waiting cancels it.
func (r *Receipts) await(ctx context.Context, call *keyedCall, refuse func(*fault.Error) Result) Result {
	select {
	case <-call.done:
		return call.result
	case <-ctx.Done():
	}
	r.mu.Lock()
	call.waiting--
	last := call.waiting == 0
	r.mu.Unlock()
	why := whyLeft(ctx)
	if last {
		call.cancel(why)
		<-call.done // its answer names the transfer
		return call.result
	}
	return refuse(why)
}

// whyLeft is why a caller waits no longer.
func whyLeft(ctx context.Context) *fault.Error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return fault.New(common.ErrorCodeCancelled)
	}
	return fault.From(context.Cause(ctx))
}

func (r *Receipts) find(ctx context.Context, at string) (*kept, error) {
	e, err := r.Store.Get(ctx, at)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	receipt := &kept{}
	if err := json.Unmarshal(e.Value, receipt); err != nil {
		return nil, fmt.Errorf("receipt %s in the state: %w", at, err)
	}
	return receipt, nil
}

// keep stores a receipt. When that fails the call went well all the same.
func (r *Receipts) keep(ctx context.Context, at, arguments string, result Result) {
	value, err := json.Marshal(kept{Arguments: arguments, Output: result.Output, Text: result.Text})
	if err == nil {
		_, err = r.Store.Put(ctx, at, value, r.TTL)
	}
	if err != nil {
		r.Log.Error("a receipt was not kept", "err", err)
	}
}

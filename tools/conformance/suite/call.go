package suite

import (
	"context"
	"errors"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

// call is a tool call under way at the Brain.
type call struct {
	tool   string
	done   chan struct{}
	cancel context.CancelFunc
	result *peer.Result
	err    error
}

// begin calls a tool and does not wait for it.
func (c *Check) begin(tool string, args map[string]any) *call {
	ctx, cancel := context.WithCancel(c.ctx)
	k := &call{tool: tool, done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(k.done)
		defer cancel()
		k.result, k.err = c.agent.Call(ctx, tool, args)
	}()
	return k
}

// answer waits for the result of a call.
func (c *Check) answer(k *call) *peer.Result {
	ctx, cancel := c.within()
	defer cancel()
	select {
	case <-k.done:
	case <-ctx.Done():
		k.cancel()
		c.failf("%s does not answer within %v", k.tool, c.Patience)
	}
	if k.err != nil {
		c.failf("%s: %v", k.tool, k.err)
	}
	if k.result.Problem != "" && !c.BaseOnly {
		c.failf("%s: %s", k.tool, k.result.Problem)
	}
	return k.result
}

// callTool calls a tool and waits for it.
func (c *Check) callTool(tool string, args map[string]any) *peer.Result {
	return c.answer(c.begin(tool, args))
}

// callFails checks a call's failure. A nil call stands for a Foot's side, where
// nobody called.
func (c *Check) callFails(k *call, code common.ErrorCode) *peer.Result {
	if k == nil {
		return nil
	}
	r := c.answer(k)
	if r.OK || !c.isCode(r.ErrorCode, code) {
		c.failf("%s answers %s, want a failure with %s", k.tool, r, code)
	}
	if r.BytesWritten != 0 || r.Hash != nil {
		c.failf("%s fails and still tells bytes or a hash: %s", k.tool, r)
	}
	return r
}

// callSucceeds checks a call's success with a content.
func (c *Check) callSucceeds(k *call, content []byte) *peer.Result {
	if k == nil {
		return nil
	}
	r := c.answer(k)
	if !r.OK {
		c.failf("%s answers %s, want success", k.tool, r)
	}
	if r.BytesWritten != int64(len(content)) || r.Hash == nil || *r.Hash != hashOf(content) {
		c.failf("%s tells %d bytes and the hash %s, want %d and %s", k.tool, r.BytesWritten, deref(r.Hash), len(content), hashOf(content))
	}
	return r
}

// awaitRequest takes a Brain's upload request for a local path; nil when the call
// ended before.
func (c *Check) awaitRequest(k *call, local string) *frames.ClientFileUploadRequest {
	m := c.awaitOrEnd(k, "client.file.upload.request", func(m *peer.Message) bool {
		f, ok := m.Frame.(*frames.ClientFileUploadRequest)
		return ok && f.LocalPath == local
	})
	if m == nil {
		return nil
	}
	return m.Frame.(*frames.ClientFileUploadRequest)
}

// awaitOrEnd takes a frame that a call brings about; nil when the call ended before.
func (c *Check) awaitOrEnd(k *call, what string, match func(*peer.Message) bool) *peer.Message {
	const slice = 20 * time.Millisecond
	for deadline := time.Now().Add(c.Patience); ; {
		ended := false
		select {
		case <-k.done:
			ended = true
		default:
		}
		m, err := c.conn.Await(slice, match)
		switch {
		case err == nil:
			return m
		case !errors.Is(err, peer.ErrNone):
			c.failf("awaiting %s: %v", what, err)
		case ended:
			c.answer(k)
			return nil
		case time.Now().After(deadline):
			c.failf("%s brings no %s within %v", k.tool, what, c.Patience)
		}
	}
}

package suite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/google/uuid"

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

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// contentOf is n bytes that no other length shares a beginning of a hash with.
func contentOf(n int) []byte {
	b := make([]byte, n)
	x := uint32(n)*2654435761 + 12345
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// offer is a file that we send to the peer.
type offer struct {
	path       string
	content    []byte
	size       *int64  // told in place of the content's
	hash       *string // told in place of the content's
	noHash     bool
	attrs      *common.FileAttrs
	onExisting common.OnExisting
	// toolArgs are further arguments of the Brain's tool.
	toolArgs map[string]any
	// tell changes the offer's frame.
	tell func(*frames.TransferInit)
}

// incoming is a transfer in which the peer receives.
type incoming struct {
	c       *Check
	id      common.TransferID
	path    string
	content []byte
	request *frames.ClientFileUploadRequest // of a Brain
	init    *frames.TransferInit            // that we sent
	call    *call                           // of a Brain's tool
	seq     int64
}

// propose has the peer asked to receive a file and returns before any transfer_init
// was sent: at a Brain after its upload request, or without one when its tool has
// answered before; at a Foot at once.
func (c *Check) propose(o offer) *incoming {
	in := &incoming{c: c, id: uuid.Must(uuid.NewV7()), path: o.path, content: o.content}
	size, hash := int64(len(o.content)), hashOf(o.content)
	if o.size != nil {
		size = *o.size
	}
	if o.hash != nil {
		hash = *o.hash
	}
	in.init = &frames.TransferInit{Target: o.path, Source: ptr("source.bin"), TotalSize: size, Hash: &hash, Attrs: o.attrs}
	if o.noHash {
		in.init.Hash = nil
	}
	if c.Role == Brain {
		local := "local/" + uuid.NewString()
		args := map[string]any{"localPath": local, "dirName": c.dir, "remotePath": o.path}
		for name, value := range o.toolArgs {
			args[name] = value
		}
		if o.onExisting != "" {
			args["onExisting"] = o.onExisting
		}
		in.call = c.begin("client_file_upload", args)
		if in.request = c.awaitRequest(in.call, local); in.request != nil {
			in.id = in.request.TransferID
		}
		in.init.DirName = &c.dir
	} else if o.onExisting != "" {
		in.init.OnExisting = &o.onExisting
	}
	in.init.TransferID = in.id
	if o.tell != nil {
		o.tell(in.init)
	}
	return in
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

// opened ends the rule when the Brain's tool has answered in place of a request.
func (in *incoming) opened() *incoming {
	if in.call != nil && in.request == nil {
		in.c.failf("%s answers %s before any client.file.upload.request", in.call.tool, in.call.result)
	}
	return in
}

// offer has the peer begin to receive: it has answered ok.
func (c *Check) offer(o offer) *incoming {
	in := c.propose(o).opened()
	c.send(in.init)
	in.accepted()
	return in
}

func (in *incoming) accepted() {
	r := expect[*frames.TransferInitResponse](in.c, in.id)
	if !r.Ok {
		in.c.failf("transfer_init of %q is refused: %s", in.path, deref(r.Error))
	}
}

// refused checks the answer to a transfer_init that may not be accepted, and ends
// the transfer.
func (in *incoming) refused(code common.ErrorCode, text string) {
	r := expect[*frames.TransferInitResponse](in.c, in.id)
	if r.Ok {
		in.c.failf("transfer_init is accepted, want %s", code)
	}
	in.c.failure("transfer_init_response", r.ErrorCode, r.Error, code, text)
	in.c.send(&frames.TransferFinish{TransferID: in.id, Ok: false, Error: r.Error, ErrorCode: r.ErrorCode})
	in.c.callFails(in.call, code)
}

// chunk sends the next chunk.
func (in *incoming) chunk(data []byte, last bool) {
	in.c.send(&frames.TransferChunk{TransferID: in.id, Seq: in.seq, Bytes: data, Last: last})
	in.seq++
}

// stream sends the content in chunks of size bytes, the rest of which is last.
func (in *incoming) stream(size int) {
	for rest := in.content; ; {
		n := min(size, len(rest))
		in.chunk(rest[:n], n == len(rest))
		if rest = rest[n:]; len(rest) == 0 {
			return
		}
	}
}

// published takes the peer's success and finishes.
func (in *incoming) published() *frames.TransferComplete {
	done := in.completed()
	in.finish()
	in.c.callSucceeds(in.call, in.content)
	return done
}

// completed takes the peer's success.
func (in *incoming) completed() *frames.TransferComplete {
	c := in.c
	done := expect[*frames.TransferComplete](c, in.id)
	switch {
	case !done.Ok:
		c.failf("the transfer fails with %s", deref(done.Error))
	case done.BytesWritten != int64(len(in.content)):
		c.failf("bytesWritten is %d, want %d", done.BytesWritten, len(in.content))
	case done.HashCheck == nil || *done.HashCheck != frames.HashCheckOk:
		c.failf(`hashCheck is not "ok" although the hash was compared`)
	case done.Error != nil || done.ErrorCode != nil:
		c.failf("a success tells an error: %s", deref(done.Error))
	}
	return done
}

func (in *incoming) finish() {
	in.c.send(&frames.TransferFinish{TransferID: in.id, Ok: true})
}

// fails takes the peer's failure and finishes.
func (in *incoming) fails(code common.ErrorCode, text string) *frames.TransferComplete {
	c := in.c
	done := expect[*frames.TransferComplete](c, in.id)
	if done.Ok {
		c.failf("the transfer succeeds, want %s", code)
	}
	c.failure("transfer_complete", done.ErrorCode, done.Error, code, text)
	if done.HashCheck != nil && (code != common.ErrorCodeHashMismatch || *done.HashCheck != frames.HashCheckMismatch) {
		c.failf("hashCheck is %q with %s", *done.HashCheck, code)
	}
	c.send(&frames.TransferFinish{TransferID: in.id, Ok: false, Error: done.Error, ErrorCode: done.ErrorCode})
	c.callFails(in.call, code)
	return done
}

// put makes a file at the peer.
func (c *Check) put(path string, content []byte) {
	in := c.offer(offer{path: path, content: content})
	in.stream(32 << 10)
	in.published()
}

// outgoing is a transfer in which the peer sends.
type outgoing struct {
	c       *Check
	id      common.TransferID
	init    *frames.TransferInit
	call    *call // of a Brain's tool
	content []byte
}

// ask is a file that we want of the peer.
type ask struct {
	path     string
	toolArgs map[string]any
	attrs    *common.FileAttrs
}

// fetch asks the peer for a file and takes its transfer_init.
func (c *Check) fetch(a ask) *outgoing {
	out := c.asked(a)
	if out.init == nil {
		c.failf("%q cannot be fetched: %s", a.path, out.refusal())
	}
	return out
}

// asked asks the peer for a file. Without an init the peer has refused.
func (c *Check) asked(a ask) *outgoing {
	out := &outgoing{c: c, id: uuid.Must(uuid.NewV7())}
	if c.Role == Foot {
		c.send(&frames.ClientFileUploadRequest{TransferID: out.id, LocalPath: a.path, DirName: "inbox", RemotePath: "in/it.bin", Attrs: a.attrs})
		m := c.await("transfer_init or transfer_finish", func(m *peer.Message) bool {
			return peer.Of[*frames.TransferInit](out.id)(m) || peer.Of[*frames.TransferFinish](out.id)(m)
		})
		out.init, _ = m.Frame.(*frames.TransferInit)
		if finish, ok := m.Frame.(*frames.TransferFinish); ok {
			out.call = &call{result: &peer.Result{OK: finish.Ok, Error: finish.Error, ErrorCode: derefCode(finish.ErrorCode), Raw: m.Raw}}
		}
		return out
	}
	local := "local/" + uuid.NewString()
	args := map[string]any{"localPath": local, "dirName": c.dir, "remotePath": a.path}
	for name, value := range a.toolArgs {
		args[name] = value
	}
	out.call = c.begin("client_file_download", args)
	match := func(m *peer.Message) bool {
		f, ok := m.Frame.(*frames.TransferInit)
		return ok && f.Target == local
	}
	if m := c.awaitOrEnd(out.call, "transfer_init", match); m != nil {
		out.init = m.Frame.(*frames.TransferInit)
		out.id = out.init.TransferID
	}
	return out
}

func derefCode(code *common.ErrorCode) common.ErrorCode {
	if code == nil {
		return ""
	}
	return *code
}

// refusal is the failure of a file that the peer did not offer.
func (out *outgoing) refusal() *peer.Result { return out.call.result }

// accept answers the peer's transfer_init.
func (out *outgoing) accept() {
	out.c.send(&frames.TransferInitResponse{TransferID: out.id, Ok: true})
}

// receive takes all chunks and checks their order and sizes.
func (out *outgoing) receive() {
	c := out.c
	var got []byte
	for seq := int64(0); ; seq++ {
		chunk := expect[*frames.TransferChunk](c, out.id)
		if chunk.Seq != seq {
			c.failf("chunk %d comes when %d is due", chunk.Seq, seq)
		}
		if most := c.chunkLimit(); int64(len(chunk.Bytes)) > most {
			c.failf("a chunk has %d bytes, more than %d", len(chunk.Bytes), most)
		}
		got = append(got, chunk.Bytes...)
		if int64(len(got)) > out.init.TotalSize {
			c.failf("%d bytes come, the offer said %d", len(got), out.init.TotalSize)
		}
		if chunk.Last {
			break
		}
	}
	if int64(len(got)) != out.init.TotalSize {
		c.failf("%d bytes come, the offer said %d", len(got), out.init.TotalSize)
	}
	out.content = got
}

// chunkLimit is how large a chunk may be.
func (c *Check) chunkLimit() int64 {
	if c.Role == Foot {
		return c.terms.chunkSize
	}
	return c.conn.Welcome.Settings.ChunkSize
}

// complete tells the peer that its file is here, and takes its finish.
func (out *outgoing) complete() {
	check := frames.HashCheckOk
	out.c.send(&frames.TransferComplete{TransferID: out.id, Ok: true, BytesWritten: int64(len(out.content)), HashCheck: &check})
	finish := expect[*frames.TransferFinish](out.c, out.id)
	if !finish.Ok {
		out.c.failf("transfer_finish says %s after a success", deref(finish.Error))
	}
	out.c.callSucceeds(out.call, out.content)
}

// gives takes the transfer_finish with which the peer gives up.
func (out *outgoing) gives(code common.ErrorCode, text string) {
	finish := expect[*frames.TransferFinish](out.c, out.id)
	if finish.Ok {
		out.c.failf("transfer_finish says ok, want %s", code)
	}
	out.c.failure("transfer_finish", finish.ErrorCode, finish.Error, code, text)
	out.c.callFails(out.call, code)
}

// get fetches a file whole.
func (c *Check) get(path string) []byte {
	out := c.fetch(ask{path: path})
	out.accept()
	out.receive()
	out.complete()
	if hash := hashOf(out.content); out.init.Hash == nil || *out.init.Hash != hash {
		c.failf("transfer_init told the hash %s, the content has %s", deref(out.init.Hash), hash)
	}
	return out.content
}

// holds checks that a file at the peer has a content.
func (c *Check) holds(path string, content []byte) {
	if got := c.get(path); !bytes.Equal(got, content) {
		c.failf("%q holds %d bytes with the hash %s, want %d with %s", path, len(got), hashOf(got), len(content), hashOf(content))
	}
}

// lacks checks that there is no file at a path.
func (c *Check) lacks(path string) {
	out := c.asked(ask{path: path})
	if out.init != nil {
		c.failf("%q is there", path)
	}
	if r := out.refusal(); r.OK || !c.isCode(r.ErrorCode, common.ErrorCodeNotFound) {
		c.failf("%q, which is not there, is refused with %s, want not_found", path, r)
	}
}

// refuses checks that the peer does not offer a file of this path.
func (c *Check) refuses(path string, text string, codes ...common.ErrorCode) {
	out := c.asked(ask{path: path})
	if out.init != nil {
		c.failf("%q is offered, want %s", path, codes[0])
	}
	r := out.refusal()
	if r.OK || !c.isCode(r.ErrorCode, codes...) {
		c.failf("%q is refused with %s, want one of %s", path, r, codes)
	}
	c.failure("the refusal", &r.ErrorCode, r.Error, r.ErrorCode, text)
}

func ptr[T any](v T) *T { return &v }

package suite

import (
	"bytes"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

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

// fetchNew makes a file at the peer and asks for it.
func (c *Check) fetchNew(content []byte) *outgoing {
	path := c.newPath()
	c.put(path, content)
	return c.fetch(ask{path: path})
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
	out.done()
	out.finished()
}

// done tells the peer that its file is here.
func (out *outgoing) done() {
	check := frames.HashCheckOk
	out.c.send(&frames.TransferComplete{TransferID: out.id, Ok: true, BytesWritten: int64(len(out.content)), HashCheck: &check})
}

// finished takes the peer's finish.
func (out *outgoing) finished() {
	finish := expect[*frames.TransferFinish](out.c, out.id)
	if !finish.Ok {
		out.c.failf("transfer_finish says %s after a success", deref(finish.Error))
	}
	out.c.callSucceeds(out.call, out.content)
}

// whole takes the file to its end.
func (out *outgoing) whole() {
	out.accept()
	out.receive()
	out.complete()
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
	out.whole()
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

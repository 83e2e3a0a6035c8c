package suite

import (
	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

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

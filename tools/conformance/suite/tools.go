package suite

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

// brainRules are about the tools by which a Brain moves files.
var brainRules = []*Rule{
	{Name: "tools/list", Source: "spec 6", Role: Brain,
		Says: "a Brain has the tools client_file_upload and client_file_download",
		run: func(c *Check) {
			ctx, cancel := c.within()
			defer cancel()
			names, err := c.agent.Tools(ctx)
			c.must(err, "tools/list")
			for _, want := range []string{"client_file_upload", "client_file_download"} {
				if !slices.Contains(names, want) {
					c.failf("tools/list has %q, not %s", names, want)
				}
			}
		}},
	{Name: "tools/upload-dir-not-found", Source: "spec 6.1", Role: Brain,
		Says: `an unknown dirName is "dirName not found", and no frame is sent`,
		run: func(c *Check) {
			c.callRefused("client_file_upload", map[string]any{"dirName": "no-such-dir"}, common.ErrorCodeDirNotFound, "dirName not found")
		}},
	{Name: "tools/download-dir-not-found", Source: "spec 6.2", Role: Brain,
		Says: `an unknown dirName is "dirName not found", and no frame is sent`,
		run: func(c *Check) {
			c.callRefused("client_file_download", map[string]any{"dirName": "no-such-dir"}, common.ErrorCodeDirNotFound, "dirName not found")
		}},
	{Name: "tools/unknown-argument", Source: "ruling: tools", Role: Brain,
		Says: "an unknown argument is a tool error invalid_request that names it",
		run: func(c *Check) {
			r := c.callRefused("client_file_upload", map[string]any{"x-conformance": 1}, common.ErrorCodeInvalidRequest, "")
			if !strings.Contains(deref(r.Error), "x-conformance") {
				c.failf("the error does not name x-conformance: %s", deref(r.Error))
			}
		}},
	{Name: "tools/missing-argument", Source: "ruling: tools", Role: Brain,
		Says: "a missing argument is a tool error invalid_request",
		run: func(c *Check) {
			c.callRefused("client_file_download", map[string]any{"localPath": nil}, common.ErrorCodeInvalidRequest, "")
		}},
	{Name: "tools/unknown-foot", Source: "ruling: tools", Role: Brain,
		Says: "the name of a Foot that is not connected is no_foot",
		run: func(c *Check) {
			c.callRefused("client_file_upload", map[string]any{"foot": "no-such-foot"}, common.ErrorCodeNoFoot, "")
		}},
	{Name: "tools/client-list", Source: "ruling: tools", Role: Brain,
		Says: "client_list tells what the Foot said in hello",
		run: func(c *Check) {
			r := c.callTool("client_list", map[string]any{})
			for _, foot := range r.Feet {
				if foot.Name == c.conn.Welcome.FootID && foot.ClientVersion == "conformance" && foot.OS == "linux" {
					return
				}
			}
			c.failf("client_list answers %s, want the Foot %q", r, c.conn.Welcome.FootID)
		}},
	{Name: "tools/attributes", Source: "spec 6.1", Role: Brain,
		Says: "the attributes of an upload travel in its request",
		run: func(c *Check) {
			in := c.propose(offer{path: c.newPath(), content: contentOf(9), toolArgs: map[string]any{
				"attrs": map[string]any{"mode": "0600", "mtime": "2026-05-01T14:23:11Z"}}}).opened()
			a := in.request.Attrs
			if a == nil || a.Mode == nil || a.Mtime == nil || !a.Mtime.Equal(sampleTime) || strings.TrimLeft(*a.Mode, "0o") != "600" {
				c.failf("the request carries %+v, want mode 0600 and %v", a, sampleTime)
			}
			c.send(in.init)
			in.accepted()
			in.stream(100)
			in.published()
		}},
	{Name: "tools/uuid", Source: "ruling: transferId", Role: Brain,
		Says: "a Brain mints a version 7 id for every transfer, and the result tells it",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(9)})
			if in.id.Version() != 7 {
				c.failf("the id %s has version %d", in.id, in.id.Version())
			}
			in.stream(100)
			in.completed()
			in.finish()
			if r := c.callSucceeds(in.call, in.content); r.TransferID != in.id.String() {
				c.failf("the result tells the id %q, want %s", r.TransferID, in.id)
			}
		}},
	{Name: "tools/no-wait-for-finish", Source: "ruling: lost finish at Brain", Role: Brain,
		Says: "an upload is answered once the file is there, before any transfer_finish",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(99)})
			in.stream(50)
			in.completed()
			c.callSucceeds(in.call, in.content)
			in.finish()
		}},
	{Name: "tools/local-failure", Source: "spec 5.4", Role: Brain,
		Says: "a transfer_finish in place of transfer_init fails the upload with the Foot's error",
		run: func(c *Check) {
			in := c.propose(offer{path: c.newPath(), content: contentOf(9)}).opened()
			c.send(&frames.TransferFinish{TransferID: in.id, Error: ptr("file not found: a trial"), ErrorCode: ptr(common.ErrorCodeNotFound)})
			if r := c.callFails(in.call, common.ErrorCodeNotFound); !strings.Contains(deref(r.Error), "file not found") {
				c.failf("the result says %q, want the Foot's words", deref(r.Error))
			}
			c.lacks(in.path)
		}},
	{Name: "tools/uninvited-init", Source: "ruling: unknown id", Role: Brain,
		Says: "a transfer_init that nobody asked for is refused with unknown_transfer",
		run: func(c *Check) {
			path, content := c.newPath(), contentOf(10)
			id := uuid.Must(uuid.NewV7())
			c.send(&frames.TransferInit{TransferID: id, Target: path, DirName: &c.dir, TotalSize: 10, Hash: ptr(hashOf(content))})
			r := expect[*frames.TransferInitResponse](c, id)
			if r.Ok {
				c.failf("it is accepted")
			}
			c.failure("transfer_init_response", r.ErrorCode, r.Error, common.ErrorCodeUnknownTransfer, "")
			c.lacks(path)
		}},
	{Name: "tools/other-target", Source: "ruling: upload target", Role: Brain,
		Says: "a transfer_init that names another path than was asked for is refused",
		run: func(c *Check) {
			other := c.newPath()
			in := c.propose(offer{path: c.newPath(), content: contentOf(10), tell: func(f *frames.TransferInit) { f.Target = other }}).opened()
			c.otherPlace(in)
			c.lacks(other)
		}},
	{Name: "tools/other-dir", Source: "ruling: upload target", Role: Brain,
		Says: "a transfer_init that names another RootDir than was asked for is refused",
		run: func(c *Check) {
			in := c.propose(offer{path: c.newPath(), content: contentOf(10), tell: func(f *frames.TransferInit) { f.DirName = ptr("elsewhere") }}).opened()
			c.otherPlace(in)
		}},
	{Name: "tools/cancelled-upload", Source: "ruling: cancelling a peer without cancel", Role: Brain,
		Says: "a cancelled call of a running upload ends it with transfer_complete cancelled, and nothing is published",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(1000)})
			in.chunk(in.content[:100], false)
			in.call.cancel()
			done := expect[*frames.TransferComplete](c, in.id)
			if done.Ok {
				c.failf("the transfer succeeds after its call was cancelled")
			}
			c.failure("transfer_complete", done.ErrorCode, done.Error, common.ErrorCodeCancelled, "")
			c.send(&frames.TransferFinish{TransferID: in.id, Error: done.Error, ErrorCode: done.ErrorCode})
			c.lacks(in.path)
		}},
	{Name: "tools/cancelled-download", Source: "ruling: cancelling a peer without cancel", Role: Brain,
		Says: "a cancelled call of a running download ends it with transfer_finish cancelled",
		run: func(c *Check) {
			out := c.fetchNew(contentOf(10))
			out.call.cancel()
			finish := expect[*frames.TransferFinish](c, out.id)
			if finish.Ok {
				c.failf("transfer_finish says ok after the call was cancelled")
			}
			c.failure("transfer_finish", finish.ErrorCode, finish.Error, common.ErrorCodeCancelled, "")
		}},
	{Name: "tools/cancelled-request", Source: "ruling: cancelling a peer without cancel", Role: Brain,
		Says: "a call that is cancelled before the Foot's transfer_init refuses it when it comes",
		run: func(c *Check) {
			in := c.propose(offer{path: c.newPath(), content: contentOf(1000)}).opened()
			in.call.cancel()
			<-in.call.done
			c.settled(in.id)
			c.send(in.init)
			r := expect[*frames.TransferInitResponse](c, in.id)
			if r.Ok {
				c.failf("transfer_init is accepted after its call was cancelled")
			}
			c.failure("transfer_init_response", r.ErrorCode, r.Error, common.ErrorCodeCancelled, "")
			c.send(&frames.TransferFinish{TransferID: in.id, Error: r.Error, ErrorCode: r.ErrorCode})
			c.lacks(in.path)
		}},
	{Name: "tools/idempotency-key", Source: "ruling: tools", Role: Brain,
		Says: "a second call of one idempotencyKey answers the first one's receipt and moves nothing; with other arguments it is conflict",
		run:  idempotencyKey},
	{Name: "tools/transfer-status", Source: "ruling: tools", Role: Brain,
		Says: "transfer_status tells a running transfer and how it ended",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(10)})
			if r := c.callTool("transfer_status", map[string]any{"transferId": in.id.String()}); len(r.Transfers) != 1 || r.Transfers[0].TransferID != in.id.String() {
				c.failf("transfer_status answers %s", r)
			}
			in.stream(10)
			in.published()
			if r := c.callTool("transfer_status", map[string]any{"transferId": in.id.String()}); len(r.Transfers) != 1 || r.Transfers[0].State != "complete" {
				c.failf("transfer_status answers %s after the success", r)
			}
		}},
}

// callRefused checks that a call is refused without any frame to the Foot.
func (c *Check) callRefused(tool string, args map[string]any, code common.ErrorCode, text string) *peer.Result {
	all := map[string]any{"localPath": "a", "dirName": c.dir, "remotePath": c.newPath()}
	for name, value := range args {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	k := c.begin(tool, all)
	r := c.callFails(k, code)
	if !strings.HasPrefix(deref(r.Error), text) {
		c.failf("the error is %q, want one that begins with %q", deref(r.Error), text)
	}
	c.holdsStill()
	return r
}

// otherPlace checks that an offer of another place is refused.
func (c *Check) otherPlace(in *incoming) {
	c.send(in.init)
	r := expect[*frames.TransferInitResponse](c, in.id)
	if r.Ok {
		c.failf("it is accepted")
	}
	c.send(&frames.TransferFinish{TransferID: in.id, Error: r.Error, ErrorCode: r.ErrorCode})
	if answer := c.answer(in.call); answer.OK {
		c.failf("the call succeeds: %s", answer)
	}
	c.lacks(in.path)
}

// settled waits until the Brain counts a transfer as ended, whatever it answers to
// a cancelled call.
func (c *Check) settled(id common.TransferID) {
	ctx, cancel := context.WithTimeout(c.ctx, c.Patience)
	defer cancel()
	for {
		r, err := c.agent.Call(ctx, "transfer_status", map[string]any{"transferId": id.String()})
		c.must(err, "transfer_status")
		if len(r.Transfers) == 1 && r.Transfers[0].State == "cancelled" {
			return
		}
		if ctx.Err() != nil {
			c.failf("transfer_status answers %s after the call was cancelled", r)
		}
	}
}

func idempotencyKey(c *Check) {
	key := uuid.NewString()
	content := contentOf(77)
	in := c.propose(offer{path: c.newPath(), content: content, toolArgs: map[string]any{"idempotencyKey": key}}).opened()
	args := map[string]any{"localPath": in.request.LocalPath, "dirName": c.dir, "remotePath": in.path, "idempotencyKey": key}
	c.send(in.init)
	in.accepted()
	in.stream(100)
	in.published()

	again := c.begin("client_file_upload", args)
	if r := c.callSucceeds(again, content); r.TransferID != in.id.String() {
		c.failf("the second call tells the transfer %q, want %s", r.TransferID, in.id)
	}
	args["remotePath"] = c.newPath()
	c.callFails(c.begin("client_file_upload", args), common.ErrorCodeConflict)
	c.holdsStill()
}

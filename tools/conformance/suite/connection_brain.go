package suite

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

// brainConnectionRules are about a Brain's side of a connection.
var brainConnectionRules = []*Rule{
	refusedUpgrade("http/no-token", "no token is 401 with WWW-Authenticate: Bearer", 401, func(c *Check, r *peer.Request) { r.Token = "" }),
	refusedUpgrade("http/bad-token", "a token that nobody made is 401", 401, func(c *Check, r *peer.Request) { r.Token = "x" + r.Token }),
	refusedUpgrade("http/no-bearer", "another scheme than Bearer is 401", 401, func(c *Check, r *peer.Request) { r.OtherAuthority = "Basic " + r.Token }),
	refusedUpgrade("http/other-tenant", "a token of another tenant is 403", 403, func(c *Check, r *peer.Request) {
		r.URL = strings.TrimSuffix(r.URL, "/ws") + "-x/ws"
	}),
	refusedUpgrade("http/other-role", "a token that is no Foot's is 403", 403, func(c *Check, r *peer.Request) { r.Token = c.AgentToken }),
	refusedUpgrade("http/no-subprotocol", "no subprotocol is 400", 400, func(c *Check, r *peer.Request) { r.NoSubprotocol = true }),
	refusedUpgrade("http/unknown-path", "an unknown path is 404", 404, func(c *Check, r *peer.Request) { r.URL += "x" }),
	refusedUpgrade("http/order-path", "the path is looked at before the token", 404, func(c *Check, r *peer.Request) { r.URL += "x"; r.Token = "" }),
	refusedUpgrade("http/order-token", "the token is looked at before the subprotocol", 401, func(c *Check, r *peer.Request) {
		r.Token, r.NoSubprotocol = "", true
	}),
	refusedUpgrade("http/order-tenant", "tenant and role are looked at before the subprotocol", 403, func(c *Check, r *peer.Request) {
		r.Token, r.NoSubprotocol = c.AgentToken, true
	}),
	{Name: "http/subprotocol", Source: "ruling: connection", Role: Brain,
		Says: "the upgrade names the subprotocol",
		run: func(c *Check) {
			if got := c.conn.Response.Header.Get("Sec-WebSocket-Protocol"); got != peer.Subprotocol {
				c.failf("Sec-WebSocket-Protocol is %q, want %q", got, peer.Subprotocol)
			}
		}},
	{Name: "handshake/welcome", Source: "ruling: connection", Role: Brain,
		Says: "hello is answered with welcome, which names tenant, Foot and settings, and with nothing else",
		run: func(c *Check) {
			c.fresh(usualTerms())
			w := c.conn.Welcome
			switch tenant := c.TenantURL[strings.LastIndex(c.TenantURL, "/")+1:]; {
			case w.ProtocolVersion != 1:
				c.failf("protocolVersion is %d", w.ProtocolVersion)
			case w.Tenant != tenant:
				c.failf("tenant is %q, want %q", w.Tenant, tenant)
			case w.FootID == "" || w.ProjectID == "":
				c.failf("footId is %q, projectId %q", w.FootID, w.ProjectID)
			}
			c.holdsStill()
		}},
	{Name: "handshake/no-features", Source: "ruling: connection", Role: Brain,
		Says: "for a Foot without extensions none is in force",
		run: func(c *Check) {
			c.fresh(usualTerms())
			if got := c.conn.Welcome.Features; len(got) != 0 {
				c.failf("features in force are %q, offered was none", got)
			}
		}},
	{Name: "handshake/features", Source: "ruling: connection", Role: Brain,
		Says: "only what both know is in force: an extension that nobody knows is not, and takes nothing away",
		run: func(c *Check) {
			w := c.welcomed(peer.NewHello([]string{"x-conformance"}))
			if len(w.Features) != 0 {
				c.failf("features in force are %q, offered was x-conformance only", w.Features)
			}
		}},
	{Name: "handshake/own-name", Source: "ruling: connection", Role: Brain,
		Says: "a Foot may say its own name in hello",
		run: func(c *Check) {
			hello := peer.NewHello(nil)
			hello.FootID = c.conn.Welcome.FootID
			if w := c.welcomed(hello); w.FootID != hello.FootID {
				c.failf("footId of the welcome is %q, want %q", w.FootID, hello.FootID)
			}
		}},
	refusedHello("handshake/other-name", "another name than the token's is identity_mismatch, and the connection closed with 1008",
		common.ErrorCodeIdentityMismatch, `{"type":"hello","protocolVersion":1,"footId":"somebody-else","clientVersion":"x","os":"linux","access":"edit","grants":[],"features":[]}`),
	refusedHello("handshake/unsupported-version", "another protocol version is unsupported_version, whatever else is new in the hello",
		common.ErrorCodeUnsupportedVersion, `{"type":"hello","protocolVersion":2,"who":"x"}`),
	refusedHello("handshake/no-version", "a hello without a protocol version is unsupported_version",
		common.ErrorCodeUnsupportedVersion, `{"type":"hello","footId":"","clientVersion":"x","os":"linux","access":"edit","grants":[],"features":[]}`),
	refusedHello("handshake/other-frame", "another frame than hello is handshake_failed",
		common.ErrorCodeHandshakeFailed, `{"type":"transfer_finish","transferId":"01989f2e-7c1a-7b5e-9d3f-2a4b6c8d0e1f","ok":true}`),
	refusedHello("handshake/no-json", "what is no JSON in place of hello is handshake_failed", common.ErrorCodeHandshakeFailed, `hello`),
	{Name: "handshake/binary", Source: "ruling: broken handshake", Role: Brain,
		Says: "a binary message in place of hello is handshake_failed, and the connection closed with 1008",
		run: func(c *Check) {
			c.apart(func() {
				c.must(c.conn.SendBinary([]byte(`{"type":"hello"}`)), "sending a binary message")
				c.awaitError(common.ErrorCodeHandshakeFailed)
				c.closes(1008, "")
			})
		}},
	{Name: "connection/replaced", Source: "ruling: connection", Role: Brain,
		Says: `a second connection of one Foot replaces the first, which is closed with 1008 "replaced"`,
		run: func(c *Check) {
			older := c.conn
			c.conn = nil
			c.connect(usualTerms())
			code, reason, err := older.AwaitEnd(c.Patience)
			if err != nil || code != 1008 || !strings.HasPrefix(reason, "replaced") {
				c.failf("the older connection ends with %d %q (%v), want 1008 replaced", code, reason, err)
			}
			c.put(c.newPath(), contentOf(10))
		}},
	{Name: "connection/lost", Source: "ruling: lost connection", Role: Brain,
		Says: "a lost connection fails the call with connection_lost within a second, and nothing is published",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(3000)})
			in.chunk(in.content[:1000], false)
			began := time.Now()
			c.conn.Cut()
			c.callFails(in.call, common.ErrorCodeConnectionLost)
			// The rule is a second; the rest is for the way of the answer.
			if took := time.Since(began); took > 2*time.Second {
				c.failf("the call fails after %v, want one second", took.Round(time.Millisecond))
			}
			c.connect(usualTerms())
			c.lacks(in.path)
			c.put(in.path, contentOf(2000))
		}},
	{Name: "connection/old-ids", Source: "ruling: unknown id", Role: Brain,
		Says: "a transfer of an older connection is unknown on the next one",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(3000)})
			c.conn.Cut()
			c.callFails(in.call, common.ErrorCodeConnectionLost)
			c.connect(usualTerms())
			in.chunk(in.content, true)
			c.awaitError(common.ErrorCodeUnknownTransfer)
		}},
	{Name: "connection/no-foot", Source: "ruling: tools", Role: Brain,
		Says: "without a Foot the transfer tools answer no_foot",
		run: func(c *Check) {
			c.disconnect()
			deadline := time.Now().Add(c.Patience)
			for {
				r := c.callTool("client_file_upload", map[string]any{"localPath": "a", "dirName": c.dir, "remotePath": c.newPath()})
				// The Brain may read our goodbye a moment after the call.
				if r.ErrorCode == common.ErrorCodeConnectionLost && time.Now().Before(deadline) {
					continue
				}
				if r.OK || r.ErrorCode != common.ErrorCodeNoFoot {
					c.failf("the call answers %s, want no_foot", r)
				}
				return
			}
		}},
}

// refusedUpgrade is a rule of a request that does not become a WebSocket.
func refusedUpgrade(name, says string, status int, change func(*Check, *peer.Request)) *Rule {
	return &Rule{Name: name, Source: "ruling: connection", Role: Brain, Says: says, run: func(c *Check) {
		r := peer.Request{URL: peer.WebSocketURL(c.TenantURL), Token: c.FootToken}
		change(c, &r)
		ctx, cancel := c.within()
		defer cancel()
		conn, err := peer.Dial(ctx, r)
		var refused *peer.RefusedError
		switch {
		case err == nil:
			conn.Cut()
			c.failf("the upgrade succeeds, want HTTP %d", status)
		case !errors.As(err, &refused):
			c.failf("%v", err)
		case refused.Status != status:
			c.failf("the answer is %v, want HTTP %d", refused, status)
		}
		if status == http.StatusUnauthorized && !strings.HasPrefix(refused.Header.Get("WWW-Authenticate"), "Bearer") {
			c.failf("WWW-Authenticate is %q with 401, want Bearer", refused.Header.Get("WWW-Authenticate"))
		}
		if status == http.StatusNotFound {
			return // whatever serves other paths may say so in its own way
		}
		var body struct {
			Error     string           `json:"error"`
			ErrorCode common.ErrorCode `json:"errorCode"`
		}
		if err := json.Unmarshal(refused.Body, &body); err != nil || body.Error == "" || body.ErrorCode == "" {
			c.failf("the body is not {error, errorCode}: %v", refused)
		}
	}}
}

// refusedHello is a rule of a first message that opens no connection.
func refusedHello(name, says string, code common.ErrorCode, message string) *Rule {
	return &Rule{Name: name, Source: "ruling: broken handshake", Role: Brain, Says: says, run: func(c *Check) {
		c.apart(func() {
			c.text(message)
			c.awaitError(code)
			c.closes(1008, "")
		})
	}}
}

// apart does something on a second connection on which no hello was sent, and takes
// the first up again: until its hello a newcomer replaces nobody.
func (c *Check) apart(do func()) {
	first := c.conn
	conn, err := c.open()
	c.must(err, "connecting")
	c.conn = conn
	defer func() {
		c.conn = first
		conn.Cut()
	}()
	do()
	c.loose = false
}

// welcomed connects with a hello of its own and returns the answer.
func (c *Check) welcomed(hello *frames.Hello) *frames.Welcome {
	c.disconnect()
	conn, err := c.open()
	c.must(err, "connecting")
	c.conn = conn
	c.send(hello)
	w, err := conn.AwaitWelcome(c.Patience)
	c.must(err, "the handshake")
	return w
}

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
			path := c.newPath()
			c.put(path, contentOf(10))
			out := c.fetch(ask{path: path})
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

// sampleTime is a time that every file system holds.
var sampleTime = time.Date(2026, 5, 1, 14, 23, 11, 0, time.UTC)

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

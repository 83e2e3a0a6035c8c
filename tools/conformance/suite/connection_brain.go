package suite

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

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

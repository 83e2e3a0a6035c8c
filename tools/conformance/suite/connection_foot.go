package suite

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

// lastRules end a Foot, and so come last.
var lastRules = []*Rule{
	{Name: "handshake/foot-unsupported-version", Source: "ruling: broken handshake", Role: Foot, Last: true,
		Says: "a welcome of another protocol version is answered with unsupported_version, and the connection closed with 1008",
		run: func(c *Check) {
			c.disconnect()
			c.openFoot()
			c.text(strings.Replace(c.welcomeText(), `"protocolVersion":1`, `"protocolVersion":2`, 1))
			c.awaitError(common.ErrorCodeUnsupportedVersion)
			c.closes(1008, "")
		}},
}

// openFoot takes a connection of the Foot and its hello, and sends no welcome.
func (c *Check) openFoot() {
	conn, err := c.open()
	c.must(err, "awaiting the Foot")
	c.conn, c.subject.terms = conn, usualTerms()
	_, err = conn.AwaitHello(c.Patience)
	c.must(err, "awaiting hello")
}

// welcomeText is the welcome that the Foot would get.
func (c *Check) welcomeText() string {
	raw, err := c.newWelcome(nil).AppendJSON(nil)
	c.must(err, "writing a welcome")
	return string(raw)
}

// footConnectionRules are about a Foot's side of a connection.
var footConnectionRules = []*Rule{
	{Name: "handshake/request", Source: "ruling: connection", Role: Foot,
		Says: "a Foot asks for /brain/{tenant}/ws with its token as a bearer and offers the subprotocol",
		run: func(c *Check) {
			if problems := c.Listener.Problems(); len(problems) > 0 {
				c.failf("a request %s", problems[0])
			}
		}},
	{Name: "handshake/hello", Source: "ruling: connection", Role: Foot,
		Says: "a Foot begins with hello: protocol version 1, and access, grants and features always told",
		run: func(c *Check) {
			c.disconnect()
			c.openFoot()
			h := c.conn.Hello
			raw, err := h.AppendJSON(nil)
			c.must(err, "writing hello")
			if h.ProtocolVersion != 1 || h.ClientVersion == "" || h.Access == "" || h.Grants == nil || h.Features == nil {
				c.failf("hello lacks something: %s", peer.Brief(raw))
			}
			if m, err := c.conn.Await(200*time.Millisecond, func(*peer.Message) bool { return true }); err == nil {
				c.failf("a frame before the welcome: %s", peer.Brief(m.Raw))
			}
			c.must(c.welcome(nil), "welcome")
		}},
	{Name: "handshake/unknown-feature", Source: "ruling: evolution", Role: Foot,
		Says: "a Foot takes no harm from an extension in the welcome that it did not offer",
		run: func(c *Check) {
			c.disconnect()
			c.openFoot()
			c.text(strings.Replace(c.welcomeText(), `"features":[]`, `"features":["x-conformance"]`, 1))
			c.put(c.newPath(), contentOf(10))
		}},
	{Name: "handshake/no-welcome", Source: "ruling: broken handshake", Role: Foot,
		Says: "another frame in place of the welcome is handshake_failed, closes with 1008, and the Foot comes back",
		run: func(c *Check) {
			for _, first := range []string{
				`{"type":"client.file.upload.request","transferId":"` + uuid.NewString() + `","localPath":"a","dirName":"b","remotePath":"c"}`,
				"no JSON",
			} {
				c.backAtOnce()
				c.disconnect()
				c.openFoot()
				c.text(first)
				c.awaitError(common.ErrorCodeHandshakeFailed)
				c.closes(1008, "")
			}
			c.connect(usualTerms())
		}},
	{Name: "connection/reconnects", Source: "ruling: reconnect", Role: Foot,
		Says: "a Foot comes back after a cut and after every close that is no final refusal",
		run: func(c *Check) {
			for _, end := range []func(){
				c.conn.Cut,
				func() { c.conn.Close(1001, "going away") },
				func() { c.conn.Close(1012, "restart") },
			} {
				c.backAtOnce()
				end()
				c.connect(usualTerms())
			}
			c.put(c.newPath(), contentOf(10))
		}},
	{Name: "connection/foot-lost", Source: "ruling: lost connection", Role: Foot,
		Says: "a lost connection ends the transfer: nothing is published, and the target is free at once",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(3000)})
			in.chunk(in.content[:1000], false)
			c.conn.Cut()
			c.connect(usualTerms())
			c.lacks(in.path)
			c.put(in.path, contentOf(2000))
		}},
	{Name: "settings/chunk-size", Source: "ruling: whose settings", Role: Foot,
		Says: "a Foot's chunks are no larger than the welcome's chunkSize",
		run: func(c *Check) {
			c.put("conformance/chunks.bin", contentOf(5000))
			small := usualTerms()
			small.chunkSize = 1000
			c.fresh(small)
			out := c.fetch(ask{path: "conformance/chunks.bin"})
			out.whole()
		}},
	{Name: "settings/max-frame-size", Source: "ruling: whose settings", Role: Foot,
		Says: "a Foot's chunks fit into the welcome's maxFrameSize, whatever chunkSize says",
		run: func(c *Check) {
			c.put("conformance/frames.bin", contentOf(200_000))
			t := usualTerms()
			t.maxFrameSize = 64 << 10
			c.fresh(t)
			out := c.fetch(ask{path: "conformance/frames.bin"})
			out.accept()
			for last := false; !last; {
				m := c.await("transfer_chunk", peer.Of[*frames.TransferChunk](out.id))
				if len(m.Raw) > 64<<10 {
					c.failf("a frame has %d bytes, the welcome said at most %d", len(m.Raw), 64<<10)
				}
				chunk := m.Frame.(*frames.TransferChunk)
				out.content, last = append(out.content, chunk.Bytes...), chunk.Last
			}
			out.complete()
		}},
	{Name: "settings/max-upload-size", Source: "ruling: sizes", Role: Foot,
		Says: "a Foot offers no file above the welcome's maxUploadSize, and one of exactly that size",
		run: func(c *Check) {
			c.put("conformance/more.bin", contentOf(1001))
			c.put("conformance/exact.bin", contentOf(1000))
			t := usualTerms()
			t.maxUpload = 1000
			c.fresh(t)
			c.refuses("conformance/more.bin", "exceeds size limit", common.ErrorCodeSizeLimit)
			c.holds("conformance/exact.bin", contentOf(1000))
		}},
}

// backAtOnce moves a file, after which a Foot waits no longer than its minimum
// before it connects again.
func (c *Check) backAtOnce() {
	c.connect(usualTerms())
	c.put(c.newPath(), contentOf(1))
}

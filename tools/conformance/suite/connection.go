package suite

import (
	"bytes"

	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

// connectionRules are what both ends of a connection must do.
var connectionRules = []*Rule{
	{Name: "connection/unknown-type", Source: "ruling: evolution", Role: Both,
		Says: "a frame of a type that nobody knows is answered with unknown_type, and the connection lives",
		run: func(c *Check) {
			c.text(`{"type":"x-conformance","transferId":"` + uuid.NewString() + `"}`)
			c.awaitError(common.ErrorCodeUnknownType)
			c.holdsStill()
		}},
	{Name: "connection/unknown-members", Source: "ruling: evolution", Role: Both,
		Says: "members that nobody knows are ignored in every frame of a transfer",
		run:  unknownMembers},
	{Name: "connection/errors-are-not-answered", Source: "ruling: error frames", Role: Both,
		Says: "an error frame is never answered and ends nothing",
		run: func(c *Check) {
			id := uuid.Must(uuid.NewV7())
			c.send(&frames.ErrorFrame{Code: common.ErrorCodeInternal, Message: "a trial", TransferID: &id})
			c.send(&frames.ErrorFrame{Code: common.ErrorCodeUnknownType, Message: "a trial"})
			c.holdsStill()
		}},
	{Name: "connection/errors-are-limited", Source: "ruling: error frames", Role: Both,
		Says: "of many faulty frames at once at most 50 a second are answered, and the connection lives",
		run:  errorsAreLimited},
	{Name: "connection/pongs", Source: "RFC 6455 5.5.3", Role: Both,
		Says: "a ping is answered with a pong",
		run: func(c *Check) {
			for range 3 {
				c.must(c.conn.Barrier(c.Patience), "awaiting a pong")
			}
		}},
	{Name: "connection/invalid-utf8", Source: "ruling: schema-invalid frame", Role: Both,
		Says: "a text message that is no UTF-8 closes the connection with 1007",
		run: func(c *Check) {
			c.text("{\"type\":\"transfer_finish\",\"x\":\"\xff\"}")
			c.closes(1007, "")
		}},
	{Name: "connection/too-large", Source: "ruling: read limits", Role: Both,
		Says: "a message above the read limit closes the connection with 1009",
		run:  tooLargeMessage},
	{Name: "connection/wrong-direction", Source: "ruling: frame of the wrong direction", Role: Both,
		Says: "a frame that only the other role may receive is unexpected_frame and without effect",
		run: func(c *Check) {
			if c.Role == Brain {
				c.send(&frames.ClientFileUploadRequest{TransferID: uuid.Must(uuid.NewV7()), LocalPath: "a", DirName: "b", RemotePath: "c"})
			} else {
				c.send(peer.NewHello(nil))
			}
			c.awaitError(common.ErrorCodeUnexpectedFrame)
			c.holdsStill()
		}},
	{Name: "connection/feature-not-in-force", Source: "ruling: frame of a feature not in force", Role: Both,
		Says: "a frame of an extension that is not in force is unexpected_frame and touches no transfer",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(1000)})
			c.send(&frames.TransferCancel{TransferID: in.id, Reason: "a trial"})
			c.awaitError(common.ErrorCodeUnexpectedFrame)
			c.send(&frames.TransferProgress{TransferID: in.id, State: frames.ProgressStateStreaming, TotalBytes: 1000})
			c.awaitError(common.ErrorCodeUnexpectedFrame)
			in.stream(100)
			in.published()
		}},
}

// holdsStill checks that nothing more comes, and that the connection is of use.
func (c *Check) holdsStill() {
	c.must(c.conn.Barrier(c.Patience), "awaiting a pong")
	if left := c.conn.Untaken(); len(left) > 0 {
		c.failf("the peer goes on with %s", peer.Brief(left[0].Raw))
	}
}

// closes checks the code with which the peer closes the connection. A code of 0
// leaves it open which.
func (c *Check) closes(code int, reason string) {
	c.loose = true // what the peer said before is judged, not counted
	got, why, err := c.conn.AwaitEnd(c.Patience)
	if err != nil {
		c.failf("the connection is not closed within %v", c.Patience)
	}
	if found := c.conn.Violations(); len(found) > 0 {
		c.failf("the peer %s", found[0])
	}
	if code != 0 && got != code {
		c.failf("the connection is closed with %d %q, want %d", got, why, code)
	}
	if !strings.HasPrefix(why, reason) {
		c.failf("the connection is closed with the reason %q, want %q", why, reason)
	}
}

// unknownMembers sends each frame with members that nobody knows.
func unknownMembers(c *Check) {
	more := func(f frames.Frame) {
		raw, err := f.AppendJSON(nil)
		c.must(err, "writing a frame")
		raw = bytes.Replace(raw, []byte(`{`), []byte(`{"x-new":{"a":[1,null]},"Ok":3,`), 1)
		c.must(c.conn.SendText(raw), "sending a frame")
	}
	content := contentOf(300)
	in := c.propose(offer{path: c.newPath(), content: content}).opened()
	more(in.init)
	in.accepted()
	more(&frames.TransferChunk{TransferID: in.id, Seq: 0, Bytes: content, Last: true})
	in.completed()
	more(&frames.TransferFinish{TransferID: in.id, Ok: true})
	c.callSucceeds(in.call, content)

	out := c.fetch(ask{path: in.path})
	more(&frames.TransferInitResponse{TransferID: out.id, Ok: true})
	out.receive()
	if !bytes.Equal(out.content, content) {
		c.failf("another content comes back")
	}
	check := frames.HashCheckOk
	more(&frames.TransferComplete{TransferID: out.id, Ok: true, BytesWritten: 300, HashCheck: &check})
	if finish := expect[*frames.TransferFinish](c, out.id); !finish.Ok {
		c.failf("transfer_finish says %s", deref(finish.Error))
	}
	c.callSucceeds(out.call, content)
}

// errorsAreLimited asks for far more error frames than may come.
func errorsAreLimited(c *Check) {
	c.fresh(usualTerms())
	c.pace = pace{}
	const asked = 400
	for range asked {
		c.text(`{"type":"x-conformance"}`)
	}
	c.must(c.conn.Barrier(c.Patience), "awaiting a pong")
	var at []time.Time
	for {
		// The pong may have come before what was queued longer.
		m, err := c.conn.Await(200*time.Millisecond, peer.Any[*frames.ErrorFrame])
		if err != nil {
			break
		}
		at = append(at, m.At)
	}
	if len(at) == 0 {
		c.failf("of %d faulty frames none is answered", asked)
	}
	for i := range at {
		// A tenth of a second is for frames that waited on the way.
		if i+51 < len(at) && at[i+51].Sub(at[i]) < 900*time.Millisecond {
			c.failf("%d error frames come, more than 50 of them within a second", len(at))
		}
	}
	c.fresh(usualTerms())
	c.put(c.newPath(), contentOf(10))
}

// mostFrameSize is above the largest read limit that can be set.
const mostFrameSize = 64<<20 + 1

func tooLargeMessage(c *Check) {
	size := int64(mostFrameSize)
	if c.Role == Brain {
		size = c.conn.Welcome.Settings.MaxFrameSize + 1
	}
	message := bytes.Repeat([]byte(" "), int(size))
	_ = c.conn.SendText(message) // the peer need not take it all
	code, reason, err := c.conn.AwaitEnd(c.Patience)
	if err != nil {
		c.failf("the connection goes on after a message of %d bytes", size)
	}
	// A reset may swallow the close frame while we still send.
	if code != 1009 && code != 1006 {
		c.failf("the connection is closed with %d %q, want 1009", code, reason)
	}
}

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
			out.accept()
			out.receive()
			out.complete()
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

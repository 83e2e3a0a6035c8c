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

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

// senderRules are about a peer that sends a file.
var senderRules = []*Rule{
	sends("sender/one-chunk", "spec 5.1", "a small file is offered with size and hash, and sent", 1000),
	sends("sender/chunks", "spec 5.1", "a file of many chunks is sent in order, each within the chunk size", 300_001),
	sends("sender/whole-chunks", "ruling: sizes", "a file of exactly k chunks is sent", 3*64<<10),
	{Name: "sender/empty", Source: "spec 4.4", Role: Both,
		Says: "an empty file is one empty last chunk with seq 0",
		run: func(c *Check) {
			out := c.fetchNew(nil)
			out.accept()
			chunk := expect[*frames.TransferChunk](c, out.id)
			if chunk.Seq != 0 || len(chunk.Bytes) != 0 || !chunk.Last {
				c.failf("the chunk is seq %d with %d bytes, last %v", chunk.Seq, len(chunk.Bytes), chunk.Last)
			}
			out.complete()
		}},
	{Name: "sender/offer", Source: "spec 4.2", Role: Both,
		Says: "the offer tells the size, the hash, the attributes and the place that was asked for, and no path of the sender's machine",
		run: func(c *Check) {
			out := c.fetchNew(contentOf(100))
			f := out.init
			switch {
			case f.TotalSize != 100:
				c.failf("totalSize is %d, want 100", f.TotalSize)
			case f.Hash == nil || *f.Hash != hashOf(contentOf(100)):
				c.failf("hash is %s, want %s", deref(f.Hash), hashOf(contentOf(100)))
			case f.Source != nil && (strings.HasPrefix(*f.Source, "/") || strings.Contains(*f.Source, `:\`)):
				c.failf("source is %q, a path of the sender's machine", *f.Source)
			case f.Attrs == nil || f.Attrs.Mode == nil || f.Attrs.Mtime == nil:
				c.failf("the attributes of the file are not told: %s", attrsText(f.Attrs))
			case c.Role == Foot && (f.Target != "in/it.bin" || f.DirName == nil || *f.DirName != "inbox"):
				c.failf("the place is %q in %s, want in/it.bin in inbox", f.Target, deref(f.DirName))
			case c.Role == Brain && f.DirName != nil:
				c.failf("dirName is told to a Foot: %q", *f.DirName)
			}
			out.whole()
		}},
	{Name: "sender/attributes-of-the-call", Source: "spec 6", Role: Both,
		Says: "attributes that were asked for go before those of the file, field by field",
		run: func(c *Check) {
			path := c.newPath()
			in := c.offer(offer{path: path, content: contentOf(100), attrs: &common.FileAttrs{Mtime: &sampleTime}})
			in.stream(100)
			in.published()
			out := c.fetch(ask{path: path, attrs: &common.FileAttrs{Mode: ptr("0640")}, toolArgs: map[string]any{"attrs": map[string]any{"mode": "0640"}}})
			mode, err := modeOf(out.init.Attrs)
			if err != nil || mode != 0o640 || out.init.Attrs.Mtime == nil || !out.init.Attrs.Mtime.Equal(sampleTime) {
				c.failf("the attributes are %s, want mode 0640 and the file's mtime", attrsText(out.init.Attrs))
			}
			out.whole()
		}},
	{Name: "sender/waits-for-the-answer", Source: "spec 5.1", Role: Both,
		Says: "no chunk is sent before the transfer_init_response",
		run: func(c *Check) {
			out := c.fetchNew(contentOf(100))
			if m, err := c.conn.Await(150*time.Millisecond, peer.Of[*frames.TransferChunk](out.id)); err == nil {
				c.failf("a chunk comes before the answer: %s", peer.Brief(m.Raw))
			}
			out.whole()
		}},
	{Name: "sender/refused", Source: "spec 5.2", Role: Both,
		Says: "a refused offer is ended with transfer_finish and no chunk, and the call tells why",
		run: func(c *Check) {
			out := c.fetchNew(contentOf(100))
			c.send(&frames.TransferInitResponse{TransferID: out.id, Error: ptr("disk full: a trial"), ErrorCode: ptr(common.ErrorCodeDiskFull)})
			out.gives(common.ErrorCodeDiskFull, "disk full")
			c.silent(out.id, "the refusal")
		}},
	{Name: "sender/mid-stream-failure", Source: "spec 5.3", Role: Both,
		Says: "a failing transfer_complete while streaming stops the stream and is ended with transfer_finish",
		run: func(c *Check) {
			out := c.midStream()
			c.send(&frames.TransferComplete{TransferID: out.id, Error: ptr("disk full: a trial"), ErrorCode: ptr(common.ErrorCodeDiskFull)})
			c.stops(out, common.ErrorCodeDiskFull, "disk full")
		}},
	{Name: "sender/failure-at-the-end", Source: "spec 5.3", Role: Both,
		Says: "a failing transfer_complete after the last chunk is ended with transfer_finish, and the call tells why",
		run: func(c *Check) {
			out := c.fetchNew(contentOf(100))
			out.accept()
			out.receive()
			check := frames.HashCheckMismatch
			c.send(&frames.TransferComplete{TransferID: out.id, Error: ptr("hash mismatch"), ErrorCode: ptr(common.ErrorCodeHashMismatch), BytesWritten: 100, HashCheck: &check})
			out.gives(common.ErrorCodeHashMismatch, "hash mismatch")
		}},
	{Name: "sender/early-success", Source: "ruling: false success", Role: Both,
		Says: "a success before the last chunk fails the transfer with size_mismatch",
		run: func(c *Check) {
			out := c.midStream()
			check := frames.HashCheckOk
			c.send(&frames.TransferComplete{TransferID: out.id, Ok: true, BytesWritten: out.init.TotalSize, HashCheck: &check})
			c.stops(out, common.ErrorCodeSizeMismatch, "size mismatch")
		}},
	{Name: "sender/success-of-other-size", Source: "ruling: false success", Role: Both,
		Says: "a success with another bytesWritten fails the transfer with size_mismatch",
		run: func(c *Check) {
			out := c.fetchNew(contentOf(100))
			out.accept()
			out.receive()
			check := frames.HashCheckOk
			c.send(&frames.TransferComplete{TransferID: out.id, Ok: true, BytesWritten: 99, HashCheck: &check})
			out.gives(common.ErrorCodeSizeMismatch, "size mismatch")
		}},
	{Name: "sender/finish-is-last", Source: "spec 4.6", Role: Both,
		Says: "after its transfer_finish a sender sends nothing more, and knows the id no longer",
		run: func(c *Check) {
			out := c.fetchNew(contentOf(100))
			out.whole()
			check := frames.HashCheckOk
			c.send(&frames.TransferComplete{TransferID: out.id, Ok: true, BytesWritten: 100, HashCheck: &check})
			c.silent(out.id, "a frame after the end")
		}},
	{Name: "sender/wrong-role", Source: "ruling: unknown id", Role: Both,
		Says: "a sender's frame to the sender is unknown_transfer and without effect",
		run: func(c *Check) {
			out := c.fetchNew(contentOf(100))
			c.send(&frames.TransferChunk{TransferID: out.id, Bytes: []byte("x"), Last: true})
			c.unknown(out.id)
			out.whole()
		}},
	{Name: "sender/wrong-phase", Source: "ruling: unknown id", Role: Both,
		Says: "a second transfer_init_response is unknown_transfer and without effect",
		run: func(c *Check) {
			out := c.midStream()
			c.send(&frames.TransferInitResponse{TransferID: out.id, Error: ptr("a trial"), ErrorCode: ptr(common.ErrorCodeInternal)})
			check := frames.HashCheckMismatch
			c.send(&frames.TransferComplete{TransferID: out.id, Error: ptr("hash mismatch"), ErrorCode: ptr(common.ErrorCodeHashMismatch), HashCheck: &check})
			c.conn.Release()
			c.unknown(out.id)
			c.stops(out, common.ErrorCodeHashMismatch, "hash mismatch")
		}},
	{Name: "sender/unknown-answer", Source: "ruling: unknown id", Role: Both,
		Says: "answers of an id that nobody knows are unknown_transfer",
		run: func(c *Check) {
			id := uuid.Must(uuid.NewV7())
			c.send(&frames.TransferInitResponse{TransferID: id, Ok: true})
			c.unknown(id)
			c.send(&frames.TransferComplete{TransferID: id, Ok: true})
			c.unknown(id)
		}},
	{Name: "sender/two-at-once", Source: "ruling: two lanes", Role: Both,
		Says: "two files that are sent at once take turns",
		run: func(c *Check) {
			path := c.largeFile()
			a, b := c.fetch(ask{path: path}), c.fetch(ask{path: path})
			a.accept()
			b.accept()
			first, last := map[*outgoing]int{}, map[*outgoing]int{}
			for n, open := 0, 2; open > 0; n++ {
				m := c.await("transfer_chunk", func(m *peer.Message) bool {
					return peer.Of[*frames.TransferChunk](a.id)(m) || peer.Of[*frames.TransferChunk](b.id)(m)
				})
				chunk := m.Frame.(*frames.TransferChunk)
				out := a
				if chunk.TransferID == b.id {
					out = b
				}
				if chunk.Seq == 0 {
					first[out] = n
				}
				last[out] = n
				out.content = append(out.content, chunk.Bytes...)
				if chunk.Last {
					open--
					out.done() // at once: the peer's time for it runs
				}
			}
			if first[b] > last[a] || first[a] > last[b] {
				c.failf("one file waits until the other is through")
			}
			if want := contentOf(largeSize); !bytes.Equal(a.content, want) || !bytes.Equal(b.content, want) {
				c.failf("the contents are not those of the file")
			}
			a.finished()
			b.finished()
		}},
	badSource("sender/path-parent", "spec 3.3", "../outside.bin", "path escapes project sandbox", common.ErrorCodePathEscapesSandbox),
	badSource("sender/path-absolute", "spec 3.3", "/etc/passwd", "path escapes project sandbox", common.ErrorCodePathEscapesSandbox),
	badSource("sender/path-empty", "ruling: inner ..", "", "invalid path", common.ErrorCodeInvalidPath),
	badSource("sender/path-slash", "ruling: inner ..", "conformance/x/", "invalid path", common.ErrorCodeInvalidPath),
	badSource("sender/path-ours", "ruling: names", ".vance-part-x", "invalid path", common.ErrorCodeInvalidPath),
	badSource("sender/not-found", "spec 5.4", "conformance/no-such-file", "file not found", common.ErrorCodeNotFound),
	{Name: "sender/folder", Source: "ruling: what can be read", Role: Both,
		Says: "a folder is not_regular_file",
		run: func(c *Check) {
			c.put("conformance/folder/file.bin", contentOf(5))
			c.refuses("conformance/folder", "not a regular file", common.ErrorCodeNotRegularFile)
		}},
	{Name: "sender/duplicate-request", Source: "ruling: duplicate transfer_init", Role: Foot,
		Says: "a second upload request of one id leaves the first untouched",
		run: func(c *Check) {
			path := c.newPath()
			c.put(path, contentOf(100))
			out := c.fetch(ask{path: path})
			c.send(&frames.ClientFileUploadRequest{TransferID: out.id, LocalPath: path, DirName: "inbox", RemotePath: "in/it.bin"})
			c.must(c.conn.Barrier(c.Patience), "awaiting a pong")
			c.loose = true // how a Foot says so is not ruled
			out.whole()
		}},
	{Name: "sender/invalid-request", Source: "ruling: schema-invalid frame", Role: Foot,
		Says: "an upload request that breaks its schema is answered with transfer_finish invalid_frame",
		run: func(c *Check) {
			id := uuid.Must(uuid.NewV7())
			c.text(`{"type":"client.file.upload.request","transferId":"` + id.String() + `","localPath":"a","dirName":"b/c","remotePath":"d"}`)
			finish := expect[*frames.TransferFinish](c, id)
			if finish.Ok {
				c.failf("transfer_finish says ok")
			}
			c.failure("transfer_finish", finish.ErrorCode, finish.Error, common.ErrorCodeInvalidFrame, "invalid frame")
		}},
}

// sends is a rule of a file that the peer sends whole.
func sends(name, source, says string, size int) *Rule {
	return &Rule{Name: name, Source: source, Role: Both, Says: says, run: func(c *Check) {
		path := c.newPath()
		c.put(path, contentOf(size))
		c.holds(path, contentOf(size))
	}}
}

// badSource is a rule of a file that is not offered.
func badSource(name, source, path, text string, code common.ErrorCode) *Rule {
	return &Rule{Name: name, Source: source, Role: Both, Says: "the source " + shown(path) + " is refused with " + text + ", and nothing else is sent",
		run: func(c *Check) {
			c.refuses(path, text, code)
			c.holdsStill()
		}}
}

// largeSize is, in base64, far more than the buffers of a socket hold.
const largeSize = 16 << 20

// largeFile is the path of a file of largeSize at the peer.
func (c *Check) largeFile() string {
	if !c.hasLarge {
		in := c.offer(offer{path: "conformance/large.bin", content: contentOf(largeSize)})
		in.stream(512 << 10)
		in.published()
		c.hasLarge = true
	}
	return "conformance/large.bin"
}

// midStream has the peer send a large file and stops reading after its first chunk:
// what it can send from then on is bounded by the buffers on the way.
func (c *Check) midStream() *outgoing {
	out := c.fetch(ask{path: c.largeFile()})
	chunk := peer.Of[*frames.TransferChunk](out.id)
	c.conn.HoldAfter(chunk)
	out.accept()
	c.await("transfer_chunk", chunk)
	return out
}

// stops checks that a sender ends a stream for a reason.
func (c *Check) stops(out *outgoing, code common.ErrorCode, text string) {
	c.conn.Release()
	finish := expect[*frames.TransferFinish](c, out.id)
	for {
		m, err := c.conn.Await(0, peer.Of[*frames.TransferChunk](out.id))
		if err != nil {
			break
		}
		if chunk := m.Frame.(*frames.TransferChunk); chunk.Last {
			c.failf("the stream goes on to its last chunk")
		}
	}
	if finish.Ok {
		c.failf("transfer_finish says ok, want %s", code)
	}
	c.failure("transfer_finish", finish.ErrorCode, finish.Error, code, text)
	c.callFails(out.call, code)
	c.silent(out.id, "the failure")
}

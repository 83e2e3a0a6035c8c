package suite

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

// receiverRules are about a peer that receives a file.
var receiverRules = []*Rule{
	roundTrip("receiver/one-chunk", "spec 5.1", "a file of one chunk is published as it was sent", 1000, 1000),
	roundTrip("receiver/chunks", "spec 5.1", "a file of many chunks is published as it was sent", 100_001, 9973),
	roundTrip("receiver/whole-chunks", "ruling: sizes", "a file of exactly k chunks ends with its k-th", 4096, 1024),
	roundTrip("receiver/empty", "spec 4.4", "an empty file is one empty last chunk", 0, 10),
	roundTrip("receiver/one-mebibyte", "spec 4.4", "a chunk of 1 MiB is accepted", 1<<20+5, 1<<20),
	{Name: "receiver/extra-last-chunk", Source: "ruling: sizes", Role: Both,
		Says: "an extra empty last chunk is accepted",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(2000)})
			in.chunk(in.content[:1000], false)
			in.chunk(in.content[1000:], false)
			in.chunk(nil, true)
			in.published()
			c.holds(in.path, in.content)
		}},
	{Name: "receiver/small-chunks-differ", Source: "spec 4.4", Role: Both,
		Says: "chunks may have different sizes, empty ones in between too",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(60)})
			in.chunk(in.content[:1], false)
			in.chunk(nil, false)
			in.chunk(in.content[1:50], false)
			in.chunk(in.content[50:], true)
			in.published()
			c.holds(in.path, in.content)
		}},
	{Name: "receiver/replaces", Source: "spec 1", Role: Both,
		Says: "a file that is there is replaced",
		run: func(c *Check) {
			path := c.newPath()
			c.put(path, contentOf(500))
			c.put(path, contentOf(300))
			c.holds(path, contentOf(300))
		}},
	{Name: "receiver/parents", Source: "spec 3.4", Role: Both,
		Says: "missing folders are made",
		run: func(c *Check) {
			path := "conformance/" + uuid.NewString() + "/b/c.bin"
			c.put(path, contentOf(30))
			c.holds(path, contentOf(30))
		}},
	{Name: "receiver/names", Source: "ruling: names", Role: Both,
		Says: "names with spaces, quotes and letters of any language are kept as they are",
		run: func(c *Check) {
			for _, name := range []string{"a b.txt", "Bericht ä ö €.pdf", "quote'\"s.txt", "日本.txt", ".hidden"} {
				path := "conformance/names/" + name
				c.put(path, contentOf(40))
				c.holds(path, contentOf(40))
			}
		}},
	{Name: "receiver/mtime", Source: "spec 4.5", Role: Both,
		Says: "the mtime of the offer is that of the file",
		run: func(c *Check) {
			path := c.newPath()
			in := c.offer(offer{path: path, content: contentOf(30), attrs: &common.FileAttrs{Mtime: &sampleTime}})
			in.stream(100)
			in.published()
			out := c.fetch(ask{path: path})
			if a := out.init.Attrs; a == nil || a.Mtime == nil || !a.Mtime.Equal(sampleTime) {
				c.failf("the file is offered with the attributes %s, want mtime %s", attrsText(a), sampleTime.Format(time.RFC3339))
			}
			out.whole()
		}},
	{Name: "receiver/mode", Source: "spec 7.2", Role: Both,
		Says: "the mode of the offer is that of the file, under the receiver's mask",
		run: func(c *Check) {
			path := c.newPath()
			in := c.offer(offer{path: path, content: contentOf(30), attrs: &common.FileAttrs{Mode: ptr("0600")}})
			in.stream(100)
			in.published()
			out := c.fetch(ask{path: path})
			if mode, err := modeOf(out.init.Attrs); err != nil || mode != 0o600 {
				c.failf("the file is offered with the attributes %s (%v), want mode 0600", attrsText(out.init.Attrs), err)
			}
			out.whole()
		}},
	{Name: "receiver/mode-bits", Source: "ruling: mode", Role: Both,
		Says: "only permission bits are taken: no setuid, setgid or sticky bit",
		run: func(c *Check) {
			path := c.newPath()
			in := c.offer(offer{path: path, content: contentOf(30), attrs: &common.FileAttrs{Mode: ptr("7755")}})
			in.stream(100)
			in.published()
			out := c.fetch(ask{path: path})
			if mode, err := modeOf(out.init.Attrs); err != nil || mode&^0o777 != 0 || mode&0o400 == 0 {
				c.failf("the file is offered with the attributes %s (%v)", attrsText(out.init.Attrs), err)
			}
			out.whole()
		}},
	{Name: "receiver/not-before-the-end", Source: "ruling: 0-byte file", Role: Both,
		Says: "a new file is not there, and an old one whole, until all bytes were verified",
		run: func(c *Check) {
			fresh, old := c.newPath(), c.newPath()
			c.put(old, contentOf(700))
			for _, path := range []string{fresh, old} {
				in := c.offer(offer{path: path, content: contentOf(3000)})
				in.chunk(in.content[:2999], false)
				c.must(c.conn.Barrier(c.Patience), "awaiting a pong")
				if path == fresh {
					c.lacks(path)
				} else {
					c.holds(path, contentOf(700))
				}
				in.chunk(in.content[2999:], true)
				in.published()
				c.holds(path, contentOf(3000))
			}
		}},
	{Name: "receiver/hash-mismatch", Source: "spec 4.5", Role: Both,
		Says: `another hash than the offer's is "hash mismatch", with hashCheck mismatch, and nothing is published`,
		run: func(c *Check) {
			c.failsClean(offer{content: contentOf(1000), hash: ptr(hashOf(nil))}, func(in *incoming) {
				in.stream(400)
				if done := in.fails(common.ErrorCodeHashMismatch, "hash mismatch"); done.HashCheck == nil {
					c.failf("hashCheck is null, want mismatch")
				}
			})
		}},
	failing("receiver/gap", "ruling: seq", "a gap in seq fails the transfer, and the text names both numbers",
		common.ErrorCodeOutOfOrder, "out-of-order chunk: expected 1, got 2", func(in *incoming) {
			in.chunk(in.content[:100], false)
			in.seq = 2
			in.chunk(in.content[100:200], false)
		}),
	failing("receiver/repeat", "ruling: seq", "a repeated seq fails the transfer, and the text names both numbers",
		common.ErrorCodeOutOfOrder, "out-of-order chunk: expected 1, got 0", func(in *incoming) {
			in.chunk(in.content[:100], false)
			in.seq = 0
			in.chunk(in.content[:100], false)
		}),
	failing("receiver/first-seq", "spec 4.4", "seq begins at 0",
		common.ErrorCodeOutOfOrder, "out-of-order chunk: expected 0, got 1", func(in *incoming) {
			in.seq = 1
			in.chunk(in.content[:100], false)
		}),
	failing("receiver/too-many-bytes", "ruling: sizes", "more bytes than totalSize fail the transfer at once",
		common.ErrorCodeSizeExceeded, "exceeds declared totalSize", func(in *incoming) {
			in.chunk(in.content, false)
			in.chunk([]byte("x"), false)
		}),
	failing("receiver/too-few-bytes", "ruling: sizes", "a last chunk with too few bytes fails the transfer",
		common.ErrorCodeSizeMismatch, "size mismatch", func(in *incoming) {
			in.chunk(in.content[:999], true)
		}),
	failing("receiver/malformed-base64", "ruling: base64", "a chunk that is no base64 fails the transfer",
		common.ErrorCodeMalformedChunk, "malformed chunk encoding", func(in *incoming) {
			in.c.text(in.chunkText("aGVsbG8", false))
		}),
	failing("receiver/url-base64", "ruling: base64", "the other alphabet of base64 fails the transfer",
		common.ErrorCodeMalformedChunk, "malformed chunk encoding", func(in *incoming) {
			in.c.text(in.chunkText("_-_-", false))
		}),
	failing("receiver/base64-line-break", "ruling: base64", "a line break in base64 fails the transfer",
		common.ErrorCodeMalformedChunk, "malformed chunk encoding", func(in *incoming) {
			in.c.text(in.chunkText(`aGVs\nbG8=`, false))
		}),
	failing("receiver/too-large-chunk", "spec 4.4", "a chunk above 1 MiB fails the transfer",
		common.ErrorCodeChunkTooLarge, "chunk exceeds 1 MiB limit", func(in *incoming) {
			in.c.text(in.chunkText(strings.Repeat("A", 1_398_104), false))
		}),
	failing("receiver/invalid-chunk", "ruling: schema-invalid frame", "a chunk that breaks its schema fails its transfer",
		common.ErrorCodeInvalidFrame, "invalid frame", func(in *incoming) {
			in.c.text(fmt.Sprintf(`{"type":"transfer_chunk","transferId":"%s","seq":-1,"bytes":"","last":false}`, in.id))
		}),
	{Name: "receiver/double-member", Source: "ruling: schema-invalid frame", Role: Both,
		Says: "a frame with a member twice is an error frame only: the transfer is untouched",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(100)})
			c.text(fmt.Sprintf(`{"type":"transfer_chunk","transferId":"%s","seq":0,"seq":5,"bytes":"","last":false}`, in.id))
			c.awaitError(common.ErrorCodeInvalidFrame)
			in.stream(100)
			in.published()
		}},
	{Name: "receiver/null-hash", Source: "ruling: hash", Role: Both,
		Says: `an offer without a hash is refused with "hash required"`,
		run: func(c *Check) {
			in := c.propose(offer{path: c.newPath(), content: contentOf(10), noHash: true}).opened()
			c.send(in.init)
			in.refused(common.ErrorCodeHashRequired, "hash required")
		}},
	{Name: "receiver/invalid-init", Source: "ruling: schema-invalid frame", Role: Both,
		Says: "an offer that breaks its schema is refused by transfer_init_response",
		run: func(c *Check) {
			in := c.propose(offer{path: c.newPath(), content: contentOf(10)}).opened()
			raw, err := in.init.AppendJSON(nil)
			c.must(err, "writing a frame")
			c.text(strings.Replace(string(raw), `"totalSize":10`, `"totalSize":-1`, 1))
			in.refused(common.ErrorCodeInvalidFrame, "invalid frame")
		}},
	{Name: "receiver/size-limit", Source: "ruling: sizes", Role: Both,
		Says: `a file above the receiver's limit is refused with "exceeds size limit" or, where the limit allows it, for want of space`,
		run: func(c *Check) {
			in := c.propose(offer{path: c.newPath(), content: contentOf(10), size: ptr(int64(1)<<53 - 1)}).opened()
			c.send(in.init)
			r := expect[*frames.TransferInitResponse](c, in.id)
			if r.Ok {
				c.failf("8 PiB are accepted")
			}
			code := common.ErrorCodeSizeLimit
			if derefCode(r.ErrorCode) == common.ErrorCodeInsufficientSpace {
				code = common.ErrorCodeInsufficientSpace
			}
			text := map[common.ErrorCode]string{common.ErrorCodeSizeLimit: "exceeds size limit", common.ErrorCodeInsufficientSpace: "insufficient disk space"}[code]
			c.failure("transfer_init_response", r.ErrorCode, r.Error, code, text)
			c.send(&frames.TransferFinish{TransferID: in.id, Error: r.Error, ErrorCode: r.ErrorCode})
			c.callFails(in.call, code)
		}},
	{Name: "receiver/finish-while-streaming", Source: "ruling: early end", Role: Both,
		Says: "a transfer_finish while streaming gives up: it is not answered, and the target is free",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(3000)})
			in.chunk(in.content[:1000], false)
			c.send(&frames.TransferFinish{TransferID: in.id, Error: ptr("source changed during transfer"), ErrorCode: ptr(common.ErrorCodeSourceChanged)})
			c.silent(in.id, "transfer_finish")
			if r := c.callFails(in.call, common.ErrorCodeSourceChanged); r != nil && !strings.Contains(deref(r.Error), "source changed") {
				c.failf("the result says %q, want the sender's words", deref(r.Error))
			}
			c.lacks(in.path)
			c.put(in.path, contentOf(20))
		}},
	{Name: "receiver/finish-is-not-answered", Source: "spec 4.6", Role: Both,
		Says: "transfer_finish is never answered",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(30)})
			in.stream(30)
			in.published()
			c.silent(in.id, "transfer_finish")
		}},
	{Name: "receiver/lost-finish", Source: "spec 5.5", Role: Both,
		Says: "without a transfer_finish the file stays, and the next transfer of its target is accepted",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(300)})
			in.stream(300)
			in.completed()
			c.callSucceeds(in.call, in.content)
			c.holds(in.path, in.content)
			c.put(in.path, contentOf(20))
		}},
	{Name: "receiver/after-the-end", Source: "ruling: after the end", Role: Both,
		Says: "frames of a transfer that ended are dropped silently and change nothing",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(300)})
			in.stream(300)
			in.published()
			in.chunk([]byte("more"), true)
			c.send(&frames.TransferFinish{TransferID: in.id, Error: ptr("a trial"), ErrorCode: ptr(common.ErrorCodeInternal)})
			c.silent(in.id, "a frame after the end")
			c.holds(in.path, in.content)
		}},
	{Name: "receiver/after-a-failure", Source: "ruling: after the end", Role: Both,
		Says: "chunks that were under way when the transfer failed are dropped silently",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(300)})
			in.seq = 3
			for range 5 {
				in.chunk(in.content[:10], false)
			}
			in.fails(common.ErrorCodeOutOfOrder, "out-of-order chunk")
			c.silent(in.id, "a chunk after the failure")
		}},
	{Name: "receiver/target-busy", Source: "ruling: same target twice", Role: Both,
		Says: "while a transfer holds a target a second one is target_busy, and the first is untouched",
		run: func(c *Check) {
			first := c.offer(offer{path: c.newPath(), content: contentOf(300)})
			first.chunk(first.content[:100], false)
			c.refusesOffer(offer{path: first.path, content: contentOf(200)}, "target busy", common.ErrorCodeTargetBusy)
			first.chunk(first.content[100:], true)
			first.published()
			c.holds(first.path, first.content)
		}},
	{Name: "receiver/duplicate-init", Source: "ruling: duplicate transfer_init", Role: Both,
		Says: "a second transfer_init of one id is refused with duplicate_transfer, and the first is untouched",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(300)})
			in.chunk(in.content[:100], false)
			c.send(in.init)
			c.duplicate(in.id)
			in.chunk(in.content[100:], true)
			in.published()
			c.holds(in.path, in.content)
		}},
	{Name: "receiver/init-after-the-end", Source: "ruling: after the end", Role: Both,
		Says: "a transfer_init of an id that ended is refused with duplicate_transfer",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(300)})
			in.stream(300)
			in.published()
			c.send(in.init)
			c.duplicate(in.id)
			c.holds(in.path, in.content)
		}},
	{Name: "receiver/unknown-chunk", Source: "ruling: unknown id", Role: Both,
		Says: "a chunk of an id that nobody knows is unknown_transfer",
		run: func(c *Check) {
			id := uuid.Must(uuid.NewV7())
			c.send(&frames.TransferChunk{TransferID: id, Bytes: []byte("x"), Last: true})
			c.unknown(id)
		}},
	{Name: "receiver/unknown-finish", Source: "ruling: unknown id", Role: Both,
		Says: "a transfer_finish of an id that nobody knows is unknown_transfer",
		run: func(c *Check) {
			id := uuid.Must(uuid.NewV7())
			c.send(&frames.TransferFinish{TransferID: id, Ok: true})
			c.unknown(id)
		}},
	{Name: "receiver/wrong-role", Source: "ruling: unknown id", Role: Both,
		Says: "a receiver's frame to the receiver is unknown_transfer and without effect",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(300)})
			c.send(&frames.TransferInitResponse{TransferID: in.id, Ok: false, Error: ptr("a trial"), ErrorCode: ptr(common.ErrorCodeInternal)})
			c.unknown(in.id)
			check := frames.HashCheckOk
			c.send(&frames.TransferComplete{TransferID: in.id, Ok: true, BytesWritten: 300, HashCheck: &check})
			c.unknown(in.id)
			in.stream(100)
			in.published()
		}},
	{Name: "receiver/two-at-once", Source: "spec 5.6", Role: Both,
		Says: "two transfers whose chunks come in turns both arrive",
		run: func(c *Check) {
			a := c.offer(offer{path: c.newPath(), content: contentOf(1000)})
			b := c.offer(offer{path: c.newPath(), content: contentOf(1100)})
			for i := 0; i < 1000; i += 250 {
				a.chunk(a.content[i:i+250], i == 750)
				b.chunk(b.content[i:i+250], false)
			}
			b.chunk(b.content[1000:], true)
			a.published()
			b.published()
			c.holds(a.path, a.content)
			c.holds(b.path, b.content)
		}},
	{Name: "receiver/bystander", Source: "spec 5.6", Role: Both,
		Says: "a transfer that fails leaves the others alone",
		run: func(c *Check) {
			good := c.offer(offer{path: c.newPath(), content: contentOf(1000)})
			good.chunk(good.content[:500], false)
			bad := c.offer(offer{path: c.newPath(), content: contentOf(900)})
			bad.seq = 9
			bad.chunk(bad.content, true)
			bad.fails(common.ErrorCodeOutOfOrder, "out-of-order chunk")
			good.chunk(good.content[500:], true)
			good.published()
			c.holds(good.path, good.content)
		}},
	badPath("receiver/path-parent", "spec 3.3", "../outside.bin", "path escapes project sandbox", common.ErrorCodePathEscapesSandbox),
	badPath("receiver/path-deep-parent", "spec 3.3", "a/../../outside.bin", "path escapes project sandbox", common.ErrorCodePathEscapesSandbox),
	badPath("receiver/path-absolute", "spec 3.3", "/etc/vancetope-conformance", "path escapes project sandbox", common.ErrorCodePathEscapesSandbox),
	badPath("receiver/path-empty", "ruling: inner ..", "", "invalid path", common.ErrorCodeInvalidPath),
	badPath("receiver/path-root", "ruling: inner ..", ".", "invalid path", common.ErrorCodeInvalidPath),
	badPath("receiver/path-slash", "ruling: inner ..", "conformance/x/", "invalid path", common.ErrorCodeInvalidPath),
	badPath("receiver/path-ours", "ruling: names", "conformance/.vance-part-x", "invalid path", common.ErrorCodeInvalidPath),
	badPath("receiver/path-long", "ruling: names", "conformance/"+strings.Repeat("n", 256), "invalid path", common.ErrorCodeInvalidPath),
	{Name: "receiver/path-inner-parent", Source: "spec 3.3", Role: Both,
		Says: "a/../b is b",
		run: func(c *Check) {
			plain := c.newPath()
			in := c.offer(offer{path: "nowhere/../" + plain, content: contentOf(60)})
			in.stream(60)
			in.published()
			c.holds(plain, contentOf(60))
		}},
	{Name: "receiver/path-folder", Source: "ruling: inner ..", Role: Both,
		Says: "a target that is a folder is invalid_path",
		run: func(c *Check) {
			c.put("conformance/folder/file.bin", contentOf(5))
			c.refusesTarget("conformance/folder", "", common.ErrorCodeInvalidPath)
		}},
	{Name: "receiver/path-git", Source: "ruling: .git", Role: Foot,
		Says: "a Foot writes nothing at or below .git, however it is spelt",
		run: func(c *Check) {
			for _, path := range []string{".git/config", "x/.GIT/hooks/y", ".git", "git~1/config"} {
				c.refusesTarget(path, "writing into .git is not allowed", common.ErrorCodePathProtected)
			}
		}},
}

// roundTrip is a rule of a file that arrives whole.
func roundTrip(name, source, says string, size, chunk int) *Rule {
	return &Rule{Name: name, Source: source, Role: Both, Says: says, run: func(c *Check) {
		in := c.offer(offer{path: c.newPath(), content: contentOf(size)})
		in.stream(chunk)
		in.published()
		c.holds(in.path, in.content)
	}}
}

// failing is a rule of a stream that fails its transfer.
func failing(name, source, says string, code common.ErrorCode, text string, wrong func(*incoming)) *Rule {
	return &Rule{Name: name, Source: source, Role: Both, Says: says, run: func(c *Check) {
		c.failsClean(offer{content: contentOf(1000)}, func(in *incoming) {
			wrong(in)
			in.fails(code, text)
		})
	}}
}

// failsClean checks that a failure leaves neither a new file nor harms an old one.
func (c *Check) failsClean(o offer, fail func(*incoming)) {
	fresh, old := c.newPath(), c.newPath()
	c.put(old, contentOf(70))
	for _, path := range []string{fresh, old} {
		o.path = path
		fail(c.offer(o))
	}
	c.lacks(fresh)
	c.holds(old, contentOf(70))
}

// chunkText is a chunk with a payload of any spelling.
func (in *incoming) chunkText(payload string, last bool) string {
	return fmt.Sprintf(`{"type":"transfer_chunk","transferId":"%s","seq":%d,"bytes":"%s","last":%v}`, in.id, in.seq, payload, last)
}

// duplicate checks the answer to a transfer_init of an id in use.
func (c *Check) duplicate(id common.TransferID) {
	r := expect[*frames.TransferInitResponse](c, id)
	if r.Ok {
		c.failf("a second transfer_init of one id is accepted")
	}
	c.failure("transfer_init_response", r.ErrorCode, r.Error, common.ErrorCodeDuplicateTransfer, "duplicate transferId")
}

// unknown checks the answer to a frame of no transfer.
func (c *Check) unknown(id common.TransferID) {
	if f := c.awaitError(common.ErrorCodeUnknownTransfer); f.TransferID == nil || *f.TransferID != id {
		c.failf("the error frame does not name the transfer %s", id)
	}
}

// badPath is a rule of a target that is refused.
func badPath(name, source, path, text string, code common.ErrorCode) *Rule {
	return &Rule{Name: name, Source: source, Role: Both, Says: fmt.Sprintf("the target %s is refused with %q", shown(path), text),
		run: func(c *Check) { c.refusesTarget(path, text, code) }}
}

func shown(path string) string {
	if len(path) > 40 {
		return strconv.Quote(path[:24]) + "…"
	}
	return strconv.Quote(path)
}

// refusesTarget checks that the peer writes to no such path: a Brain's tool refuses
// it before any frame or at the offer, a Foot at the offer.
func (c *Check) refusesTarget(path, text string, code common.ErrorCode) {
	c.refusesOffer(offer{path: path, content: contentOf(10)}, text, code)
}

func (c *Check) refusesOffer(o offer, text string, code common.ErrorCode) {
	in := c.propose(o)
	if in.request == nil && c.Role == Brain {
		r := c.callFails(in.call, code)
		if !strings.HasPrefix(deref(r.Error), text) {
			c.failf("the error is %q, want one that begins with %q", deref(r.Error), text)
		}
		c.holdsStill()
		return
	}
	c.send(in.init)
	in.refused(code, text)
}

// modeOf are the bits of offered attributes.
func modeOf(a *common.FileAttrs) (int64, error) {
	if a == nil || a.Mode == nil {
		return 0, fmt.Errorf("no mode is told")
	}
	return strconv.ParseInt(strings.TrimPrefix(*a.Mode, "0o"), 8, 32)
}

func attrsText(a *common.FileAttrs) string {
	if a == nil {
		return "none"
	}
	var mtime string
	if a.Mtime != nil {
		mtime = a.Mtime.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("mode %s, mtime %s", deref(a.Mode), mtime)
}

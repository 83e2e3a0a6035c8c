package suite

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

// progressRules are about the extension progress.
var progressRules = []*Rule{
	{Name: "progress/of-a-sender", Source: "extension progress", Role: Both, Features: frames.FeatureProgress,
		Says: "a sender's news of progress tell bytes that only grow, up to totalBytes, at most four a second",
		run: func(c *Check) {
			out := c.fetch(ask{path: c.largeFile()})
			out.whole()
			c.newsAreSound(out.id, largeSize)
		}},
	{Name: "progress/of-a-receiver", Source: "extension progress", Role: Both, Features: frames.FeatureProgress,
		Says: "a receiver's news of progress tell bytes that only grow, up to totalBytes, at most four a second",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(4 << 20)})
			in.stream(64 << 10)
			in.published()
			c.newsAreSound(in.id, 4<<20)
		}},
	{Name: "progress/is-taken", Source: "extension progress", Role: Both, Features: frames.FeatureProgress,
		Says: "news of progress are taken in every phase, and are never answered",
		run: func(c *Check) {
			news := func(id common.TransferID, state frames.ProgressState, bytes int64) {
				c.send(&frames.TransferProgress{TransferID: id, State: state, Bytes: bytes, TotalBytes: 100})
			}
			in := c.propose(offer{path: c.newPath(), content: contentOf(100)}).opened()
			if c.Role == Brain { // it knows the transfer before the offer
				news(in.id, frames.ProgressStateHashing, 50)
			}
			c.send(in.init)
			in.accepted()
			news(in.id, frames.ProgressStateStreaming, 0)
			in.chunk(in.content[:50], false)
			news(in.id, frames.ProgressStateStreaming, 50)
			in.chunk(in.content[50:], true)
			in.published()
			out := c.fetch(ask{path: in.path})
			news(out.id, frames.ProgressStateQueued, 0)
			out.accept()
			out.receive()
			news(out.id, frames.ProgressStateVerifying, 100)
			out.complete()
		}},
	{Name: "progress/of-an-unknown-transfer", Source: "ruling: unknown id", Role: Both, Features: frames.FeatureProgress,
		Says: "news of an id that nobody knows are unknown_transfer",
		run: func(c *Check) {
			id := uuid.Must(uuid.NewV7())
			c.send(&frames.TransferProgress{TransferID: id, State: frames.ProgressStateStreaming})
			c.unknown(id)
		}},
}

// newsAreSound judges the news of a transfer's progress that came so far.
func (c *Check) newsAreSound(id common.TransferID, total int64) {
	var times []time.Time
	last := int64(-1)
	for {
		m, err := c.conn.Await(0, peer.Of[*frames.TransferProgress](id))
		if err != nil {
			break
		}
		f := m.Frame.(*frames.TransferProgress)
		if f.State == frames.ProgressStateHashing {
			continue // counts from 0 to the size by itself
		}
		if f.Bytes < last || f.Bytes > total || f.TotalBytes != total {
			c.failf("news of %d of %d bytes after %d, the size is %d", f.Bytes, f.TotalBytes, last, total)
		}
		last = f.Bytes
		times = append(times, m.At)
	}
	for i := range times {
		// Five in less than three quarters of the second that four may take; the rest is
		// for frames that waited on the way.
		if i+4 < len(times) && times[i+4].Sub(times[i]) < 750*time.Millisecond {
			c.failf("five news come within %v", times[i+4].Sub(times[i]).Round(time.Millisecond))
		}
	}
}

// cancelRules are about the extension cancel.
var cancelRules = []*Rule{
	{Name: "cancel/receiver", Source: "extension cancel", Role: Both, Features: frames.FeatureCancel,
		Says: "a receiver that is told to cancel ends without an answer; nothing is published and the target is free",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(1000)})
			in.chunk(in.content[:100], false)
			c.send(&frames.TransferCancel{TransferID: in.id, Reason: "a trial"})
			c.silent(in.id, "transfer_cancel")
			c.callFails(in.call, common.ErrorCodeCancelled)
			c.lacks(in.path)
			c.put(in.path, contentOf(20))
		}},
	{Name: "cancel/sender", Source: "extension cancel", Role: Both, Features: frames.FeatureCancel,
		Says: "a sender that is told to cancel stops its stream without an answer",
		run: func(c *Check) {
			out := c.midStream()
			c.loose = true // chunks may be on their way
			c.send(&frames.TransferCancel{TransferID: out.id, Reason: "a trial"})
			c.conn.Release()
			c.callFails(out.call, common.ErrorCodeCancelled)
			c.must(c.conn.Barrier(c.Patience), "awaiting a pong")
			for {
				m, err := c.conn.Await(0, func(m *peer.Message) bool {
					of, ok := frames.TransferOf(m.Frame)
					return ok && of == out.id
				})
				if err != nil {
					break
				}
				switch f := m.Frame.(type) {
				case *frames.TransferChunk:
					if f.Last {
						c.failf("the stream goes on to its last chunk")
					}
				case *frames.TransferProgress:
				default:
					c.failf("transfer_cancel is answered with %s", peer.Brief(m.Raw))
				}
			}
		}},
	{Name: "cancel/after-the-success", Source: "extension cancel", Role: Both, Features: frames.FeatureCancel,
		Says: "a cancel after the success is dropped, and the file stays",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(100)})
			in.stream(100)
			in.completed()
			c.send(&frames.TransferCancel{TransferID: in.id, Reason: "a trial"})
			c.silent(in.id, "transfer_cancel")
			c.callSucceeds(in.call, in.content)
			c.holds(in.path, in.content)
		}},
	{Name: "cancel/unknown-transfer", Source: "ruling: unknown id", Role: Both, Features: frames.FeatureCancel,
		Says: "a cancel of an id that nobody knows is unknown_transfer",
		run: func(c *Check) {
			id := uuid.Must(uuid.NewV7())
			c.send(&frames.TransferCancel{TransferID: id, Reason: "a trial"})
			c.unknown(id)
		}},
	{Name: "cancel/by-a-call", Source: "extension cancel", Role: Brain, Features: frames.FeatureCancel,
		Says: "a cancelled call tells the Foot by transfer_cancel and by nothing else",
		run: func(c *Check) {
			in := c.offer(offer{path: c.newPath(), content: contentOf(1000)})
			in.chunk(in.content[:100], false)
			in.call.cancel()
			expect[*frames.TransferCancel](c, in.id)
			c.silent(in.id, "the cancelled call")
			c.lacks(in.path)
		}},
	{Name: "cancel/by-the-tool", Source: "extension cancel", Role: Brain, Features: frames.FeatureCancel,
		Says: "the tool transfer_cancel ends a transfer of another call, and an unknown id is not_found",
		run: func(c *Check) {
			out := c.fetchNew(contentOf(100))
			if r := c.callTool("transfer_cancel", map[string]any{"transferId": out.id.String()}); !r.OK || r.State != "cancelled" {
				c.failf("transfer_cancel answers %s", r)
			}
			expect[*frames.TransferCancel](c, out.id)
			c.callFails(out.call, common.ErrorCodeCancelled)
			r := c.callTool("transfer_cancel", map[string]any{"transferId": uuid.Must(uuid.NewV7()).String()})
			if r.OK || r.ErrorCode != common.ErrorCodeNotFound {
				c.failf("transfer_cancel of an unknown id answers %s, want not_found", r)
			}
		}},
}

// onExistingRules are about the extension on-existing.
var onExistingRules = []*Rule{
	{Name: "on-existing/replace", Source: "extension on-existing", Role: Both, Features: frames.FeatureOnExisting,
		Says: "replace replaces, and the published path is told",
		run: func(c *Check) {
			path := c.newPath()
			c.put(path, contentOf(50))
			in := c.offer(offer{path: path, content: contentOf(60), onExisting: common.OnExistingReplace})
			in.stream(60)
			in.publishedAs(path)
			c.holds(path, contentOf(60))
		}},
	{Name: "on-existing/error", Source: "extension on-existing", Role: Both, Features: frames.FeatureOnExisting,
		Says: "error refuses a target that is there with already_exists, and takes one that is not",
		run: func(c *Check) {
			path := c.newPath()
			in := c.offer(offer{path: path, content: contentOf(50), onExisting: common.OnExistingError})
			in.stream(50)
			in.publishedAs(path)
			c.refusesOffer(offer{path: path, content: contentOf(60), onExisting: common.OnExistingError}, "already exists", common.ErrorCodeAlreadyExists)
			c.holds(path, contentOf(50))
		}},
	{Name: "on-existing/keep-both", Source: "extension on-existing", Role: Both, Features: frames.FeatureOnExisting,
		Says: "keep_both publishes beside what is there, under a name by the rule, and tells it",
		run: func(c *Check) {
			unique := "conformance/" + uuid.NewString()
			for _, name := range [][2]string{{"/a.txt", "/a-1.txt"}, {"/archive.tar.gz", "/archive-1.tar.gz"}, {"/.env", "/.env-1"},
				{"/Makefile", "/Makefile-1"}, {"/name.", "/name.-1"}, {"/a-1.txt", "/a-1-1.txt"}} {
				path, want := unique+name[0], unique+name[1]
				if name[0] != "/a-1.txt" { // the first of them made it
					c.put(path, contentOf(50))
				}
				in := c.offer(offer{path: path, content: contentOf(60), onExisting: common.OnExistingKeepBoth})
				in.stream(60)
				in.publishedAs(want)
				c.holds(want, contentOf(60))
			}
			c.holds(unique+"/a.txt", contentOf(50))
		}},
	{Name: "on-existing/keep-both-at-once", Source: "extension on-existing", Role: Both, Features: frames.FeatureOnExisting,
		Says: "keep_both holds no target: several at once get several names",
		run: func(c *Check) {
			path := "conformance/" + uuid.NewString() + "/same.bin"
			var all []*incoming
			for n := range 4 {
				all = append(all, c.offer(offer{path: path, content: contentOf(100 + n), onExisting: common.OnExistingKeepBoth}))
			}
			names := map[string][]byte{}
			for _, in := range all {
				in.stream(50)
				done := in.completed()
				in.finish()
				c.callSucceeds(in.call, in.content)
				if done.Path == nil {
					c.failf("the published path is not told")
				}
				names[*done.Path] = in.content
			}
			if len(names) != len(all) {
				c.failf("%d transfers got %d names", len(all), len(names))
			}
			for name, content := range names {
				c.holds(name, content)
			}
		}},
	{Name: "on-existing/is-told", Source: "extension on-existing", Role: Brain, Features: frames.FeatureOnExisting,
		Says: "a download tells the Foot what was asked for",
		run: func(c *Check) {
			path := c.newPath()
			c.put(path, contentOf(10))
			for _, way := range []common.OnExisting{common.OnExistingError, common.OnExistingKeepBoth} {
				out := c.fetch(ask{path: path, toolArgs: map[string]any{"onExisting": way}})
				if got := out.init.OnExisting; got == nil || *got != way {
					c.failf("transfer_init does not tell onExisting %s", way)
				}
				out.whole()
			}
		}},
	{Name: "on-existing/unsupported", Source: "extension on-existing", Role: Brain,
		Says: "a download with error or keep_both to a Foot without the extension is unsupported before any frame",
		run: func(c *Check) {
			path := c.newPath()
			c.put(path, contentOf(10))
			for _, way := range []string{"error", "keep_both"} {
				c.callRefused("client_file_download", map[string]any{"remotePath": path, "onExisting": way}, common.ErrorCodeUnsupported, "")
			}
		}},
	{Name: "on-existing/tool-alone", Source: "extension on-existing", Role: Brain, Features: frames.FeatureOnExisting,
		Says: "in an upload the tool's argument counts, whatever the Foot's offer says",
		run: func(c *Check) {
			path := c.newPath()
			c.put(path, contentOf(50))
			in := c.offer(offer{path: path, content: contentOf(60), tell: func(f *frames.TransferInit) {
				f.OnExisting = ptr(common.OnExistingKeepBoth)
			}})
			in.stream(60)
			in.publishedAs(path)
			c.holds(path, contentOf(60))
		}},
}

// publishedAs takes the success and the path it tells.
func (in *incoming) publishedAs(path string) {
	c := in.c
	done := in.completed()
	in.finish()
	r := c.callSucceeds(in.call, in.content)
	if done.Path == nil || *done.Path != path {
		c.failf("transfer_complete tells the path %q, want %q", deref(done.Path), path)
	}
	if r != nil && r.Path != path {
		c.failf("the result tells the path %q, want %q", r.Path, path)
	}
	if strings.HasPrefix(path, "/") {
		panic("suite: published paths are relative")
	}
}

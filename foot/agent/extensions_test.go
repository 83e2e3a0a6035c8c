package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/foot/internal/fakebrain"
	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/transfer"
)

// agreed starts a Foot whose Brain has these extensions in force.
func agreed(t *testing.T, features []string, change ...func(*Config)) (*foot, *fakebrain.Foot, *fakebrain.Brain) {
	t.Helper()
	b := fakebrain.New(t)
	b.Welcome(func(w *frames.Welcome) { w.Features = features })
	f := start(t, b, change...)
	return f, b.Await(t), b
}

var modern = transfer.Features.Names()

// offerTo sends a transfer_init that says what to do about an existing target.
func offerTo(peer *fakebrain.Foot, id uuid.UUID, target, content string, o common.OnExisting) {
	hash := fakebrain.Hash(content)
	peer.Send(&frames.TransferInit{TransferID: id, Target: target, TotalSize: int64(len(content)), Hash: &hash, OnExisting: &o})
}

func TestOnlyExtensionsThatTheFootOfferedAreInForce(t *testing.T) {
	f, _, _ := agreed(t, []string{"binary-chunks", "cancel", "trailing-hash"})
	f.await(t, "connected acme/proj laptop")
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.features, []string{"cancel"}) {
		t.Errorf("in force are %v", f.features)
	}
}

func TestABaseConnectionIgnoresOnExistingAndRefusesTheFramesOfExtensions(t *testing.T) {
	f, peer, _ := agreed(t, []string{})
	f.put(t, "a", "old")
	id := newID()
	offerTo(peer, id, "a", "new", common.OnExistingError)
	if r := fakebrain.Expect[*frames.TransferInitResponse](peer); !r.Ok {
		t.Fatalf("refused: %+v", r)
	}
	for _, frame := range []frames.Frame{
		&frames.TransferCancel{TransferID: id, Reason: "x"},
		&frames.TransferProgress{TransferID: id, State: "streaming"},
	} {
		peer.Send(frame)
		if e := fakebrain.Expect[*frames.ErrorFrame](peer); e.Code != common.ErrorCodeUnexpectedFrame {
			t.Errorf("%s: %+v", frame.FrameType(), e)
		}
	}
	peer.Stream(id, "new", 10)
	if c := fakebrain.Expect[*frames.TransferComplete](peer); !c.Ok || c.Path != nil {
		t.Errorf("it ends with %+v", c)
	}
	if got := f.content(t, "a"); got != "new" {
		t.Errorf("the file has %q", got)
	}
}

func TestOnExistingErrorIsCheckedAtTheInitAndAtThePublication(t *testing.T) {
	f, peer, _ := agreed(t, modern)
	f.put(t, "a", "old")
	offerTo(peer, newID(), "a", "new", common.OnExistingError)
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); r.Ok || *r.ErrorCode != common.ErrorCodeAlreadyExists {
		t.Errorf("at the init: %+v", r)
	}
	id := newID()
	offerTo(peer, id, "b", "new", common.OnExistingError)
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); !r.Ok {
		t.Fatalf("refused: %+v", r)
	}
	f.put(t, "b", "theirs")
	peer.Stream(id, "new", 10)
	if c := fakebrain.Await[*frames.TransferComplete](peer); c.Ok || *c.ErrorCode != common.ErrorCodeAlreadyExists {
		t.Errorf("at the publication: %+v", c)
	}
	if a, b := f.content(t, "a"), f.content(t, "b"); a != "old" || b != "theirs" {
		t.Errorf("the files have %q and %q", a, b)
	}
	if got := f.listing(t); got != " /a /b" {
		t.Errorf("in the folder: %s", got)
	}
}

func TestEightDownloadsThatKeepBothGetEightNames(t *testing.T) {
	f, peer, _ := agreed(t, modern)
	var ids []uuid.UUID
	for range 8 {
		id := newID()
		ids = append(ids, id)
		offerTo(peer, id, "in/.env.local", "content", common.OnExistingKeepBoth)
		if r := fakebrain.Await[*frames.TransferInitResponse](peer); !r.Ok {
			t.Fatalf("refused: %+v", r)
		}
	}
	for _, id := range ids {
		peer.Stream(id, "content", 10)
	}
	var names []string
	for range ids {
		c := fakebrain.Await[*frames.TransferComplete](peer)
		if !c.Ok || c.Path == nil {
			t.Fatalf("it ends with %+v", c)
		}
		names = append(names, *c.Path)
	}
	slices.Sort(names)
	want := []string{}
	for n := range 7 {
		want = append(want, fmt.Sprintf("in/.env-%d.local", n+1))
	}
	want = append(want, "in/.env.local")
	if !slices.Equal(names, want) {
		t.Errorf("the names are %v, want %v", names, want)
	}
	if got := f.listing(t); got != "  /in /"+strings.Join(want, " /") && got != " /in /"+strings.Join(want, " /") {
		t.Errorf("in the folder: %s", got)
	}
	f.await(t, "download in/.env-7.local complete")
}

func TestACancelFromTheBrainEndsATransferAndLeavesNothing(t *testing.T) {
	f, peer, _ := agreed(t, modern)
	t.Run("download", func(t *testing.T) {
		f.put(t, "a", "old")
		id := newID()
		offerTo(peer, id, "a", "new content", common.OnExistingReplace)
		fakebrain.Await[*frames.TransferInitResponse](peer)
		peer.Send(&frames.TransferCancel{TransferID: id, Reason: "enough"})
		f.await(t, "download a cancelled")
		if got := f.listing(t); got != " /a" || f.content(t, "a") != "old" {
			t.Errorf("in the folder: %s", got)
		}
		if got := f.of(id); got.Fault == nil || got.Fault.Text != "cancelled: enough" {
			t.Errorf("the person sees %+v", got)
		}
	})
	t.Run("upload", func(t *testing.T) {
		f.put(t, "b", strings.Repeat("x", 1000))
		id := newID()
		peer.Send(&frames.ClientFileUploadRequest{TransferID: id, LocalPath: "b", DirName: "d", RemotePath: "b"})
		fakebrain.Await[*frames.TransferInit](peer)
		peer.Send(&frames.TransferCancel{TransferID: id, Reason: "enough"})
		f.await(t, "upload b cancelled")
	})
	id := newID()
	peer.Offer(id, "c", "still works")
	fakebrain.Await[*frames.TransferInitResponse](peer)
	peer.Stream(id, "still works", 10)
	if c := fakebrain.Await[*frames.TransferComplete](peer); !c.Ok || c.TransferID != id {
		t.Errorf("afterwards: %+v", c)
	}
}

func TestStoppingTellsABrainThatKnowsItByCancel(t *testing.T) {
	f, peer, _ := agreed(t, modern, func(c *Config) { c.DrainTime = 50 * time.Millisecond })
	id := newID()
	peer.Offer(id, "a", "content")
	fakebrain.Await[*frames.TransferInitResponse](peer)
	f.stop()
	if c := fakebrain.Await[*frames.TransferCancel](peer); c.TransferID != id || c.Reason != "cancelled: the Foot is stopping" {
		t.Errorf("the Brain hears %+v", c)
	}
	if err := f.end(t); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestTheFootTellsItsProgress(t *testing.T) {
	f, peer, _ := agreed(t, modern)
	id := newID()
	peer.Offer(id, "a", "content")
	if p := fakebrain.Await[*frames.TransferProgress](peer); p.TransferID != id || p.State != "streaming" || p.TotalBytes != 7 {
		t.Errorf("the first news: %+v", p)
	}
	peer.Stream(id, "content", 10)
	if p := fakebrain.Await[*frames.TransferProgress](peer); p.State != "verifying" {
		t.Errorf("the second news: %+v", p)
	}
	f.put(t, "b", strings.Repeat("x", 1000))
	id = newID()
	peer.Send(&frames.ClientFileUploadRequest{TransferID: id, LocalPath: "b", DirName: "d", RemotePath: "b"})
	if p := fakebrain.Await[*frames.TransferProgress](peer); p.TransferID != id || p.State != "hashing" || p.TotalBytes != 1000 {
		t.Errorf("of an upload: %+v", p)
	}
}

func TestKeepBothIsNoWayAroundALink(t *testing.T) {
	f, peer, _ := agreed(t, modern)
	f.put(t, "real", "old")
	if err := os.Symlink("real", filepath.Join(f.folder, "a")); err != nil {
		t.Fatal(err)
	}
	offerTo(peer, newID(), "a", "new", common.OnExistingKeepBoth)
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); r.Ok || *r.ErrorCode != common.ErrorCodeSymlinkNotAllowed {
		t.Errorf("a link as target: %+v", r)
	}
	if got := f.content(t, "real"); got != "old" {
		t.Errorf("the link's file has %q", got)
	}
}

// of is what the person saw last of a transfer.
func (r *recorder) of(id uuid.UUID) ui.Transfer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[id]
}

//go:build unix

package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// attempt calls a tool and returns the answer, or the zero Result when the
// Brain went away before it answered.
func attempt(ctx context.Context, a *Agent, tool string, args any) Result {
	answer, err := a.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return Result{}
	}
	var r Result
	raw, err := json.Marshal(answer.StructuredContent)
	if err != nil || json.Unmarshal(raw, &r) != nil {
		return Result{}
	}
	r.Raw = raw
	return r
}

// battlefield is a Brain and a Foot with a tap between them, and files for both
// directions.
type battlefield struct {
	*World
	t       *testing.T // what is started anew outlives the row that killed it
	tap     *Tap
	foot    FootOptions
	dir     string
	newHash string
	made    int
}

const battleSize = 5*65536 + 1

func newBattlefield(t *testing.T, settings map[string]string) *battlefield {
	t.Helper()
	b := &battlefield{t: t}
	dir := t.TempDir()
	b.World = NewWorld(t, WorldOptions{Dir: dir, NoFoot: true, BrainSettings: settings})
	b.tap = NewTap(t, b.Brain.URL)
	b.foot = FootOptions{Dir: dir, URL: b.tap.URL, Tenant: b.Tenant, ProjectID: b.Project, TokenFile: b.FootFile, Settings: settings}
	b.Foot = StartFoot(t, b.foot)
	b.Foot.AwaitEvent(t, "connected")
	b.dir = b.NewDir(t)
	for _, at := range []string{b.AtFoot("source"), b.AtBrain(b.dir, "source")} {
		b.newHash = WriteFile(t, at, battleSize, 0o644, anHourAgo)
	}
	return b
}

// transferArgs are the arguments of a call in either direction to a target.
func (b *battlefield) args(tool, target string) map[string]any {
	if tool == "client_file_upload" {
		return map[string]any{"localPath": "source", "dirName": b.dir, "remotePath": target}
	}
	return map[string]any{"localPath": target, "dirName": b.dir, "remotePath": "source"}
}

func (b *battlefield) target(tool, name string) string {
	if tool == "client_file_upload" {
		return b.AtBrain(b.dir, name)
	}
	return b.AtFoot(name)
}

// whole fails the test unless the target is the old or the new file.
func (b *battlefield) whole(t *testing.T, got Result, path, oldHash string) {
	t.Helper()
	switch hash := HashFile(t, path); {
	case hash == b.newHash:
	case hash != oldHash:
		t.Errorf("%s is neither the old nor the new file", path)
	case got.OK:
		t.Errorf("the call says ok and the old file is there")
	}
}

// recovers checks that nothing is left and that the next transfer goes well.
func (b *battlefield) recovers(t *testing.T, tool string) {
	t.Helper()
	b.made++
	name := fmt.Sprintf("after %d", b.made)
	var got Result
	Eventually(t, func() string { // the other side may still be noticing the loss
		got = b.Agent.Call(t, tool, b.args(tool, name))
		if !got.OK {
			return got.String()
		}
		return ""
	})
	checkReceipt(t, got, name, battleSize, b.newHash)
	onlyStaging(t, b.AtBrain(b.dir, ""))
	onlyStaging(t, b.Foot.Project)
	Eventually(t, func() string {
		if left := running(t, b.Agent); len(left) > 0 {
			return fmt.Sprintf("still running: %v", left)
		}
		return ""
	})
}

// states names the frames at whose passing something is done to a process, for
// each direction. "transfer_chunk 3" is the third chunk.
var states = map[string][]string{
	"client_file_upload": {"client.file.upload.request", "transfer_init", "transfer_init_response", "transfer_chunk 1",
		"transfer_chunk 3", "transfer_chunk 6", "transfer_complete", "transfer_finish"},
	"client_file_download": {"transfer_init", "transfer_init_response", "transfer_chunk 1", "transfer_chunk 3", "transfer_chunk 6",
		"transfer_complete", "transfer_finish"},
}

// at has do called once, before the frame of that state is passed on.
func (b *battlefield) at(state string, do func()) {
	want, nth, _ := strings.Cut(state, " ")
	var seen atomic.Int32
	b.tap.Alter(func(f TappedFrame) [][]byte {
		if f.Type() == want {
			if n := seen.Add(1); nth == "" && n == 1 || fmt.Sprint(n) == nth {
				do()
			}
		}
		return [][]byte{f.Raw}
	})
}

func TestKillingEitherSideAtEachStateLeavesWholeFilesAndNothingElse(t *testing.T) {
	t.Parallel()
	b := newBattlefield(t, map[string]string{"vance.transfer.phase-timeout": "3s"})
	for tool, at := range states {
		for _, state := range at {
			for _, victim := range []string{"foot", "brain"} {
				t.Run(tool+", "+state+", "+victim, func(t *testing.T) { b.kill(t, tool, state, victim) })
			}
		}
	}
}

func (b *battlefield) kill(t *testing.T, tool, state, victim string) {
	path := b.target(tool, "old")
	oldHash := WriteFile(t, path, 10, 0o600, anHourAgo)
	child := b.Foot.Child
	if victim == "brain" {
		child = b.Brain.Child
	}
	b.at(state, child.Kill)
	got := attempt(Bounded(t), b.Agent, tool, b.args(tool, "old"))
	select {
	case <-child.Done():
	case <-time.After(Patience): // the last frame comes after the answer
		t.Fatalf("%s never came", state)
	}
	b.tap.Alter(nil)
	if victim == "brain" {
		b.Brain.start(b.t, strings.TrimPrefix(b.Brain.URL, "http://"))
		b.Agent = ConnectAgent(b.t, b.Brain.URL, b.AgentToken, "")
	} else {
		if !got.OK && got.ErrorCode != "connection_lost" {
			t.Errorf("the call ends with %s", got)
		}
		b.Foot = StartFoot(b.t, b.foot)
	}
	b.Foot.AwaitEvent(t, "connected")
	b.whole(t, got, path, oldHash)
	b.recovers(t, tool)
}

func TestStoppingEitherSideAtEachStateEndsByATimeoutAndLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBattlefield(t, map[string]string{"vance.transfer.phase-timeout": "500ms", "vance.transfer.ping-interval": "5s"})
	for tool, at := range states {
		for _, state := range at {
			for _, victim := range []string{"foot", "brain"} {
				t.Run(tool+", "+state+", "+victim, func(t *testing.T) { b.stop(t, tool, state, victim) })
			}
		}
	}
}

func (b *battlefield) stop(t *testing.T, tool, state, victim string) {
	path := b.target(tool, "old")
	oldHash := WriteFile(t, path, 10, 0o600, anHourAgo)
	child := b.Foot.Child
	if victim == "brain" {
		child = b.Brain.Child
	}
	stopped := make(chan struct{})
	b.at(state, func() {
		if err := child.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		close(stopped)
	})
	resumed := make(chan struct{})
	go func() {
		defer close(resumed)
		select {
		case <-stopped:
		case <-t.Context().Done():
			return
		}
		// Longer than every phase: the other side must have given up by then.
		timer := time.NewTimer(800 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
		if err := child.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	got := attempt(Bounded(t), b.Agent, tool, b.args(tool, "old"))
	if got.Raw == nil {
		t.Error("the call is not answered")
	}
	switch got.ErrorCode {
	case "", "init_timeout", "chunk_timeout", "complete_timeout", "connection_lost", "cancelled", "size_mismatch":
	default:
		t.Errorf("the call ends with %s", got)
	}
	<-resumed
	b.tap.Alter(nil)
	b.whole(t, got, path, oldHash)
	b.recovers(t, tool)
}

// slowProxy passes TCP on at a rate that can be changed, 0 is not at all.
type slowProxy struct {
	URL  string
	rate atomic.Int64 // bytes a second in each direction, < 0 is no limit
}

func newSlowProxy(t *testing.T, upstream string) *slowProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &slowProxy{URL: "http://" + listener.Addr().String()}
	p.rate.Store(-1)
	t.Cleanup(func() { closeQuietly(listener) })
	go func() {
		for {
			down, err := listener.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", strings.TrimPrefix(upstream, "http://"))
			if err != nil {
				closeQuietly(down)
				continue
			}
			t.Cleanup(func() { closeQuietly(down); closeQuietly(up) })
			go p.pass(t.Context(), down, up)
			go p.pass(t.Context(), up, down)
		}
	}()
	return p
}

func (p *slowProxy) pass(ctx context.Context, from io.ReadCloser, to io.WriteCloser) {
	defer closeQuietly(from)
	defer closeQuietly(to)
	buffer := make([]byte, 32<<10)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for credit := 0.0; ; {
		size := len(buffer)
		if rate := p.rate.Load(); rate >= 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if credit += float64(rate) / 20; credit < 1 {
				continue
			}
			size = min(size, int(credit))
			credit -= float64(size)
		}
		n, err := from.Read(buffer[:size])
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func TestALineThatStallsOrTricklesFailsTheTransferInTime(t *testing.T) {
	t.Parallel()
	for rate, name := range map[int64]string{0: "nothing passes", 1: "one byte a second"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var line *slowProxy
			settings := map[string]string{"vance.transfer.phase-timeout": "1s", "vance.transfer.ping-interval": "1s"}
			w := NewWorld(t, WorldOptions{BrainSettings: settings, FootSettings: settings,
				Via: func(url string) string { line = newSlowProxy(t, url); return line.URL }})
			b := &battlefield{World: w, dir: w.NewDir(t)}
			for _, at := range []string{w.AtFoot("source"), w.AtBrain(b.dir, "source")} {
				b.newHash = WriteFile(t, at, battleSize, 0o644, anHourAgo)
			}
			for tool := range states {
				path := b.target(tool, "old")
				oldHash := WriteFile(t, path, 10, 0o600, anHourAgo)
				line.rate.Store(rate)
				got := attempt(Bounded(t), w.Agent, tool, b.args(tool, "old"))
				switch got.ErrorCode {
				case "init_timeout", "chunk_timeout", "complete_timeout", "connection_lost":
				default:
					t.Errorf("the call ends with %s", got)
				}
				b.whole(t, got, path, oldHash)
				line.rate.Store(-1)
				b.recovers(t, tool)
			}
		})
	}
}

func TestOfTwoFeetOnOneStateFolderTheOlderStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := NewWorld(t, WorldOptions{Dir: dir})
	again := StartFoot(t, FootOptions{Dir: dir, URL: w.Brain.URL, Tenant: w.Tenant, ProjectID: w.Project,
		TokenFile: w.Brain.Token(t, w.Tenant, w.Project, "foot", "desktop")})
	if code := again.Wait(t); code != 5 {
		t.Errorf("the second one ends with exit code %d, want 5", code)
	}
	rootDir := w.NewDir(t)
	hash := WriteFile(t, w.AtFoot("file"), 1000, 0o644, anHourAgo)
	up := w.Agent.Call(t, "client_file_upload", map[string]any{"localPath": "file", "dirName": rootDir, "remotePath": "file"})
	checkReceipt(t, up, "file", 1000, hash)
}

func TestSixteenCallsAtOnceCancelledAtRandomLeaveWholeFiles(t *testing.T) {
	t.Parallel()
	b := newBattlefield(t, map[string]string{"vance.transfer.phase-timeout": "10s"})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	tools := []string{"client_file_upload", "client_file_download"}
	var all sync.WaitGroup
	for i := range 16 {
		tool, name := tools[i%2], fmt.Sprintf("target %d", i)
		ctx, cancel := context.WithCancel(Bounded(t))
		if i%4 != 3 { // some go through
			time.AfterFunc(time.Duration(random.IntN(400))*time.Millisecond, cancel)
		}
		all.Go(func() {
			defer cancel()
			got := attempt(ctx, b.Agent, tool, b.args(tool, name))
			if i%4 == 3 && !got.OK {
				t.Errorf("%s of %s, which nobody cancelled, ends with %s", tool, name, got)
			}
		})
	}
	all.Wait()
	b.recovers(t, tools[0])
	b.recovers(t, tools[1])
	for i := range 16 {
		path := b.target(tools[i%2], fmt.Sprintf("target %d", i))
		if hash, err := hashFile(path); err == nil && hash != b.newHash {
			t.Errorf("%s is neither absent nor whole", path)
		}
	}
}

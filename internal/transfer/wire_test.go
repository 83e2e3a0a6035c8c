package transfer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/rootfs/faultfs"
	"github.com/vancetope/transfer/internal/transfer"
	"github.com/vancetope/transfer/internal/wire"
)

// In these tests a Brain's and a Foot's session move real files over a real
// WebSocket, which runs over a pipe in memory and in fake time.

const chunk = 64 << 10

// side is one end: a session over a connection, and a folder.
type side struct {
	dir     string
	root    *rootfs.Root
	holds   *rootfs.Holds
	session *transfer.Session
	conn    *wire.Conn
	served  chan struct{}

	mu     sync.Mutex
	tap    []frames.FrameType // what it received
	chunks int
	// at is called as the n-th chunk is received, once.
	at map[int]func()
	// failed: a transfer_complete came; late is how many chunks were sent since.
	failed bool
	late   int
}

// atChunk has f called as the n-th chunk from now is received.
func (s *side) atChunk(n int, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[int]func(){}
	}
	s.at[s.chunks+n] = f
}

type brainSide struct{ *side }

func (b brainSide) Handle(f frames.Frame) error { return frames.DispatchToBrain(b, f) }
func (b brainSide) HandleInvalid(e *frames.DecodeError) bool {
	return b.session.HandleInvalid(e)
}
func (brainSide) HandleHello(*frames.Hello) error           { return fault.New(common.ErrorCodeUnexpectedFrame) }
func (brainSide) HandleErrorFrame(*frames.ErrorFrame) error { return nil }
func (b brainSide) HandleTransferInit(f *frames.TransferInit) error {
	return b.session.HandleTransferInit(f)
}
func (b brainSide) HandleTransferInitResponse(f *frames.TransferInitResponse) error {
	return b.session.HandleTransferInitResponse(f)
}
func (b brainSide) HandleTransferChunk(f *frames.TransferChunk) error {
	return b.session.HandleTransferChunk(f)
}
func (b brainSide) HandleTransferComplete(f *frames.TransferComplete) error {
	return b.session.HandleTransferComplete(f)
}
func (b brainSide) HandleTransferFinish(f *frames.TransferFinish) error {
	return b.session.HandleTransferFinish(f)
}
func (b brainSide) HandleTransferProgress(f *frames.TransferProgress) error {
	return b.session.HandleTransferProgress(f)
}
func (b brainSide) HandleTransferCancel(f *frames.TransferCancel) error {
	return b.session.HandleTransferCancel(f)
}

type footSide struct{ brainSide }

func (f footSide) Handle(fr frames.Frame) error { return frames.DispatchToFoot(f, fr) }
func (footSide) HandleWelcome(*frames.Welcome) error {
	return fault.New(common.ErrorCodeUnexpectedFrame)
}
func (f footSide) HandleClientFileUploadRequest(r *frames.ClientFileUploadRequest) error {
	return f.session.HandleClientFileUploadRequest(r)
}

type staged struct{ *rootfs.Staging }

func (s staged) Publish(ctx context.Context) (string, error) {
	p, err := s.Staging.Publish(ctx)
	return p.Path, err
}

// place opens the place of a file below the side's folder.
func (s *side) place(_ context.Context, init *frames.TransferInit) (*transfer.Incoming, error) {
	path, err := rootfs.CleanPath(init.Target)
	if err != nil {
		return nil, err
	}
	release, err := s.holds.Hold(path)
	if err != nil {
		return nil, err
	}
	o := rootfs.StageOptions{Size: init.TotalSize}
	if a := init.Attrs; a != nil {
		o.Attrs.ModTime = a.Mtime
		if a.Mode != nil {
			mode, err := rootfs.ParseMode(*a.Mode)
			if err != nil {
				release()
				return nil, err
			}
			o.Attrs.Mode = &mode
		}
	}
	st, err := s.root.Stage(path, init.TransferID, o)
	if err != nil {
		release()
		return nil, err
	}
	return &transfer.Incoming{Staging: staged{st}, Path: path.String(), Release: release}, nil
}

func (s *side) open(name string) (*transfer.Outgoing, error) {
	path, err := rootfs.CleanPath(name)
	if err != nil {
		return nil, err
	}
	src, err := s.root.OpenSource(path)
	if err != nil {
		return nil, err
	}
	return &transfer.Outgoing{Source: src, Name: path.Base()}, nil
}

func (s *side) serve(_ context.Context, req *frames.ClientFileUploadRequest) (*transfer.Outgoing, error) {
	return s.open(req.LocalPath)
}

// pair is a Brain and a Foot that are connected.
type pair struct {
	brain, foot side
	net         net.Conn // the Foot's end of the pipe
}

type pairOptions struct {
	footFaults  rootfs.Faults
	brainFaults rootfs.Faults
	limit       int64
}

// connected runs f with a pair. Afterwards nothing of either may be left.
func connected(t *testing.T, o pairOptions, f func(t *testing.T, p *pair)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pair{}
		near, far := net.Pipe()
		p.net = near
		p.brain.setUp(t, 0o644, o.brainFaults)
		p.foot.setUp(t, 0o755, o.footFaults)
		defer p.brain.root.Close()
		defer p.foot.root.Close()

		listener := &oneConn{conn: far, closed: make(chan struct{})}
		accepted := make(chan *wire.Conn, 1)
		server := &http.Server{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c, _, err := wire.AcceptConn(context.Background(), w, r, p.brain.wireConfig(), welcome)
				if err != nil {
					t.Error(err)
				}
				accepted <- c
			})}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
		conn, _, err := wire.Dial(t.Context(), wire.DialConfig{Config: p.foot.wireConfig(), URL: "http://brain.test",
			Tenant: "acme", Token: "x", Hello: &frames.Hello{ProtocolVersion: 1, ClientVersion: "t", Os: common.OsLinux,
				Access: common.AccessEdit, Grants: []common.Grant{}, Features: []string{}},
			NetDialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }})
		if err != nil {
			t.Fatal(err)
		}
		p.foot.conn, p.brain.conn = conn, <-accepted

		cfg := transfer.Config{ChunkSize: chunk, MaxSendSize: 1 << 30, MaxReceiveSize: 1 << 30,
			PhaseTimeout: 30 * time.Second, CleanupInterval: 5 * time.Minute, Release: wire.PutBuffer}
		if o.limit > 0 {
			cfg.MaxSendSize, cfg.MaxReceiveSize = o.limit, o.limit
		}
		cfg.Role = transfer.Brain
		p.brain.session = transfer.NewSession(p.brain.conn, cfg)
		cfg.Role, cfg.Accept, cfg.Serve = transfer.Foot, p.foot.place, p.foot.serve
		p.foot.session = transfer.NewSession(p.foot.conn, cfg)
		p.brain.serveConn(brainSide{&p.brain})
		p.foot.serveConn(footSide{brainSide{&p.foot}})

		f(t, p)

		p.foot.conn.Close(wire.CloseGoingAway, "done")
		for _, s := range []*side{&p.brain, &p.foot} {
			<-s.served
			s.check(t)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
}

func (s *side) setUp(t *testing.T, mask fs.FileMode, faults rootfs.Faults) {
	t.Helper()
	s.dir = t.TempDir()
	root, err := rootfs.Open(s.dir, rootfs.Options{Mask: mask, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	s.root, s.holds, s.served = root, rootfs.NewHolds(false), make(chan struct{})
}

func (s *side) wireConfig() wire.Config {
	return wire.Config{Tap: func(d wire.Direction, message []byte) {
		_, after, _ := bytes.Cut(message, []byte(`"type":"`))
		name, _, _ := bytes.Cut(after, []byte(`"`))
		s.mu.Lock()
		if d == wire.Sent {
			if string(name) == "transfer_chunk" && s.failed {
				s.late++
			}
			s.mu.Unlock()
			return
		}
		s.failed = s.failed || string(name) == "transfer_complete"
		s.tap = append(s.tap, frames.FrameType(name))
		var call func()
		if string(name) == "transfer_chunk" {
			s.chunks++
			call = s.at[s.chunks]
		}
		s.mu.Unlock()
		if call != nil {
			call()
		}
	}}
}

func (s *side) received(typ frames.FrameType) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tap {
		if t == typ {
			n++
		}
	}
	return n
}

// serveConn reads the connection and ends the session with it.
func (s *side) serveConn(h wire.Handler) {
	go func() {
		defer close(s.served)
		_ = s.conn.Serve(context.Background(), h) // why it ended is each test's matter
		s.session.Close(nil)
		_ = s.session.Wait(context.Background()) // no deadline, no error
	}()
}

// check asserts that no transfer and no staging file is left.
func (s *side) check(t *testing.T) {
	t.Helper()
	if n := s.session.Len(); n != 0 {
		t.Errorf("%d transfers are left", n)
	}
	for _, name := range s.files(t) {
		if strings.Contains(name, ".vance-part-") {
			t.Errorf("a staging file is left: %s", name)
		}
	}
}

func (s *side) files(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(s.dir, path); rel != "." {
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return names
}

func (s *side) write(t *testing.T, name string, data []byte, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

func welcome(*frames.Hello) (*frames.Welcome, *wire.Refusal) {
	return &frames.Welcome{ProtocolVersion: 1, ConnectionID: uuid.New(), Tenant: "acme", ProjectID: "p", FootID: "f",
		Features: []string{}, Settings: frames.WelcomeSettings{ChunkSize: chunk, MaxFrameSize: 4 << 20, PhaseTimeoutMs: 30000,
			PingIntervalMs: 20000, MaxUploadSize: 1 << 30, MaxDownloadSize: 1 << 30}}, nil
}

// oneConn is a listener with one connection.
type oneConn struct {
	mu     sync.Mutex
	conn   net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	l.mu.Lock()
	c := l.conn
	l.conn = nil
	l.mu.Unlock()
	if c != nil {
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pair) upload(ctx context.Context, local, remote string) (transfer.Result, error) {
	return p.brain.session.Receive(ctx, transfer.ReceiveRequest{ID: newID(), LocalPath: local, DirName: "d", RemotePath: remote,
		Open: p.brain.place})
}

func (p *pair) download(ctx context.Context, remote, local string) (transfer.Result, error) {
	return p.brain.session.Send(ctx, transfer.SendRequest{ID: newID(), Target: local, Path: remote,
		Open: func(context.Context) (*transfer.Outgoing, error) { return p.brain.open(remote) }})
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), 1}).Read(b) // cannot fail
	return b
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func TestBothWaysAtEverySizeAroundAChunk(t *testing.T) {
	connected(t, pairOptions{}, func(t *testing.T, p *pair) {
		for _, n := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2*chunk + 1, 3<<20 + 5} {
			name, data := fmt.Sprintf("at/ü %d", n), random(n)
			path := p.foot.write(t, name, data, 0o750)
			mtime := time.Date(2024, 5, 1, 14, 23, 11, 123456789, time.UTC)
			if err := os.Chtimes(path, mtime, mtime); err != nil {
				t.Fatal(err)
			}
			up, err := p.upload(t.Context(), name, "up/"+name)
			if err != nil {
				t.Fatalf("%d bytes up: %v", n, err)
			}
			if up.BytesWritten != int64(n) || up.Hash != hashOf(data) || up.Path != "up/"+name {
				t.Errorf("%d bytes up: %+v", n, up)
			}
			expect(t, filepath.Join(p.brain.dir, "up", name), data, 0o640, mtime)
			down, err := p.download(t.Context(), "up/"+name, "down/"+name)
			if err != nil {
				t.Fatalf("%d bytes down: %v", n, err)
			}
			if down.BytesWritten != int64(n) || down.Hash != up.Hash || down.Path != "down/"+name {
				t.Errorf("%d bytes down: %+v", n, down)
			}
			expect(t, filepath.Join(p.foot.dir, "down", name), data, 0o640, mtime)
		}
	})
}

func expect(t *testing.T, path string, data []byte, mode fs.FileMode, mtime time.Time) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%s: %d bytes, %v", path, len(got), err)
		return
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != mode || !info.ModTime().Equal(mtime) {
		t.Errorf("%s: mode %v, want %v; mtime %v, want %v", path, info.Mode().Perm(), mode, info.ModTime(), mtime)
	}
}

func TestTheFramesOfATransferAreThoseOfTheSpec(t *testing.T) {
	connected(t, pairOptions{}, func(t *testing.T, p *pair) {
		p.foot.write(t, "f", random(chunk+1), 0o644)
		if _, err := p.upload(t.Context(), "f", "f"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []frames.FrameType{"hello", "transfer_init", "transfer_chunk", "transfer_chunk", "transfer_finish"}
		if !slices.Equal(p.brain.tap, want) {
			t.Errorf("Brain received %v", p.brain.tap)
		}
		want = []frames.FrameType{"welcome", "client.file.upload.request", "transfer_init_response", "transfer_complete"}
		if !slices.Equal(p.foot.tap, want) {
			t.Errorf("the Foot received %v", p.foot.tap)
		}
		if p.brain.session.Len() != 0 || p.foot.session.Len() != 0 {
			t.Error("a map is not empty")
		}
	})
}

func TestEachRefusalNamesItsReasonAndLeavesNothing(t *testing.T) {
	connected(t, pairOptions{limit: 1000}, func(t *testing.T, p *pair) {
		p.foot.write(t, "f", random(10), 0o644)
		p.foot.write(t, "large", random(1001), 0o644)
		p.brain.write(t, "f", random(10), 0o644)
		p.brain.write(t, "large", random(1001), 0o644)
		p.brain.write(t, "exact", random(1000), 0o644)
		if err := errors.Join(os.Symlink("f", filepath.Join(p.foot.dir, "leaf")), os.Symlink(".", filepath.Join(p.foot.dir, "parent")),
			os.Mkdir(filepath.Join(p.foot.dir, "dir"), 0o755)); err != nil {
			t.Fatal(err)
		}
		up := func(local string) func() (transfer.Result, error) {
			return func() (transfer.Result, error) { return p.upload(t.Context(), local, "new") }
		}
		down := func(remote, local string) func() (transfer.Result, error) {
			return func() (transfer.Result, error) { return p.download(t.Context(), remote, local) }
		}
		before := p.foot.files(t)
		for name, c := range map[string]struct {
			call func() (transfer.Result, error)
			code common.ErrorCode
		}{
			"upload of nothing":             {up("gone"), common.ErrorCodeNotFound},
			"upload from outside":           {up("../f"), common.ErrorCodePathEscapesSandbox},
			"upload of an absolute path":    {up("/etc/passwd"), common.ErrorCodePathEscapesSandbox},
			"upload of a link":              {up("leaf"), common.ErrorCodeSymlinkNotAllowed},
			"upload through a link":         {up("parent/f"), common.ErrorCodeSymlinkNotAllowed},
			"upload of a folder":            {up("dir"), common.ErrorCodeNotRegularFile},
			"upload above the limit":        {up("large"), common.ErrorCodeSizeLimit},
			"download of nothing":           {down("gone", "x"), common.ErrorCodeNotFound},
			"download to outside":           {down("f", "a/../../x"), common.ErrorCodePathEscapesSandbox},
			"download onto a link":          {down("f", "leaf"), common.ErrorCodeSymlinkNotAllowed},
			"download through a link":       {down("f", "parent/x"), common.ErrorCodeSymlinkNotAllowed},
			"download onto a folder":        {down("f", "dir"), common.ErrorCodeInvalidPath},
			"download above the limit":      {down("large", "x"), common.ErrorCodeSizeLimit},
			"download to a name of our own": {down("f", ".vance-x"), common.ErrorCodeInvalidPath},
		} {
			_, err := c.call()
			if fault.CodeOf(err) != c.code {
				t.Errorf("%s: %v, want %s", name, err, c.code)
			}
		}
		if after := p.foot.files(t); !slices.Equal(before, after) {
			t.Errorf("the Foot's folder was %v and is %v", before, after)
		}
		if _, err := p.download(t.Context(), "exact", "exact"); err != nil {
			t.Errorf("a file of exactly the limit: %v", err)
		}
	})
}

func TestASecondTransferToATargetIsBusyAndHarmless(t *testing.T) {
	connected(t, pairOptions{}, func(t *testing.T, p *pair) {
		p.brain.write(t, "f", random(10*chunk), 0o644)
		release, err := p.foot.holds.Hold(mustClean(t, "x"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.download(t.Context(), "f", "x"); fault.CodeOf(err) != common.ErrorCodeTargetBusy {
			t.Errorf("while it is held: %v", err)
		}
		release()
		for range 3 { // each gives its hold back before it answers
			if _, err := p.download(t.Context(), "f", "x"); err != nil {
				t.Error(err)
			}
		}
	})
}

func mustClean(t *testing.T, s string) rootfs.Path {
	t.Helper()
	p, err := rootfs.CleanPath(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAFullDiskStopsTheSenderAtOnceAndKeepsTheOldFile(t *testing.T) {
	for _, way := range []string{"up", "down"} {
		t.Run(way, func(t *testing.T) {
			full := faultfs.New(faultfs.FullAt(3 * chunk))
			connected(t, pairOptions{footFaults: full, brainFaults: full}, func(t *testing.T, p *pair) {
				sender, receiver, move := &p.brain, &p.foot, p.download
				if way == "up" {
					sender, receiver, move = &p.foot, &p.brain, p.upload
				}
				sender.write(t, "f", random(200*chunk), 0o644)
				old := receiver.write(t, "deep/f", []byte("old"), 0o600)
				_, err := move(t.Context(), "f", "deep/f")
				if fault.CodeOf(err) != common.ErrorCodeDiskFull {
					t.Errorf("the failure is %v", err)
				}
				synctest.Wait()
				// From the moment the sender reads the failure: the chunk being written,
				// and the one its writer may take before the news is through.
				if sender.late > 2 || sender.received("transfer_complete") != 1 {
					t.Errorf("%d chunks were sent after the failure was read", sender.late)
				}
				if got, err := os.ReadFile(old); err != nil || string(got) != "old" {
					t.Errorf("the old file is %q, %v", got, err)
				}
				receiver.check(t)
			})
		})
	}
}

func TestACutEndsBothSidesAtOnce(t *testing.T) {
	for _, way := range []string{"up", "down"} {
		t.Run(way, func(t *testing.T) {
			connected(t, pairOptions{}, func(t *testing.T, p *pair) {
				sender, receiver, move := &p.brain, &p.foot, p.download
				if way == "up" {
					sender, receiver, move = &p.foot, &p.brain, p.upload
				}
				sender.write(t, "f", random(100*chunk), 0o644)
				old := receiver.write(t, "f2", []byte("old"), 0o600)
				start := time.Now()
				receiver.atChunk(5, func() { _ = p.net.Close() }) // the cut itself
				_, err := move(t.Context(), "f", "f2")
				if fault.CodeOf(err) != common.ErrorCodeConnectionLost {
					t.Errorf("the failure is %v", err)
				}
				<-p.brain.served
				<-p.foot.served
				if took := time.Since(start); took > time.Second {
					t.Errorf("it took %v", took)
				}
				if got, err := os.ReadFile(old); err != nil || string(got) != "old" {
					t.Errorf("the old file is %q, %v", got, err)
				}
			})
		})
	}
}

func TestSixteenAtOnceCancelledAtRandom(t *testing.T) {
	connected(t, pairOptions{}, func(t *testing.T, p *pair) {
		data := random(20 * chunk)
		p.foot.write(t, "f", data, 0o644)
		p.brain.write(t, "f", data, 0o644)
		var all sync.WaitGroup
		var mu sync.Mutex
		ended := map[common.ErrorCode]int{}
		for i := range 16 {
			target := fmt.Sprintf("t/%d", i)
			move := p.upload
			if i%2 == 0 {
				move = p.download
			}
			ctx, cancel := context.WithCancel(t.Context())
			if i%4 != 3 { // some go through
				s := []*side{&p.brain, &p.foot}[rand.IntN(2)]
				s.atChunk(rand.IntN(100)+10*i, cancel)
			}
			all.Go(func() {
				defer cancel()
				_, err := move(ctx, "f", target)
				mu.Lock()
				ended[fault.CodeOf(err)]++
				mu.Unlock()
				if code := fault.CodeOf(err); code != "" && code != common.ErrorCodeCancelled {
					t.Errorf("%s: %v", target, err)
				}
			})
		}
		all.Wait()
		if ended[""] < 4 {
			t.Errorf("they ended %v", ended)
		}
		time.Sleep(31 * time.Second) // an upload cancelled before its init is waited for
		synctest.Wait()
		for _, s := range []*side{&p.brain, &p.foot} {
			s.check(t)
			for _, name := range s.files(t) {
				got, err := os.ReadFile(filepath.Join(s.dir, name))
				if err == nil && !bytes.Equal(got, data) {
					t.Errorf("%s is neither absent nor whole", name)
				}
			}
		}
		t.Log(ended)
	})
}

func TestCancelAndRetryAtOnce(t *testing.T) {
	connected(t, pairOptions{}, func(t *testing.T, p *pair) {
		data := random(12 * chunk)
		p.brain.write(t, "f", data, 0o644)
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			p.foot.atChunk(3, cancel)
			if _, err := p.download(ctx, "f", "x"); fault.CodeOf(err) != common.ErrorCodeCancelled {
				t.Fatalf("cancelled: %v", err)
			}
			// The Foot may still be clearing away: busy is an answer, a mixture is not.
			for attempt := 0; ; attempt++ {
				_, err := p.download(t.Context(), "f", "x")
				if fault.CodeOf(err) == common.ErrorCodeTargetBusy && attempt < 1000 {
					time.Sleep(time.Millisecond)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			got, err := os.ReadFile(filepath.Join(p.foot.dir, "x"))
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
	})
}

func TestASourceThatChangesOnDiskIsTold(t *testing.T) {
	faults := faultfs.New()
	connected(t, pairOptions{brainFaults: faults}, func(t *testing.T, p *pair) {
		path := p.brain.write(t, "f", random(100*chunk), 0o644)
		p.foot.atChunk(2, func() {
			if err := os.WriteFile(path, random(100*chunk), 0o644); err != nil {
				t.Error(err)
			}
		})
		_, err := p.download(t.Context(), "f", "x")
		if fault.CodeOf(err) != common.ErrorCodeSourceChanged {
			t.Errorf("the failure is %v", err)
		}
		synctest.Wait()
		if files := p.foot.files(t); len(files) != 0 {
			t.Errorf("the Foot has %v", files)
		}
	})
}

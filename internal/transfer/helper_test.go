package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

const (
	phase   = 30 * time.Second
	cleanup = 5 * time.Minute
	chunk   = 64 << 10
)

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// content is n bytes that differ from file to file.
func content(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), 2}).Read(b) // cannot fail
	return b
}

// disk is a folder in memory with the faults a disk can have.
type disk struct {
	mu      sync.Mutex
	files   map[string][]byte
	staged  int // staging files that are there now
	held    int // holds that were not given back
	publics int // publications

	failOpen    error
	failWrite   error
	failAt      int // the write from which failWrite counts
	failPublish error
	shortWrite  bool
	panics      string        // "open", "write", "publish", "discard"
	stall       chan struct{} // a write waits for it
	stallSync   chan struct{} // a publication waits for it before it looks at its context
	stallDone   chan struct{} // a publication waits for it after the rename
	stallOpen   chan struct{}
	writes      int
}

func newDisk() *disk { return &disk{files: map[string][]byte{}} }

func (d *disk) place(target string) (*Incoming, error) {
	if d.stallOpen != nil {
		<-d.stallOpen
	}
	if d.panics == "open" {
		panic("open")
	}
	if d.failOpen != nil {
		return nil, d.failOpen
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.staged++
	d.held++
	return &Incoming{Staging: &memStaging{disk: d, target: target}, Path: target, Release: func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.held--
	}}, nil
}

func (d *disk) accept(_ context.Context, init *frames.TransferInit) (*Incoming, error) {
	return d.place(init.Target)
}

// check asserts what must be true whenever no transfer runs.
func (d *disk) check(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.staged != 0 {
		t.Errorf("%d staging files are left", d.staged)
	}
	if d.held != 0 {
		t.Errorf("%d holds are left", d.held)
	}
}

func (d *disk) want(t *testing.T, name string, want []byte) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	got, ok := d.files[name]
	if want == nil && ok {
		t.Errorf("%s is there", name)
	}
	if want != nil && !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes of another content, want %d", name, len(got), len(want))
	}
}

type memStaging struct {
	disk   *disk
	target string
	buf    []byte
	ended  bool
}

func (s *memStaging) Write(p []byte) (int, error) {
	d := s.disk
	if d.stall != nil {
		<-d.stall
	}
	if d.panics == "write" {
		panic("write")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	if d.failWrite != nil && d.writes > d.failAt {
		return 0, d.failWrite
	}
	if d.shortWrite {
		return len(p) - 1, nil
	}
	s.buf = append(s.buf, p...)
	return len(p), nil
}

func (s *memStaging) Publish(ctx context.Context) (string, error) {
	d := s.disk
	if d.stallSync != nil {
		<-d.stallSync
	}
	if d.panics == "publish" {
		panic("publish")
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if d.failPublish != nil {
		return "", d.failPublish
	}
	d.mu.Lock()
	s.ended = true
	d.staged--
	d.publics++
	d.files[s.target] = s.buf
	d.mu.Unlock()
	if d.stallDone != nil {
		<-d.stallDone
	}
	return s.target, nil
}

func (s *memStaging) Discard() error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if !s.ended {
		s.ended = true
		s.disk.staged--
	}
	if s.disk.panics == "discard" {
		panic("discard")
	}
	return nil
}

// memSource is an open file in memory.
type memSource struct {
	data     []byte
	size     int64
	changed  error
	changeAt int // the look at which it has changed
	looks    int
	readErr  error
	stall    chan struct{}
	closed   int
}

func sourceOf(data []byte) *memSource { return &memSource{data: data, size: int64(len(data))} }

func (m *memSource) ReadAt(p []byte, off int64) (int, error) {
	if m.stall != nil {
		<-m.stall
	}
	if m.readErr != nil {
		return 0, m.readErr
	}
	n := copy(p, m.data[min(off, int64(len(m.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
func (m *memSource) Size() int64        { return m.size }
func (m *memSource) Mode() fs.FileMode  { return 0o640 }
func (m *memSource) ModTime() time.Time { return time.Unix(1_700_000_000, 123456789) }
func (m *memSource) Close() error       { m.closed++; return nil }
func (m *memSource) CheckUnchanged() error {
	m.looks++
	if m.changed != nil && m.looks >= m.changeAt {
		return m.changed
	}
	return nil
}

func opens(src Source) func(context.Context) (*Outgoing, error) {
	return func(context.Context) (*Outgoing, error) { return &Outgoing{Source: src, Name: "file"}, nil }
}

// peer is the other end of a session's link, played by the test: it keeps what
// the session sent.
type peer struct {
	mu      sync.Mutex
	sent    []frames.Frame
	gate    chan struct{} // a chunk waits for it, nil: none waits
	broken  error
	dropped int
	panics  bool
	deaf    bool   // a chunk that waits does not hear that it is cancelled
	queued  int    // chunks taken since the last drop
	behind  int    // those of them when a transfer_finish came
	onLast  func() // called while the last chunk is being handed over
}

func (p *peer) SendControl(f frames.Frame) error {
	if p.panics {
		panic("link")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil {
		return p.broken
	}
	if f.FrameType() == frames.FrameTypeTransferFinish {
		p.behind = p.queued
	}
	p.sent = append(p.sent, f)
	return nil
}

func (p *peer) SendData(ctx context.Context, _ uuid.UUID, f frames.Frame) error {
	if p.gate != nil {
		select {
		case <-p.gate:
		case <-unless(p.deaf, ctx.Done()):
			return context.Cause(ctx)
		}
	}
	if ctx.Err() != nil && !p.deaf {
		return context.Cause(ctx)
	}
	p.mu.Lock()
	p.queued++
	p.mu.Unlock()
	c := *f.(*frames.TransferChunk)
	c.Bytes = bytes.Clone(c.Bytes)
	err := p.SendControl(&c)
	if c.Last && p.onLast != nil {
		p.onLast()
	}
	return err
}

func (p *peer) DropData(uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropped++
	p.queued = 0
}

func unless(not bool, c <-chan struct{}) <-chan struct{} {
	if not {
		return nil
	}
	return c
}

func (p *peer) frames() []frames.Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]frames.Frame(nil), p.sent...)
}

// types are the types of what was sent, chunks left out.
func (p *peer) types() []frames.FrameType {
	var out []frames.FrameType
	for _, f := range p.frames() {
		if f.FrameType() != frames.FrameTypeTransferChunk {
			out = append(out, f.FrameType())
		}
	}
	return out
}

func (p *peer) chunks() (n int) {
	for _, f := range p.frames() {
		if f.FrameType() == frames.FrameTypeTransferChunk {
			n++
		}
	}
	return n
}

func lastOf[F frames.Frame](t *testing.T, p *peer) F {
	t.Helper()
	sent := p.frames()
	for i := len(sent) - 1; i >= 0; i-- {
		if f, ok := sent[i].(F); ok {
			return f
		}
	}
	var none F
	t.Fatalf("no %T among %v", none, p.types())
	return none
}

func countOf[F frames.Frame](p *peer) (n int) {
	for _, f := range p.frames() {
		if _, ok := f.(F); ok {
			n++
		}
	}
	return n
}

func footConfig(d *disk) Config {
	return Config{Role: Foot, ChunkSize: chunk, MaxSendSize: 1 << 30, MaxReceiveSize: 1 << 30,
		PhaseTimeout: phase, CleanupInterval: cleanup, Accept: d.accept}
}

func brainConfig() Config {
	return Config{Role: Brain, ChunkSize: chunk, MaxSendSize: 1 << 30, MaxReceiveSize: 1 << 30,
		PhaseTimeout: phase, CleanupInterval: cleanup}
}

// finish closes a session and asserts that nothing of it is left.
func finish(t *testing.T, s *Session) {
	t.Helper()
	s.Close(nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Wait(ctx); err != nil {
		t.Error("a goroutine outlives its session")
	}
	if n := s.Len(); n != 0 {
		t.Errorf("%d transfers are left in the map", n)
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if s.budget.held != 0 {
		t.Errorf("%d bytes are still counted", s.budget.held)
	}
}

func wantCode(t *testing.T, err error, code common.ErrorCode) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Errorf("the failure is %q (%v), want %q", got, err, code)
	}
}

func wantText(t *testing.T, got *string, want string) {
	t.Helper()
	if got == nil || *got != want {
		t.Errorf("the text is %v, want %q", deref(got), want)
	}
}

func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func ptr[T any](v T) *T { return &v }

func initFor(id uuid.UUID, target string, data []byte) *frames.TransferInit {
	return &frames.TransferInit{TransferID: id, Target: target, TotalSize: int64(len(data)), Hash: ptr(sumOf(data))}
}

// chunksOf cuts data as a sender does; it calls send for each.
func chunksOf(id uuid.UUID, data []byte, size int) []*frames.TransferChunk {
	var out []*frames.TransferChunk
	for seq, off := int64(0), 0; ; seq++ {
		n := min(size, len(data)-off)
		f := &frames.TransferChunk{TransferID: id, Seq: seq, Bytes: bytes.Clone(data[off : off+n]), Last: off+n == len(data)}
		out = append(out, f)
		if off += n; f.Last {
			return out
		}
	}
}

var errBoom = errors.New("boom")

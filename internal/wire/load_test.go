package wire

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/frames"
)

// sink counts chunks a stream and gives their payloads back.
type sink struct {
	mu    sync.Mutex
	seqs  map[uuid.UUID]int64
	bytes atomic.Int64
	wrong atomic.Int64
}

func (s *sink) Handle(f frames.Frame) error {
	c, ok := f.(*frames.TransferChunk)
	if !ok {
		return nil
	}
	s.mu.Lock()
	if s.seqs == nil {
		s.seqs = map[uuid.UUID]int64{}
	}
	if s.seqs[c.TransferID] != c.Seq {
		s.wrong.Add(1)
	}
	s.seqs[c.TransferID] = c.Seq + 1
	s.mu.Unlock()
	s.bytes.Add(int64(len(c.Bytes)))
	PutBuffer(c.Bytes)
	return nil
}

// counts returns how many chunks of each stream have come.
func (s *sink) counts() map[uuid.UUID]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seqs)
}

func (s *sink) HandleInvalid(*frames.DecodeError) bool {
	s.wrong.Add(1)
	return false
}

// flood sends chunks in n streams until ctx ends.
func flood(ctx context.Context, c *Conn, n, size int) *sync.WaitGroup {
	var senders sync.WaitGroup
	for range n {
		senders.Go(func() {
			f := chunk(newID(), 0, size)
			for c.SendData(ctx, f.TransferID, f) == nil {
				f.Seq++
			}
		})
	}
	return &senders
}

func TestStreamsKeepTheirOrderAndShareFairlyUnderLoad(t *testing.T) {
	brain, foot := pair(t, brainOptions{tcp: true}, Config{})
	var s sink
	serve(brain, &s)
	serve(foot, newCollector())
	ctx, cancel := context.WithCancel(t.Context())
	senders := flood(ctx, foot, 16, 16<<10)
	deadline := time.After(time.Minute)
	until := func(enough func() bool) {
		for !enough() {
			select {
			case <-deadline:
				t.Fatalf("%d bytes in a minute", s.bytes.Load())
			case <-time.After(time.Millisecond):
			}
		}
	}
	// Shares are counted from when all streams are under way.
	until(func() bool { return len(s.counts()) == 16 })
	before, sent := s.counts(), s.bytes.Load()
	until(func() bool { return s.bytes.Load() >= sent+24<<20 })
	after := s.counts()
	cancel()
	senders.Wait()
	if n := s.wrong.Load(); n != 0 {
		t.Fatalf("%d frames out of order", n)
	}
	var least, most int64
	for id, n := range after {
		n -= before[id]
		if least == 0 || n < least {
			least = n
		}
		most = max(most, n)
	}
	if least < most/2 {
		t.Fatalf("between %d and %d chunks each", least, most)
	}
}

func TestControlFrameOvertakesTheQueuedData(t *testing.T) {
	brain, foot := pair(t, brainOptions{tcp: true}, Config{})
	h := newCollector()
	gate := make(chan struct{})
	h.err = func(frames.Frame) error { <-gate; return nil }
	serve(brain, h)
	serve(foot, newCollector())
	ctx, cancel := context.WithCancel(t.Context())
	const streams = 8
	senders := flood(ctx, foot, streams, 256<<10)
	// With the reader held, the socket fills and all streams queue up.
	deadline := time.Now().Add(time.Minute)
	for full := 0; full < 10; {
		if _, data := foot.out.backlog(); data == streams {
			full++
		} else {
			full = 0
		}
		if time.Now().After(deadline) {
			t.Fatal("the queue never filled")
		}
		time.Sleep(time.Millisecond)
	}
	id := newID()
	if err := foot.SendControl(finish(id)); err != nil {
		t.Fatal(err)
	}
	_, queued := foot.out.backlog()
	cancel()
	close(gate)
	senders.Wait()
	after := 0
	for {
		f := h.next(t)
		if _, ok := f.(*frames.TransferFinish); ok {
			break
		}
	}
	for after < queued {
		if _, ok := h.next(t).(*frames.TransferChunk); !ok {
			t.Fatal("another frame")
		}
		after++
	}
}

// The figure itself belongs to the benchmark; here it is measured so that it can
// be read, and only its order of magnitude is asserted.
func TestPingGetsThroughUnderFullLoad(t *testing.T) {
	for _, row := range []struct {
		name          string
		streams, size int
	}{{"16 streams of 64 KiB", 16, 64 << 10}, {"16 streams of 1 MiB", 16, 1 << 20}} {
		t.Run(row.name, func(t *testing.T) {
			b := startBrain(t, brainOptions{tcp: true})
			ws := b.raw(t)
			if err := ws.WriteMessage(websocket.TextMessage, encoded(t, testHello())); err != nil {
				t.Fatal(err)
			}
			readFrame(t, ws)
			brain := b.accept(t).conn
			t.Cleanup(func() { brain.lost(io.EOF) })
			serve(brain, newCollector())
			pongs := make(chan struct{}, 1)
			loaded := make(chan struct{})
			ws.SetPongHandler(func(string) error { pongs <- struct{}{}; return nil })
			background(t, func() { ws.Close() }, func() {
				for n := 0; ; n++ {
					if n == 2*row.streams {
						close(loaded)
					}
					_, r, err := ws.NextReader()
					if err == nil {
						_, err = io.Copy(io.Discard, r)
					}
					if err != nil {
						return
					}
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			senders := flood(ctx, brain, row.streams, row.size)
			await(t, "the load", loaded)
			var times []time.Duration
			for range 100 {
				time.Sleep(5 * time.Millisecond) // the load is what passes meanwhile
				began := time.Now()
				if err := ws.WriteControl(websocket.PingMessage, nil, time.Time{}); err != nil {
					t.Fatal(err)
				}
				await(t, "a pong", pongs)
				times = append(times, time.Since(began))
			}
			cancel()
			senders.Wait()
			slices.Sort(times)
			p50, p99 := times[len(times)/2], times[len(times)*99/100]
			t.Logf("ping p50 %v, p99 %v", p50, p99)
			if p99 > time.Second {
				t.Fatalf("p99 of %v", p99)
			}
		})
	}
}

// BenchmarkChunks moves chunks through everything, BenchmarkMessages the same bytes
// without their codec.
func BenchmarkChunks(b *testing.B)   { benchmark(b, true) }
func BenchmarkMessages(b *testing.B) { benchmark(b, false) }

func benchmark(b *testing.B, codec bool) {
	for _, row := range []struct {
		name          string
		streams, size int
	}{{"1x64KiB", 1, 64 << 10}, {"1x256KiB", 1, 256 << 10}, {"16x256KiB", 16, 256 << 10}, {"1x1MiB", 1, 1 << 20}} {
		for _, up := range []bool{true, false} {
			name := row.name + "/down"
			if up {
				name = row.name + "/up"
			}
			b.Run(name, func(b *testing.B) { benchmarkStreams(b, row.streams, row.size, up, codec) })
		}
	}
}

func benchmarkStreams(b *testing.B, streams, size int, up, codec bool) {
	brain, foot := pair(b, brainOptions{tcp: true}, Config{})
	from, to := brain, foot
	if up {
		from, to = foot, brain
	}
	var s sink
	var ended sync.WaitGroup
	ended.Go(func() {
		if codec {
			to.Serve(context.Background(), &s)
			return
		}
		for to.receive(func([]byte, int) { s.bytes.Add(int64(size)) }) {
		}
	})
	ended.Go(func() { from.Serve(context.Background(), new(sink)) })
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	var senders sync.WaitGroup
	var next atomic.Int64
	for range streams {
		senders.Go(func() {
			f := chunk(newID(), 0, size)
			message := encoded(b, f)
			for next.Add(1) <= int64(b.N) {
				var err error
				if codec {
					err = from.SendData(context.Background(), f.TransferID, f)
				} else {
					copied := GetBuffer(len(message))
					copy(copied, message)
					err = from.out.putData(context.Background(), f.TransferID, copied)
				}
				if err != nil {
					b.Error(err)
					return
				}
				f.Seq++
			}
		})
	}
	senders.Wait()
	for s.bytes.Load() < int64(b.N)*int64(size) {
		time.Sleep(100 * time.Microsecond)
	}
	b.StopTimer()
	from.Close(CloseNormal, "")
	ended.Wait()
}

package transfer

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
)

// turnsSource notes whose part is read when.
type turnsSource struct {
	Source
	name string
	note func(name string)
}

func (s turnsSource) ReadAt(p []byte, offset int64) (int, error) {
	s.note(s.name)
	return s.Source.ReadAt(p, offset)
}

// On one processor a transfer that hashes must not keep the others, a ping's
// answer among them, waiting for a scheduler's time slice of 10 ms: some hundred
// parts.
func TestTransfersThatHashAtOnceTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const most = 24 // parts in a row; the two buffers and a few that the scheduler adds
	in(t, brainOf, func(t *testing.T, s *Session, _ *peer, _ *disk) {
		var mu sync.Mutex
		var turns []string
		note := func(name string) {
			mu.Lock()
			defer mu.Unlock()
			turns = append(turns, name)
		}
		ctx, cancel := context.WithCancel(t.Context())
		data := make([]byte, 64<<20)
		names := []string{"a", "b", "c", "d"}
		var sends sync.WaitGroup
		for _, name := range names {
			source := turnsSource{Source: sourceOf(data), name: name, note: note}
			sends.Go(func() {
				if _, err := sendOf(ctx, s, source, uuid.New())(); err == nil {
					t.Error("a transfer that nobody answered succeeded")
				}
			})
		}
		synctest.Wait() // all are hashed and wait for the answer to their offer
		cancel()
		sends.Wait()
		longest, run, last := 0, 0, ""
		for _, name := range turns[:len(turns)*3/4] { // at the end the last one is alone
			if name != last {
				run, last = 0, name
			}
			run++
			longest = max(longest, run)
		}
		if longest > most {
			t.Errorf("one of %d transfers read %d parts in a row, at most %d are allowed", len(names), longest, most)
		}
	})
}

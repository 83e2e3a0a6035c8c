//go:build unix

package e2etest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// `make soak` sets these; `make test` runs a taste of it.
var (
	soakFor   = flag.Duration("soak", 10*time.Second, "how long the soak goes on")
	soakSeed  = flag.Uint64("seed", 0, "the seed of the soak's faults, 0 picks one")
	soakRound = flag.Uint64("round", 0, "the round at which the soak begins")
)

// siege is a Brain and a Foot between which anything may happen. What happens in
// a round hangs on the seed and the round's number alone.
type siege struct {
	*battlefield
	proxy  *CutProxy
	random *rand.Rand
	old    map[string]string // hash by target, "" for none
}

// soakTools are both directions.
var soakTools = []string{"client_file_upload", "client_file_download"}

func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("replay with: go test ./internal/e2etest -run '^TestSoak$' -seed %d -round N", seed)
	s := newSiege(t)
	deadline := time.Now().Add(*soakFor)
	faults, rounds := map[string]int{}, uint64(0)
	for n := *soakRound; time.Now().Before(deadline) && !t.Failed(); n++ {
		s.random = rand.New(rand.NewPCG(seed, n))
		fault := s.pick()
		faults[fault.name]++
		rounds++
		s.round(t, n, fault)
		if t.Failed() {
			t.Logf("round %d failed: %s; replay with -seed %d -round %d", n, fault.name, seed, n)
		}
	}
	t.Logf("%d rounds: %v", rounds, faults)
}

func newSiege(t *testing.T) *siege {
	t.Helper()
	settings := map[string]string{"vance.transfer.phase-timeout": "3s", "vance.transfer.ping-interval": "2s",
		"vance.transfer.max-concurrent": "4"}
	s := &siege{battlefield: newBattlefield(t, settings), old: map[string]string{}}
	// The Foot goes through a proxy that cuts, in front of the tap that alters.
	if code := s.Foot.Stop(); code != 0 {
		t.Errorf("foot run ends with %d", code)
	}
	s.proxy = NewCutProxy(t, s.tap.URL)
	s.foot.URL = s.proxy.URL
	s.Foot = StartFoot(t, s.foot)
	s.Foot.AwaitEvent(t, "connected")
	return s
}

// soakFault is something that goes wrong in a round.
type soakFault struct {
	name string
	// begin sets it up; what it returns is done when all calls are over.
	begin func(t *testing.T, s *siege, cancel context.CancelFunc) (end func())
}

var soakFaults = []soakFault{
	{"nothing", func(*testing.T, *siege, context.CancelFunc) func() { return func() {} }},
	{"a cut", func(_ *testing.T, s *siege, _ context.CancelFunc) func() {
		s.proxy.CutAfter(s.random.Int64N(2<<20), s.random.IntN(2) == 0)
		return func() { s.proxy.CutAfter(-1, false) }
	}},
	{"a Foot killed", func(t *testing.T, s *siege, _ context.CancelFunc) func() {
		foot := s.Foot
		s.atAnyFrame(foot.Kill)
		return func() {
			foot.Kill() // when no frame came
			s.Foot = StartFoot(s.t, s.foot)
			s.Foot.AwaitEvent(t, "connected")
		}
	}},
	{"a Brain killed", func(t *testing.T, s *siege, _ context.CancelFunc) func() {
		brain := s.Brain.Child
		s.atAnyFrame(brain.Kill)
		return func() {
			brain.Kill()
			s.Brain.start(s.t, strings.TrimPrefix(s.Brain.URL, "http://"))
			s.Agent = ConnectAgent(s.t, s.Brain.URL, s.AgentToken, "")
		}
	}},
	{"a Foot stopped", func(t *testing.T, s *siege, _ context.CancelFunc) func() { return s.pause(t, s.Foot.Child) }},
	{"a Brain stopped", func(t *testing.T, s *siege, _ context.CancelFunc) func() { return s.pause(t, s.Brain.Child) }},
	{"the calls cancelled", func(_ *testing.T, s *siege, cancel context.CancelFunc) func() {
		s.atAnyFrame(cancel)
		return func() {}
	}},
	{"a frame lost", func(_ *testing.T, s *siege, _ context.CancelFunc) func() {
		s.alterOne(func([]byte) [][]byte { return nil })
		return func() {}
	}},
	{"a frame twice", func(_ *testing.T, s *siege, _ context.CancelFunc) func() {
		s.alterOne(func(raw []byte) [][]byte { return [][]byte{raw, raw} })
		return func() {}
	}},
	{"a frame cut short", func(_ *testing.T, s *siege, _ context.CancelFunc) func() {
		at := s.random.Float64()
		s.alterOne(func(raw []byte) [][]byte { return [][]byte{raw[:int(at*float64(len(raw)))]} })
		return func() {}
	}},
	{"a byte changed", func(_ *testing.T, s *siege, _ context.CancelFunc) func() {
		at, to := s.random.Float64(), byte(' '+s.random.IntN(95))
		s.alterOne(func(raw []byte) [][]byte {
			raw = bytes.Clone(raw)
			raw[int(at*float64(len(raw)))] = to
			return [][]byte{raw}
		})
		return func() {}
	}},
}

func (s *siege) pick() soakFault { return soakFaults[s.random.IntN(len(soakFaults))] }

// alterOne does something to one frame of the round.
func (s *siege) alterOne(to func([]byte) [][]byte) {
	at, seen := int64(s.random.IntN(40)), atomic.Int64{}
	s.tap.Alter(func(f TappedFrame) [][]byte {
		if seen.Add(1)-1 == at {
			return to(f.Raw)
		}
		return [][]byte{f.Raw}
	})
}

func (s *siege) atAnyFrame(do func()) {
	s.alterOne(func(raw []byte) [][]byte {
		do()
		return [][]byte{raw}
	})
}

// pause stops a process at some frame for longer or shorter than a phase.
func (s *siege) pause(t *testing.T, child *Child) func() {
	length := time.Duration(s.random.IntN(5000)) * time.Millisecond
	var waking sync.WaitGroup
	var once sync.Once
	s.atAnyFrame(func() {
		once.Do(func() {
			waking.Add(1)
			if err := child.Signal(syscall.SIGSTOP); err != nil {
				t.Errorf("stopping %s: %v", child.Name(), err)
			}
			time.AfterFunc(length, func() {
				defer waking.Done()
				if err := child.Signal(syscall.SIGCONT); err != nil {
					t.Errorf("waking %s: %v", child.Name(), err)
				}
			})
		})
	})
	return func() {
		s.tap.Alter(nil)
		once.Do(func() {}) // no longer
		waking.Wait()
	}
}

// round moves some files at once while something goes wrong, and judges what is
// left: whole files, nothing else, and a next transfer that goes well.
func (s *siege) round(t *testing.T, n uint64, fault soakFault) {
	type move struct{ tool, name, hash string }
	var moves []move
	for i := range 1 + s.random.IntN(6) {
		tool := soakTools[s.random.IntN(2)]
		name := fmt.Sprintf("soak-%d%d", i, i) // no changed byte makes one of another
		from := map[string]string{"client_file_upload": s.AtFoot("from/" + name), "client_file_download": s.AtBrain(s.dir, "from/"+name)}[tool]
		size := []int64{0, 1, 65536, s.random.Int64N(200_000), s.random.Int64N(2 << 20)}[s.random.IntN(5)]
		moves = append(moves, move{tool, name, s.fill(t, from, size, fmt.Sprint(n, " ", i))})
		if path := s.target(tool, name); s.random.IntN(3) == 0 {
			s.old[path] = s.fill(t, path, 10, "old")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	end := fault.begin(t, s, cancel)
	results := make([]Result, len(moves))
	agent := s.Agent
	var all sync.WaitGroup
	for i, m := range moves {
		all.Go(func() {
			args := map[string]any{"dirName": s.dir, "localPath": "from/" + m.name, "remotePath": m.name}
			if m.tool == "client_file_download" {
				args = map[string]any{"dirName": s.dir, "remotePath": "from/" + m.name, "localPath": m.name}
			}
			results[i] = attempt(ctx, agent, m.tool, args)
		})
	}
	all.Wait()
	end()
	s.tap.Alter(nil)
	s.tap.Forget() // or a long soak would keep every byte it moved
	for _, tool := range soakTools {
		s.recovers(t, tool)
	}
	for i, m := range moves {
		path := s.target(m.tool, m.name)
		got, err := hashFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		switch {
		case got == m.hash:
			s.old[path] = m.hash
		case results[i].OK:
			t.Errorf("%s of %s said ok and is not there: %s", m.tool, m.name, results[i])
		case got != s.old[path]:
			t.Errorf("%s is neither the old nor the new file", path)
		}
		if fault.name == "nothing" && !results[i].OK {
			t.Errorf("%s of %s failed though nothing went wrong: %s", m.tool, m.name, results[i])
		}
	}
}

// fill writes a file whose content hangs on the round.
func (s *siege) fill(t *testing.T, path string, size int64, salt string) string {
	t.Helper()
	WriteFile(t, path, size, 0o644, anHourAgo)
	if size > int64(len(salt)) {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt([]byte(salt), 0); err != nil {
			t.Error(err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	return HashFile(t, path)
}

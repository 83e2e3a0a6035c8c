package e2etest

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vancetope/transfer/internal/launch"
)

// Patience bounds every wait of the harness. It is long since the machine may
// be busy; nothing ever waits for it to pass.
const Patience = 60 * time.Second

// Bounded is the test's context, ended after Patience.
func Bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// logBuffer keeps a child's stderr for the test's log.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Child is a running program whose end is checked: an unexpected exit code, a
// data race or a panic in its log fails the test.
type Child struct {
	*launch.Process
	log      *logBuffer
	expected atomic.Bool // the test took over the judgement of the exit code
}

func startChild(t testing.TB, path string, home string, args ...string) *Child {
	t.Helper()
	log := &logBuffer{}
	p, err := launch.Start(launch.Command{Path: path, Args: args, Env: launch.Environment(home), Stderr: log})
	if err != nil {
		t.Fatal(err)
	}
	c := &Child{Process: p, log: log}
	t.Cleanup(func() { c.finish(t) })
	return c
}

func (c *Child) finish(t testing.TB) {
	code := c.Process.Stop(Patience)
	if !c.expected.Load() && code != 0 {
		t.Errorf("%s ended with exit code %d, want 0", c.Name(), code)
	}
	log := c.Log()
	for _, sign := range []string{"WARNING: DATA RACE", "panic:", "fatal error:"} {
		if strings.Contains(log, sign) {
			t.Errorf("the log of %s says %q", c.Name(), sign)
		}
	}
	if t.Failed() {
		t.Logf("log of %s:\n%s", c.Name(), tail(log, 8000))
	}
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + s[len(s)-n:]
}

// Log is the child's stderr so far.
func (c *Child) Log() string { return c.log.String() }

// Stop ends the child as an operator would and returns its exit code, which
// the caller judges.
func (c *Child) Stop() int {
	c.expected.Store(true)
	return c.Process.Stop(Patience)
}

// Kill ends the child without warning.
func (c *Child) Kill() {
	c.expected.Store(true)
	c.Process.Kill()
}

// Wait waits for the child's own end and returns its exit code.
func (c *Child) Wait(t testing.TB) int {
	t.Helper()
	c.expected.Store(true)
	select {
	case <-c.Done():
	case <-time.After(Patience):
		t.Fatalf("%s does not end", c.Name())
	}
	return c.ExitCode()
}

// Eventually polls until check returns "" and fails with what it said last.
func Eventually(t testing.TB, check func() string) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		problem := check()
		if problem == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal(problem)
		}
	}
}

func childEnvironment(home string) []string { return launch.Environment(home) }

//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vancetope/transfer/internal/cli"
)

// process starts the brain program.
func process(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	home(t)
	p := exec.CommandContext(t.Context(), os.Args[0], args...)
	p.Env = append(os.Environ(), mainVariable+"=1")
	p.Stderr = &syncBuffer{}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.Process.Kill() // it is gone either way
			p.Wait()
		}
	})
	return p, bufio.NewReader(out)
}

func exitCode(t *testing.T, p *exec.Cmd) int {
	t.Helper()
	if err := p.Wait(); p.ProcessState == nil {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

func TestASignalStopsAServerWithExitCode0(t *testing.T) {
	for _, s := range cli.StopSignals() {
		p, out := process(t, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "d"))
		if line, err := out.ReadString('\n'); err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		if err := p.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if code := exitCode(t, p); code != cli.OK {
			t.Errorf("%v: exit code %d: %s", s, code, p.Stderr)
		}
	}
}

func TestAKilledServerLeavesItsDataDirectoryFree(t *testing.T) {
	data := filepath.Join(t.TempDir(), "d")
	p, out := process(t, "serve", "--listen", "127.0.0.1:0", "--data", data)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	exitCode(t, p)
	serveOn(t, data)
}

func TestAnInterruptedCallExitsWith130(t *testing.T) {
	called := make(chan struct{}, 8)
	s := silent(t, called)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("vt_any"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := process(t, "call", "client_list", "{}", "--url", s.URL, "--token-file", token)
	<-called
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, p); code != cli.Interrupted || !strings.Contains(p.Stderr.(*syncBuffer).String(), "interrupted") {
		t.Errorf("exit code %d: %s", code, p.Stderr)
	}
}

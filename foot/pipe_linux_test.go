package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vancetope/transfer/internal/cli"
)

func TestAPipeThatNobodyWritesToIsNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	good := []string{"run", "--brain", "http://127.0.0.1:1", "--tenant", "acme", "--token-file", file(t, "x")}
	for _, flag := range []string{"--token-file", "--config", "--ca-file"} {
		p := command(t, append(good[:len(good):len(good)], flag, pipe)...)
		if code := p.run(t); code != cli.Usage || !strings.Contains(p.stderr.String(), "nobody writes to") {
			t.Errorf("%s: exit code %d, stderr %q", flag, code, &p.stderr)
		}
	}
}

package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestANamedStateFolderIsMadePrivateAndHeldAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "state")
	first, err := OpenState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v; want 0700", info, err)
	}
	if _, err := OpenState(dir); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("the second: %v, want in use with the folder's name", err)
	}
	if err := first.For(context.Background(), "acme", "proj"); err != nil || first.Dir() != dir {
		t.Errorf("a project moved the named folder to %q, %v", first.Dir(), err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheDefaultStateFolderIsTheProjects(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	s, err := OpenState("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, project := range []string{"one", "one", "two"} {
		if err := s.For(t.Context(), "acme", project); err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(home, ".vancetope", "state", "foot", "acme", project); s.Dir() != want {
			t.Errorf("state in %s, want %s", s.Dir(), want)
		}
	}
	other, err := OpenState("")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.For(t.Context(), "acme", "one"); err != nil {
		t.Errorf("the project left behind is still held: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := other.For(ended, "acme", "two"); !errors.Is(err, ErrInUse) {
		t.Errorf("a held project: %v, want in use", err)
	}
}

func TestAReplacedProcessIsWaitedFor(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	var states [2]*State
	for i := range states {
		s, err := OpenState("")
		if err != nil {
			t.Fatal(err)
		}
		states[i] = s
	}
	if err := states[0].For(t.Context(), "acme", "proj"); err != nil {
		t.Fatal(err)
	}
	taken := make(chan error)
	go func() { taken <- states[1].For(t.Context(), "acme", "proj") }()
	if err := states[0].Close(); err != nil {
		t.Error(err)
	}
	if err := <-taken; err != nil {
		t.Errorf("the newcomer: %v", err)
	}
	if err := states[1].Close(); err != nil {
		t.Error(err)
	}
}

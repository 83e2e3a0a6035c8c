package flock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const childVariable = "FLOCK_TEST_FILE"

// TestMain lets the test binary stand in for another process that holds a lock
// until its input ends.
func TestMain(m *testing.M) {
	name := os.Getenv(childVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	if _, err := Acquire(name); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	bufio.NewReader(os.Stdin).ReadString('\n') // only its end matters
	os.Exit(0)
}

func TestOneHolderAtATime(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	first, err := Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(name); !errors.Is(err, ErrHeld) {
		t.Errorf("second: %v", err)
	}
	if got := Holder(name); got != os.Getpid() {
		t.Errorf("holder %d, want %d", got, os.Getpid())
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestAKilledProcessLeavesNoLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+name)
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	if _, err := Acquire(name); !errors.Is(err, ErrHeld) {
		t.Errorf("while the child lives: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the killed child ended well")
	}
	l, err := Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

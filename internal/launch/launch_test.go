package launch_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vancetope/transfer/internal/launch"
)

// TestMain lets this test binary play the child: what it prints and how it
// ends is asked for in the environment.
func TestMain(m *testing.M) {
	switch os.Getenv("LAUNCH_CHILD") {
	case "":
		os.Exit(m.Run())
	case "events":
		fmt.Println("a line for people")
		fmt.Println(`{"event":"ready","url":"http://127.0.0.1:1"}`)
		fmt.Println(`{"event":"connected","n":1}`)
		os.Exit(3)
	case "stubborn":
		fmt.Println(`{"event":"ready"}`)
		signal.Ignore(syscall.SIGTERM)
		select {}
	}
}

func child(t *testing.T, role string) *launch.Process {
	t.Helper()
	p, err := launch.Start(launch.Command{Path: os.Args[0], Env: append(os.Environ(), "LAUNCH_CHILD="+role)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestEventsAreFoundAmongLinesForPeople(t *testing.T) {
	p := child(t, "events")
	event, err := p.AwaitNamed(bounded(t), "ready")
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ URL string }
	if err := event.Decode(&ready); err != nil || ready.URL != "http://127.0.0.1:1" {
		t.Fatalf("the ready event decoded to %+v, %v", ready, err)
	}
	if code := p.ExitCode(); code != 3 {
		t.Fatalf("exit code %d, want 3", code)
	}
	if _, err := p.AwaitNamed(bounded(t), "connected"); err != nil {
		t.Fatalf("the last line before the end is lost: %v", err)
	}
	if n := len(p.Events()); n != 3 {
		t.Fatalf("%d lines were kept, want 3", n)
	}
}

func TestAwaitSaysThatTheChildEnded(t *testing.T) {
	p := child(t, "events")
	_, err := p.AwaitNamed(bounded(t), "never printed")
	if err == nil || !strings.Contains(err.Error(), "exit code 3") {
		t.Fatalf("got %v, want an error with the exit code", err)
	}
}

func TestStopKillsAChildThatIgnoresTheRequest(t *testing.T) {
	p := child(t, "stubborn")
	if _, err := p.AwaitNamed(bounded(t), "ready"); err != nil {
		t.Fatal(err)
	}
	p.Stop(50 * time.Millisecond)
	select {
	case <-p.Done():
	default:
		t.Fatal("Stop returned and the child still runs")
	}
}

func TestAMissingProgramIsAnError(t *testing.T) {
	if _, err := launch.Start(launch.Command{Path: "/no/such/program"}); err == nil {
		t.Fatal("no error")
	}
}

func TestTheEnvironmentLeavesTheCallersSettingsOut(t *testing.T) {
	t.Setenv("VANCE_TRANSFER_CHUNK_SIZE", "1B")
	t.Setenv("HOME", "/home/caller")
	t.Setenv("UNRELATED", "kept")
	env := launch.Environment("/elsewhere")
	for entry, want := range map[string]bool{"VANCE_TRANSFER_CHUNK_SIZE=1B": false, "HOME=/home/caller": false, "HOME=/elsewhere": true, "UNRELATED=kept": true} {
		if slices.Contains(env, entry) != want {
			t.Errorf("%s is there: %v", entry, !want)
		}
	}
}

//go:build unix

package cli

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

func TestTheEndOfTheTerminalStopsAProgramUnlessNohupStartedIt(t *testing.T) {
	// Whoever runs the tests may have it ignored: to hear it ends that.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		if !slices.Contains(StopSignals(), s) {
			t.Errorf("%v is missing", s)
		}
	}
	signal.Stop(heard)
	signal.Ignore(syscall.SIGHUP)
	if slices.Contains(StopSignals(), os.Signal(syscall.SIGHUP)) {
		t.Error("an ignored one is taken up again")
	}
}

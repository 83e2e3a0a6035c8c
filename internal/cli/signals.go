package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// StopSignals are those that ask a program to stop in good order. The end of its
// terminal is one, unless whoever started the program, as nohup does, has that
// ignored.
func StopSignals() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

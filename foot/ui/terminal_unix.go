//go:build unix

package ui

import (
	"os/signal"
	"syscall"
)

// shareTerminal lets this program be in the background of its shell: reading
// the terminal then fails, instead of stopping the transfers.
func shareTerminal() { signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU) }

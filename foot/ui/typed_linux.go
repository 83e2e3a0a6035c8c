package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped throws away what was typed and not read. What is no terminal, or
// not ours at the moment, has nothing to throw away.
func forgetTyped(in *os.File) {
	if c, err := in.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) })
	}
}

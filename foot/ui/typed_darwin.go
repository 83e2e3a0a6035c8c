package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped throws away what was typed and not read. What is no terminal, or
// not ours at the moment, has nothing to throw away.
func forgetTyped(in *os.File) {
	const fread = 1 // <sys/fcntl.h>: the input
	if c, err := in.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _ = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, fread) })
	}
}

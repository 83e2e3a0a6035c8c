//go:build unix && !darwin

package infile

import "syscall"

const nonBlocking = syscall.O_NONBLOCK

//go:build linux || darwin

package wire

import (
	"crypto/tls"
	"net"

	"golang.org/x/sys/unix"
)

// unsentMark is how much unsent data the system holds before a write waits. What
// the system holds can no longer be overtaken, and so this is what a ping or a
// control frame waits behind; data in flight does not count, which keeps long
// round trips fast.
const unsentMark = 128 << 10

// tuneSocket sets the mark. A connection without a socket of its own, or a system
// that refuses, works as well, only less promptly.
func tuneSocket(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	// Both errors mean the default mark, which is no failure.
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentMark)
	})
}

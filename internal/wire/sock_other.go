//go:build !linux && !darwin

package wire

import "net"

// tuneSocket leaves the socket as it is where the system has no unsent mark.
func tuneSocket(net.Conn) {}

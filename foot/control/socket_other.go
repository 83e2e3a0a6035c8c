//go:build !unix

package control

import "net"

// Supported: other commands can reach a running Foot on this system.
const Supported = false

func listen(string) (net.Listener, error) { return nil, ErrUnsupported }

func dial(string) (net.Conn, error) { return nil, ErrUnsupported }

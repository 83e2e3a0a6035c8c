//go:build unix

package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// Supported: other commands can reach a running Foot on this system.
const Supported = true

// listen makes the socket of a state folder. It is born in a folder that nobody
// else can enter, so that at no moment another user can open it, and takes the
// place of one that a killed process left behind: the lock of the state folder
// says that nobody uses it.
func listen(dir string) (net.Listener, error) {
	nest, err := os.MkdirTemp(dir, ".sock-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(nest) // empty by now, or of a failed try; its absence is no need
	l, err := bind(nest)
	if err != nil {
		return nil, err
	}
	place := filepath.Join(dir, socketName)
	if err := errors.Join(os.Chmod(filepath.Join(nest, nestling), 0o600), os.Rename(filepath.Join(nest, nestling), place)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	made, err := os.Lstat(place)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &socket{l, place, made}, nil
}

// nestling is the name of a socket in its nest: short, as a socket's path may
// have about a hundred bytes.
const nestling = "s"

func bind(nest string) (*net.UnixListener, error) {
	var l *net.UnixListener
	err := reach(nest, nestling, func(address string) error {
		var err error
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it moves to another name
	return l, nil
}

// socket is a listener that takes its name with it.
type socket struct {
	*net.UnixListener
	place string
	made  fs.FileInfo
}

// Close leaves alone what another process has put in its place.
func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if there, lerr := os.Lstat(s.place); lerr == nil && os.SameFile(there, s.made) {
		err = errors.Join(err, os.Remove(s.place))
	}
	return err
}

func dial(dir string) (net.Conn, error) {
	var c net.Conn
	err := reach(dir, socketName, func(address string) error {
		var err error
		c, err = net.DialTimeout("unix", address, exchangeTime)
		return err
	})
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w with the state folder %s", ErrNotRunning, dir)
	}
	return nil, fmt.Errorf("the running Foot cannot be reached: %w", err)
}

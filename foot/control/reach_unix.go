//go:build unix && !linux

package control

import (
	"errors"
	"path/filepath"
)

// longest is how long the path of a socket may be on the systems of this kind.
const longest = 103

// reach gives the address of a socket in a folder.
func reach(dir, name string, use func(address string) error) error {
	address := filepath.Join(dir, name)
	if len(address) > longest {
		return errors.New("the path of the state folder is too long for a socket: use a shorter --state")
	}
	return use(address)
}

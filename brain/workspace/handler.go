package workspace

import (
	"os"
	"path/filepath"
)

// Type is a kind of RootDir.
type Type string

// The kinds of RootDirs. The content of neither outlives it, or a suspended
// project.
const (
	TypeEphemeral Type = "ephemeral" // the drop box of transfers
	TypeTemp      Type = "temp"      // a scope's own, made when it is needed
)

// handler is what a type of RootDir does at the turns of its life.
type handler interface {
	init(place) error  // makes the folder; fs.ErrExist when the name is taken
	close(place) error // leaves nothing of it
}

var handlers = map[Type]handler{
	TypeEphemeral: folder{},
	TypeTemp:      folder{},
}

// place is where a RootDir's folder lies: the project's folder and a name in it.
type place struct {
	parent string
	name   string
}

func (p place) path() string { return filepath.Join(p.parent, p.name) }

// folder begins as an empty folder and ends with everything in it deleted.
type folder struct{}

func (folder) init(p place) error {
	if err := os.MkdirAll(p.parent, 0o700); err != nil {
		return err
	}
	return os.Mkdir(p.path(), 0o700)
}

func (folder) close(p place) error { return removeTree(p) }

package rootfs

import (
	"errors"
	"io/fs"
)

// RemoveAll removes a file, a link, or a folder with all that is in it. A link
// is removed, never what it names, wherever in the tree it stands or is put
// meanwhile. Folders that their mode protects are removed as well, as far as they
// are this user's. What does not exist is removed already.
func (r *Root) RemoveAll(p Path) error {
	if err := r.checkWritable(p); err != nil {
		return err
	}
	parent, err := r.openDirectory(p.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.release()
	return writeError(parent.removeTree(p.Base()))
}

func (d *dir) removeTree(name string) error {
	m, err := d.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case m.kind != KindDirectory:
		return gone(d.unlink(name))
	}
	err = d.removeContent(name)
	if errors.Is(err, fs.ErrPermission) {
		if err := d.h.allowAll(name); err != nil {
			return err
		}
		err = d.removeContent(name)
	}
	switch {
	case errors.Is(err, errLink), errors.Is(err, errNotDirectory):
		return gone(d.unlink(name)) // swapped for something else since
	case err != nil:
		return gone(err)
	}
	return gone(d.rmdir(name))
}

// removeContent empties a folder, some names at a time however many there are.
func (d *dir) removeContent(name string) error {
	child, err := d.openDir(name)
	if err != nil {
		return err
	}
	defer child.release()
	for {
		names, err := child.names(1024)
		if err != nil || len(names) == 0 {
			return err
		}
		for _, n := range names {
			if err := child.removeTree(n); err != nil {
				return err
			}
		}
	}
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

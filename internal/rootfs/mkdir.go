package rootfs

import (
	"errors"
	"io/fs"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Mkdir makes a folder, and those missing on the way to it. One that exists
// already, or anything else of that name, is already_exists.
func (r *Root) Mkdir(p Path) error {
	if err := r.checkWritable(p); err != nil {
		return err
	}
	var made []*madeDir
	parent, err := r.openMaking(p.Dir(), &made)
	if err == nil {
		err = makeNew(parent, p.Base())
		parent.release()
	}
	if err != nil {
		_ = r.leaveParents(p.Dir(), made) // the first error is the one to tell
		return writeError(err)
	}
	r.parents.keep(made)
	return r.syncParents(p.Dir(), made)
}

func makeNew(parent *dir, name string) error {
	err := parent.mkdir(name, madeDirMode)
	if errors.Is(err, fs.ErrExist) {
		return fault.Wrap(common.ErrorCodeAlreadyExists, err)
	}
	if err != nil {
		return err
	}
	return parent.sync()
}

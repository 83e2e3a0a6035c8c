package workspace

import (
	"errors"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// removeTree deletes the folder at p with everything in it. Links in it are
// deleted, never followed, and a folder that its mode protects goes too.
func removeTree(p place) error {
	project, err := rootfs.Open(p.parent, rootfs.Options{})
	if fault.CodeOf(err) == common.ErrorCodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	name, err := rootfs.CleanPath(p.name)
	if err == nil {
		err = project.RemoveAll(name)
	}
	return errors.Join(err, project.Close())
}

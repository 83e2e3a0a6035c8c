package rootfs

import (
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

// Kind is what an entry of a folder is.
type Kind string

const (
	KindFile      Kind = "file"
	KindDirectory Kind = "directory"
	KindLink      Kind = "link"
	KindOther     Kind = "other" // FIFO, socket, device
)

// meta is what the system says about an entry, never about what a link names.
type meta struct {
	kind  Kind
	what  string // of KindOther: "FIFO", "socket", "device"
	mode  fs.FileMode
	size  int64
	mtime time.Time
	id    identity
	links uint64
}

// dir is a held folder. It is counted, so that a root and what it opened can
// share one descriptor. All its methods take a single component.
type dir struct {
	h      handle
	faults Faults
	refs   atomic.Int32
}

func newDir(h handle, f Faults) *dir {
	d := &dir{h: h, faults: f}
	d.refs.Store(1)
	return d
}

func openTop(path string, f Faults) (*dir, error) {
	if err := before(f, OpOpenDir, path); err != nil {
		return nil, err
	}
	h, err := openHandle(path)
	if err != nil {
		return nil, err
	}
	return newDir(h, f), nil
}

func (d *dir) retain() *dir {
	d.refs.Add(1)
	return d
}

// release lets go of one share. What closing a folder says is of no use: nothing
// was written through its descriptor.
func (d *dir) release() {
	if d.refs.Add(-1) == 0 {
		_ = d.h.close()
	}
}

// removed reports whether the held folder is in no other folder any more.
func (d *dir) removed() bool {
	m, err := d.h.stat()
	return err == nil && m.links == 0
}

func (d *dir) openDir(name string) (*dir, error) {
	if err := before(d.faults, OpOpenDir, name); err != nil {
		return nil, err
	}
	h, err := d.h.openDir(name)
	if err != nil {
		return nil, err
	}
	return newDir(h, d.faults), nil
}

func (d *dir) lstat(name string) (meta, error) {
	if err := before(d.faults, OpStat, name); err != nil {
		return meta{}, err
	}
	return d.h.lstat(name)
}

func (d *dir) openRead(name string) (*os.File, error) {
	if err := before(d.faults, OpOpenRead, name); err != nil {
		return nil, err
	}
	return d.h.openRead(name)
}

// create makes a file of mode 0600 that did not exist, for this process alone.
func (d *dir) create(name string) (*os.File, error) {
	if err := before(d.faults, OpCreate, name); err != nil {
		return nil, err
	}
	return d.h.create(name)
}

func (d *dir) mkdir(name string, mode fs.FileMode) error {
	if err := before(d.faults, OpMkdir, name); err != nil {
		return err
	}
	return d.h.mkdir(name, mode)
}

func (d *dir) rename(from, to string) error {
	if err := before(d.faults, OpRename, to); err != nil {
		return err
	}
	return d.h.rename(from, to)
}

func (d *dir) unlink(name string) error {
	if err := before(d.faults, OpUnlink, name); err != nil {
		return err
	}
	return d.h.unlink(name)
}

func (d *dir) rmdir(name string) error {
	if err := before(d.faults, OpRmdir, name); err != nil {
		return err
	}
	return d.h.rmdir(name)
}

func (d *dir) sync() error {
	if err := before(d.faults, OpSyncDir, ""); err != nil {
		return err
	}
	return d.h.sync()
}

// free returns the bytes available to this process, false if the file system
// does not say.
func (d *dir) free() (uint64, bool, error) {
	if err := before(d.faults, OpFree, ""); err != nil {
		return 0, false, err
	}
	return d.h.free()
}

// list opens the folder once more to read its names from the start.
func (d *dir) list() (*os.File, error) {
	if err := before(d.faults, OpList, ""); err != nil {
		return nil, err
	}
	return d.h.list()
}

package rootfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Source is a regular file opened for reading. Its size, mode and time are those
// of the moment it was opened.
type Source struct {
	root   *Root
	path   Path
	file   *os.File
	meta   meta
	faults Faults
}

// OpenSource opens a regular file. A link on the way or at the end, a folder, a
// FIFO, a socket and a device are refused without being opened; so is a file
// whose size the system does not tell, such as most of /proc.
func (r *Root) OpenSource(p Path) (*Source, error) {
	if p.IsRoot() {
		return nil, notRegularError("a directory")
	}
	parent, err := r.openDirectory(p.Dir())
	if err != nil {
		return nil, err
	}
	defer parent.release()
	name := p.Base()
	m, err := parent.lstat(name)
	if err != nil {
		return nil, readError(err)
	}
	if err := regular(m, name); err != nil {
		return nil, err
	}
	f, err := parent.openRead(name)
	if err != nil {
		return nil, readError(openError(err, name))
	}
	s := &Source{root: r, path: p, file: f, faults: r.faults}
	if s.meta, err = statFile(f); err == nil {
		err = s.check()
	}
	if err != nil {
		f.Close() // nothing was written: the first error is the one that counts
		return nil, readError(err)
	}
	return s, nil
}

// regular refuses what is no regular file.
func regular(m meta, name string) error {
	switch m.kind {
	case KindFile:
		return nil
	case KindLink:
		return linkError(name)
	case KindDirectory:
		return notRegularError("a directory")
	}
	return notRegularError("a " + m.what)
}

// openError is the error of opening something that was a regular file a moment
// ago.
func openError(err error, name string) error {
	switch {
	case errors.Is(err, errLink):
		return linkError(name)
	case noDevice(err):
		return notRegularError("a socket or device")
	}
	return err
}

// check looks at what was opened: between the first look and the opening it may
// have become something else.
func (s *Source) check() error {
	if s.meta.kind == KindDirectory {
		return notRegularError("a directory")
	}
	if err := regular(s.meta, s.path.Base()); err != nil {
		return err
	}
	if s.meta.size > 0 {
		return nil
	}
	var probe [1]byte
	if n, _ := s.file.ReadAt(probe[:], 0); n > 0 {
		return notRegularError("its size is not known in advance")
	}
	return nil
}

func (s *Source) Path() Path         { return s.path }
func (s *Source) Size() int64        { return s.meta.size }
func (s *Source) Mode() fs.FileMode  { return s.meta.mode }
func (s *Source) ModTime() time.Time { return s.meta.mtime }

// ReadAt reads as io.ReaderAt does. Its errors are faults, save for io.EOF.
func (s *Source) ReadAt(p []byte, off int64) (int, error) {
	if err := before(s.faults, OpRead, s.path.Base()); err != nil {
		return 0, readError(err)
	}
	n, err := s.file.ReadAt(p, off)
	if err == io.EOF {
		return n, err
	}
	return n, readError(err)
}

// CheckUnchanged reports source_changed unless the open file has the size and
// time it was opened with and its path still leads to it.
func (s *Source) CheckUnchanged() error {
	now, err := statFile(s.file)
	if err != nil {
		return readError(err)
	}
	if now.size != s.meta.size || !now.mtime.Equal(s.meta.mtime) {
		return fault.New(common.ErrorCodeSourceChanged)
	}
	parent, err := s.root.openDirectory(s.path.Dir())
	if err != nil {
		return fault.Wrap(common.ErrorCodeSourceChanged, err)
	}
	defer parent.release()
	named, err := parent.lstat(s.path.Base())
	if err != nil || !named.id.same(s.meta.id) {
		return fault.Wrap(common.ErrorCodeSourceChanged, err)
	}
	return nil
}

// Close closes the file.
func (s *Source) Close() error { return s.file.Close() }

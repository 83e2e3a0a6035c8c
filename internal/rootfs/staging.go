package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

// OnExisting says what happens when the target exists. The zero value replaces.
type OnExisting string

const (
	Replace  OnExisting = "replace"
	Refuse   OnExisting = "error"
	KeepBoth OnExisting = "keep_both"
)

// Attrs are the attributes that were given for a file. Nil: none given.
type Attrs struct {
	Mode    *fs.FileMode
	ModTime *time.Time
}

// StageOptions describe a file that is about to be written.
type StageOptions struct {
	Size       int64 // exact, or -1 if unknown
	Attrs      Attrs
	OnExisting OnExisting
}

// Staging is a file being written: hidden, beside its target, for this process
// alone. It ends with Publish or with Discard. One goroutine writes it; Discard
// may come from another.
type Staging struct {
	root    *Root
	target  Path
	name    string // of the staging file
	options StageOptions
	parent  *dir
	made    []*madeDir
	space   promise

	mu      sync.Mutex
	file    *os.File // nil once closed
	written int64
	failed  error // sticky: after a failed write nothing can be published
	ended   bool
}

// Stage makes the staging file for a target and the folders that are missing on
// the way to it. A target that cannot be written, an existing one that must not
// be replaced, and a disk without room for the whole file show here.
func (r *Root) Stage(p Path, id uuid.UUID, o StageOptions) (*Staging, error) {
	if err := r.checkWritable(p); err != nil {
		return nil, err
	}
	switch o.OnExisting {
	case "", Replace, Refuse, KeepBoth:
	default:
		return nil, fault.Newf(common.ErrorCodeInvalidRequest, "onExisting %s is unknown", safetext.Quote(string(o.OnExisting)))
	}
	// Another transfer that fails may remove a folder that it made while we
	// stand in it. Then the way is walked again.
	for attempt := 1; ; attempt++ {
		st, err := r.stageOnce(p, id, o)
		if err == nil {
			return st, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || attempt == 16 {
			return nil, writeError(err)
		}
	}
}

func (r *Root) stageOnce(p Path, id uuid.UUID, o StageOptions) (*Staging, error) {
	st := &Staging{root: r, target: p, name: stagingName(id), options: o}
	err := st.open()
	if err == nil {
		return st, nil
	}
	st.space.end()
	if st.parent != nil {
		st.parent.release()
	}
	// What made staging fail is what the caller has to know.
	_ = r.leaveParents(p.Dir(), st.made)
	return nil, err
}

func (st *Staging) open() error {
	var err error
	if st.parent, err = st.root.openMaking(st.target.Dir(), &st.made); err != nil {
		return err
	}
	if _, err := st.checkTarget(); err != nil {
		return err
	}
	if err := st.checkSpace(); err != nil {
		return err
	}
	st.file, err = st.parent.create(st.name)
	if errors.Is(err, fs.ErrExist) {
		return fault.Wrap(common.ErrorCodeDuplicateTransfer, err)
	}
	return err
}

// checkTarget looks at what is at the target now. It returns the mode that a new
// file there inherits.
func (st *Staging) checkTarget() (fs.FileMode, error) {
	name := st.target.Base()
	m, err := st.parent.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return defaultMode, nil
	case err != nil:
		return 0, err
	case m.kind == KindDirectory:
		return 0, isDirectoryError()
	}
	if err := regular(m, name); err != nil {
		return 0, err
	}
	switch st.options.OnExisting {
	case Refuse:
		return 0, fault.New(common.ErrorCodeAlreadyExists)
	case KeepBoth:
		return defaultMode, nil
	}
	return m.mode, nil
}

func (st *Staging) checkSpace() error {
	if st.options.Size < 0 {
		return nil
	}
	var err error
	st.space, err = promiseSpace(st.parent, st.options.Size)
	return err
}

// Target returns the path that was asked for.
func (st *Staging) Target() Path { return st.target }

// Write appends to the staging file. A write that the disk does not take whole
// is an error, and after an error nothing can be published any more.
func (st *Staging) Write(p []byte) (int, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if err := st.usable(); err != nil {
		return 0, err
	}
	n, err := st.write(p)
	st.written += int64(n)
	st.space.written(int64(n))
	if err == nil && n < len(p) {
		err = fault.Newf(common.ErrorCodeDiskFull, "%d of %d bytes were written", n, len(p))
	}
	st.failed = writeError(err)
	return n, st.failed
}

func (st *Staging) write(p []byte) (int, error) {
	if st.root.faults == nil {
		return st.file.Write(p)
	}
	allowed, fail := st.root.faults.Write(st.name, st.written, len(p))
	n, err := st.file.Write(p[:allowed])
	return n, errors.Join(fail, err)
}

func (st *Staging) usable() error {
	switch {
	case st.failed != nil:
		return st.failed
	case st.ended:
		return fault.Wrap(common.ErrorCodeInternal, fmt.Errorf("staging file of %s used after its end", st.target))
	}
	return nil
}

// Discard removes the staging file, and the folders that were made for it if
// they are empty. After Publish or a first Discard it does nothing.
func (st *Staging) Discard() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return nil
	}
	return st.discard()
}

func (st *Staging) discard() error {
	st.ended = true
	st.space.end()
	// Closed first: some systems do not remove an open file. What closing says
	// about bytes that are thrown away does not matter.
	if st.file != nil {
		_ = st.file.Close()
		st.file = nil
	}
	err := st.parent.unlink(st.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	st.parent.release()
	return errors.Join(writeError(err), st.root.leaveParents(st.target.Dir(), st.made))
}

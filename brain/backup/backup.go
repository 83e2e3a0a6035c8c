// Package backup writes all that a Brain keeps into one tar archive that has the
// form of a data directory: state.db, audit.log, workspaces/. Unpacked into an
// empty folder it is one, so that restoring takes no program of ours.
//
// The state in it is that of one moment. Each file of the workspaces is whole,
// since files are only ever replaced by renaming, but two files may be of two
// moments where somebody writes meanwhile. It follows no link, and leaves out what
// is no regular file and what a transfer has not finished.
package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vancetope/transfer/brain/audit"
	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/internal/flock"
)

// workspaces is the folder of the RootDirs in an archive, wherever they lie.
const workspaces = "workspaces"

// ErrExists means that the file is there already.
var ErrExists = errors.New("the file exists already")

// ErrRuns means that another backup of the same data directory is under way.
var ErrRuns = errors.New("another backup of this data directory is under way")

// Source is what is backed up.
type Source struct {
	Data       string // the data directory
	Workspaces string // the folder of the RootDirs
	State      Snapshotter
}

// Snapshotter copies the state into a new file.
type Snapshotter interface {
	Snapshot(ctx context.Context, file string) error
}

// Report says what an archive holds.
type Report struct {
	Files int
	Bytes int64 // of the files
}

// Write writes the archive. It is readable for its owner only, and appears under
// its name when it is whole and on the disk; an existing file is not replaced.
func Write(ctx context.Context, file string, src Source) (report Report, err error) {
	if _, err := os.Lstat(file); err == nil {
		return Report{}, ErrExists
	}
	lock, err := flock.Acquire(filepath.Join(src.Data, lockName))
	if errors.Is(err, flock.ErrHeld) {
		return Report{}, ErrRuns
	}
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := sweep(src.Data); err != nil {
		return Report{}, err
	}
	dir, err := os.MkdirTemp(src.Data, prefix) // for its owner alone
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f, err := begin(dir, file)
	if err != nil {
		return Report{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(f.Close()), os.Remove(f.Name()))
		}
	}()
	w := &writer{ctx: ctx, tar: tar.NewWriter(f)}
	if err := w.all(src, dir); err != nil {
		return Report{}, err
	}
	if err := errors.Join(w.tar.Close(), f.Sync(), f.Close()); err != nil {
		return Report{}, err
	}
	if err := publish(f.Name(), file); err != nil {
		return Report{}, err
	}
	return w.report, nil
}

// publish gives the archive its name, unless that was taken meanwhile. Where the
// file system has no hard links, the name is taken as it is.
func publish(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	}
	return os.Rename(from, to)
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// writer fills an archive.
type writer struct {
	ctx    context.Context
	tar    *tar.Writer
	report Report
}

// all writes the state first: a file that comes later is in no RootDir of that
// state, or in one that is there.
func (w *writer) all(src Source, dir string) error {
	if err := w.state(src, dir); err != nil {
		return err
	}
	if err := w.single(src.Data, audit.FileName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the audit log: %w", err)
	}
	root, err := os.OpenRoot(src.Workspaces)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever transferred
	}
	if err != nil {
		return fmt.Errorf("the workspaces: %w", err)
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		return w.entry(root, name, d, err)
	})
	return errors.Join(err, root.Close())
}

// state copies the state through a folder that only this user can enter.
func (w *writer) state(src Source, dir string) error {
	if err := src.State.Snapshot(w.ctx, filepath.Join(dir, state.FileName)); err != nil {
		return err
	}
	return w.single(dir, state.FileName)
}

// single writes a file of a folder to the top of the archive.
func (w *writer) single(dir, name string) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close() // only read from: closing cannot lose anything
	return w.file(f, name, 0o600)
}

// entry writes what the walk has come to.
func (w *writer) entry(root *os.Root, name string, d fs.DirEntry, err error) error {
	switch {
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case errors.Is(err, fs.ErrNotExist):
		return nil // it is gone meanwhile
	case err != nil:
		return err
	case strings.HasPrefix(d.Name(), ".vance-"):
		return skip(d) // of a transfer that is not finished
	case d.IsDir():
		return w.folder(name, d)
	case !d.Type().IsRegular():
		return nil
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the workspaces: %w", err)
	}
	defer f.Close() // only read from: closing cannot lose anything
	return w.file(f, path.Join(workspaces, name), 0)
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (w *writer) folder(name string, d fs.DirEntry) error {
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return fs.SkipDir
	}
	if err != nil {
		return err
	}
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Format: tar.FormatPAX, Name: path.Join(workspaces, name) + "/",
		Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()})
}

// file writes an open file, with its own permissions where none are given.
func (w *writer) file(f *os.File, name string, mode fs.FileMode) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil // it was replaced meanwhile
	}
	if mode == 0 {
		mode = info.Mode().Perm()
	}
	err = w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Format: tar.FormatPAX, Name: name, Size: info.Size(),
		Mode: int64(mode), ModTime: info.ModTime()})
	if err != nil {
		return err
	}
	n, err := io.Copy(w.tar, &untilDone{w.ctx, io.LimitReader(f, info.Size())})
	if err == nil && n < info.Size() {
		err = errors.New("it became shorter meanwhile")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	w.report.Files++
	w.report.Bytes += n
	return nil
}

// untilDone reads until its context is done.
type untilDone struct {
	ctx  context.Context
	from io.Reader
}

func (r *untilDone) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.from.Read(p)
}

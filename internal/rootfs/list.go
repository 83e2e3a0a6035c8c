package rootfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Entry is one name in a folder. A link is told as a link; what it names is not
// looked at.
type Entry struct {
	Name    string
	Kind    Kind
	Size    int64 // of a file, else 0
	Mode    fs.FileMode
	ModTime time.Time
}

func toEntry(name string, m meta) Entry {
	e := Entry{Name: name, Kind: m.kind, Mode: m.mode, ModTime: m.mtime}
	if m.kind == KindFile {
		e.Size = m.size
	}
	return e
}

// ReadDir returns the entries of a folder, sorted by the bytes of their names.
// Names that are ours are left out, and so is what vanished meanwhile.
func (r *Root) ReadDir(p Path) ([]Entry, error) {
	d, err := r.openDirectory(p)
	if err != nil {
		return nil, err
	}
	defer d.release()
	names, err := d.names(-1)
	if err != nil {
		return nil, readError(err)
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		if Reserved(name) {
			continue
		}
		m, err := d.lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, readError(err)
		}
		entries = append(entries, toEntry(name, m))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// Stat looks at one entry. A link at the end is told as a link, one on the way
// is refused.
func (r *Root) Stat(p Path) (Entry, error) {
	if p.IsRoot() {
		d, err := r.acquire(false)
		if err != nil {
			return Entry{}, err
		}
		defer d.release()
		m, err := d.h.stat()
		return toEntry("", m), readError(err)
	}
	parent, err := r.openDirectory(p.Dir())
	if err != nil {
		return Entry{}, err
	}
	defer parent.release()
	m, err := parent.lstat(p.Base())
	if err != nil {
		return Entry{}, readError(err)
	}
	return toEntry(p.Base(), m), nil
}

// names returns at most n names of the folder, all of them for -1.
func (d *dir) names(n int) ([]string, error) {
	f, err := d.list()
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(n)
	if err == io.EOF {
		err = nil
	}
	return names, errors.Join(err, f.Close())
}

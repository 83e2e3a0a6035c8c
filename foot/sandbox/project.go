package sandbox

import (
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/safetext"
)

// Project is what a Brain may touch for one project: the project's own folder
// and the granted ones. Its methods may be called from many goroutines; every
// error is a *fault.Error.
type Project struct {
	*folder
	grants []*folder
}

// Folder is where the project's files are, for the eyes of the machine's owner.
func (p *Project) Folder() string { return p.names[0] }

// find says in which folder a path from the Brain lies, and where in it. A path
// of the form @NAME/rest is in the granted folder of that name. An absolute path
// is accepted when it lies in one of the folders: people and agents copy such
// paths from what they see. All others are in the project's own.
func (p *Project) find(path string) (*folder, rootfs.Path, error) {
	f, rest := p.folder, path
	if name, below, ok := rootfs.SplitGrant(path); ok {
		if f = p.granted(name); f == nil {
			return nil, rootfs.Path{}, fault.Newf(common.ErrorCodeNotFound, "no folder is granted as %s", safetext.Quote("@"+name))
		}
		rest = below
	} else if filepath.IsAbs(path) && strings.IndexByte(path, 0) < 0 {
		f, rest = p.locate(path)
	}
	clean, err := rootfs.CleanPath(rest)
	return f, clean, err
}

func (p *Project) granted(name string) *folder {
	for _, f := range p.grants {
		if f.grant == name {
			return f
		}
	}
	return nil
}

// locate finds the folder of an absolute path. Where one folder lies in another
// the inner one decides what is allowed. A path outside of all comes back as it
// is, for CleanPath to judge.
func (p *Project) locate(path string) (*folder, string) {
	best, rest := p.folder, path
	for _, f := range append([]*folder{p.folder}, p.grants...) {
		if rel, ok := f.within(path); ok && (len(rel) < len(rest)) {
			best, rest = f, rel
		}
	}
	return best, rest
}

// OpenSource opens a regular file for reading, and returns its path as the Brain
// may know it.
func (p *Project) OpenSource(path string) (source *rootfs.Source, told string, err error) {
	f, clean, err := p.find(path)
	if err != nil {
		return nil, "", err
	}
	source, err = f.root.OpenSource(clean)
	return source, f.told(clean.String()), f.missed(err)
}

// Target is a file that is about to be written.
type Target struct {
	Path    string // as the Brain may know it
	Staging *rootfs.Staging
	// Told makes such a path of the one under which the file was published.
	Told func(published string) string
	// Release gives back the hold on the target. It is called once, after the
	// staging file was published or discarded.
	Release func()
}

// Reserve takes hold of a target and writes nothing. Paths that lead out, what
// is read only and a target that is held are refused now, so that no person is
// asked about them; what only the disk can tell, when the target is staged.
func (p *Project) Reserve(path string, o rootfs.StageOptions) (*Reservation, error) {
	f, clean, err := p.find(path)
	if err != nil {
		return nil, err
	}
	return f.reserve(clean, o)
}

// Stage takes hold of a target and makes its staging file.
func (p *Project) Stage(path string, id uuid.UUID, o rootfs.StageOptions) (*Target, error) {
	r, err := p.Reserve(path, o)
	if err != nil {
		return nil, err
	}
	target, err := r.Stage(id)
	if err != nil {
		r.Release()
		return nil, err
	}
	return target, nil
}

// StageOptions reads the wire's attributes of a file of a size.
func StageOptions(size int64, attrs *common.FileAttrs) (rootfs.StageOptions, error) {
	o := rootfs.StageOptions{Size: size}
	if attrs == nil {
		return o, nil
	}
	o.Attrs.ModTime = attrs.Mtime
	if attrs.Mode != nil {
		mode, err := rootfs.ParseMode(*attrs.Mode)
		if err != nil {
			return o, fault.From(err)
		}
		o.Attrs.Mode = &mode
	}
	return o, nil
}

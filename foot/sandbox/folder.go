package sandbox

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// folder is one folder of this machine that a Brain may touch: a project's own
// or a granted one.
type folder struct {
	grant  string // its name; empty for a project's own
	root   *rootfs.Root
	base   string   // the folder that has to be there, on this machine
	names  []string // how an absolute path to the folder may begin
	access common.Access
	holds  *rootfs.Holds
	log    *slog.Logger
	note   func(rootfs.Leftover) (forget func())

	swept chan struct{} // closed when the sweep at the start is over

	mu   sync.Mutex
	live live
}

// newFolder takes over an open root, and begins to sweep it if files may be
// written there.
func (s *Sandbox) newFolder(root *rootfs.Root, grant, base, given string, access common.Access) *folder {
	f := &folder{
		grant:  grant,
		root:   root,
		base:   base,
		names:  []string{given, root.Path()},
		access: access,
		holds:  rootfs.NewHolds(root.FoldsCase()),
		log:    s.options.Log,
		note:   s.options.Note,
		swept:  make(chan struct{}),
		live:   make(live),
	}
	if access == common.AccessRead {
		close(f.swept)
		return f
	}
	f.startSweep()
	return f
}

// missed explains an error where the whole folder is gone: a file that was not found
// would send its reader looking for the file.
func (f *folder) missed(err error) error {
	if fault.CodeOf(err) != common.ErrorCodeNotFound {
		return err
	}
	if _, gone := os.Stat(f.base); !errors.Is(gone, fs.ErrNotExist) {
		return err
	}
	if f.grant != "" {
		return fault.Wrapf(common.ErrorCodeNotFound, err, "the granted folder @%s is gone from this machine", f.grant)
	}
	return fault.Wrapf(common.ErrorCodeNotFound, err, "the Foot's whole folder is gone; foot run makes it anew when it starts again")
}

// within returns the path below the folder of an absolute path in it.
func (f *folder) within(path string) (rel string, ok bool) {
	for _, name := range f.names {
		rel, err := filepath.Rel(name, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		rel = filepath.ToSlash(rel)
		if strings.HasSuffix(filepath.ToSlash(path), "/") {
			rel += "/" // the path of a folder stays one
		}
		return rel, true
	}
	return "", false
}

// told is a path in the folder as the Brain may say it again.
func (f *folder) told(path string) string {
	switch {
	case f.grant != "":
		return "@" + f.grant + "/" + path
	case strings.HasPrefix(path, "@"):
		return "./" + path // it is no grant
	}
	return path
}

// Reservation is a target that nobody else may write, and of which nothing has
// been written yet.
type Reservation struct {
	Path string // as the Brain may know it
	// Exists: there is a file already.
	Exists bool
	// Release gives back the hold. It is for a reservation that Stage did not
	// make a Target of, and may be called more than once.
	Release func()

	folder  *folder
	path    rootfs.Path
	options rootfs.StageOptions
}

// reserve takes hold of a target.
func (f *folder) reserve(path rootfs.Path, o rootfs.StageOptions) (*Reservation, error) {
	if f.access == common.AccessRead {
		return nil, fault.Newf(common.ErrorCodeAccessDenied, "the person lets it be read only")
	}
	release := func() {}
	if o.OnExisting != rootfs.KeepBoth { // which leaves what others write alone
		var err error
		if release, err = f.holds.Hold(path); err != nil {
			return nil, err
		}
	}
	return &Reservation{
		Path:    f.told(path.String()),
		Exists:  f.exists(path),
		Release: sync.OnceFunc(release),
		folder:  f,
		path:    path,
		options: o,
	}, nil
}

// exists reports whether there is a file. It is for the eyes of a person; what
// cannot be looked at shows when the target is staged.
func (f *folder) exists(path rootfs.Path) bool {
	e, err := f.root.Stat(path)
	return err == nil && e.Kind == rootfs.KindFile
}

// Stage makes the staging file of a reserved target, which takes over the hold.
func (r *Reservation) Stage(id uuid.UUID) (*Target, error) {
	f := r.folder
	leave := f.enter(id)
	forget := f.note(f.root.Leftover(r.path, id))
	staging, err := f.root.Stage(r.path, id, r.options)
	if err != nil {
		forget()
		leave()
		return nil, f.missed(err)
	}
	return &Target{
		Path:    r.Path,
		Staging: staging,
		Told:    f.told,
		Release: sync.OnceFunc(func() {
			forget()
			leave()
			r.Release()
		}),
	}, nil
}

package sandbox

import (
	"log/slog"
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
	names  []string // how an absolute path to the folder may begin
	access common.Access
	holds  *rootfs.Holds
	log    *slog.Logger

	swept chan struct{} // closed when the sweep at the start is over

	mu   sync.Mutex
	live live
}

// newFolder takes over an open root, and begins to sweep it if files may be
// written there.
func (s *Sandbox) newFolder(root *rootfs.Root, grant, given string, access common.Access) *folder {
	f := &folder{
		grant:  grant,
		root:   root,
		names:  []string{given, root.Path()},
		access: access,
		holds:  rootfs.NewHolds(root.FoldsCase()),
		log:    s.options.Log,
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

// stage takes hold of a target and makes its staging file.
func (f *folder) stage(path rootfs.Path, id uuid.UUID, o rootfs.StageOptions) (*Target, error) {
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
	leave := f.enter(id)
	staging, err := f.root.Stage(path, id, o)
	if err != nil {
		leave()
		release()
		return nil, err
	}
	return &Target{
		Path:    f.told(path.String()),
		Staging: staging,
		Told:    f.told,
		Release: sync.OnceFunc(func() {
			leave()
			release()
		}),
	}, nil
}

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

// Project is the folder of one project. Its methods may be called from many
// goroutines; every error is a *fault.Error.
type Project struct {
	root  *rootfs.Root
	names []string // how an absolute path to the folder may begin
	holds *rootfs.Holds
	log   *slog.Logger

	swept chan struct{} // closed when the sweep at the start is over

	mu   sync.Mutex
	live live
}

// Folder is where the project's files are, for the eyes of the machine's owner.
func (p *Project) Folder() string { return p.names[0] }

// Clean turns a path that came from the Brain into one below the project's
// folder. An absolute path is accepted when it lies in there: people and agents
// copy such paths from what they see.
func (p *Project) Clean(path string) (rootfs.Path, error) {
	return rootfs.CleanPath(p.relative(path))
}

// relative strips the folder from an absolute path inside it. All other paths
// come back as they are, for CleanPath to judge.
func (p *Project) relative(path string) string {
	if !filepath.IsAbs(path) || strings.IndexByte(path, 0) >= 0 {
		return path
	}
	for _, name := range p.names {
		rel, err := filepath.Rel(name, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		rel = filepath.ToSlash(rel)
		if strings.HasSuffix(filepath.ToSlash(path), "/") {
			rel += "/" // the path of a folder stays one
		}
		return rel
	}
	return path
}

// OpenSource opens a regular file of the project for reading.
func (p *Project) OpenSource(path string) (*rootfs.Source, rootfs.Path, error) {
	clean, err := p.Clean(path)
	if err != nil {
		return nil, clean, err
	}
	source, err := p.root.OpenSource(clean)
	return source, clean, err
}

// Target is a file that is about to be written.
type Target struct {
	Path    rootfs.Path
	Staging *rootfs.Staging
	// Release gives back the hold on the target. It is called once, after the
	// staging file was published or discarded.
	Release func()
}

// Stage takes hold of a target and makes its staging file.
func (p *Project) Stage(path string, id uuid.UUID, o rootfs.StageOptions) (*Target, error) {
	clean, err := p.Clean(path)
	if err != nil {
		return nil, err
	}
	release, err := p.holds.Hold(clean)
	if err != nil {
		return nil, err
	}
	leave := p.enter(id)
	staging, err := p.root.Stage(clean, id, o)
	if err != nil {
		leave()
		release()
		return nil, err
	}
	return &Target{Path: clean, Staging: staging, Release: sync.OnceFunc(func() {
		leave()
		release()
	})}, nil
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

package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// repair puts right what a Brain that was killed left behind. Nothing else
// runs yet, so every staging file is an orphan.
func (m *Manager) repair(ctx context.Context) error {
	all, err := m.descriptors.all(ctx)
	if err != nil {
		return fmt.Errorf("read the RootDirs: %w", err)
	}
	m.removeNoted()
	known := make(map[string]bool, len(all))
	for _, d := range all {
		p := m.place(d.project(), d.DirName)
		known[p.path()] = true
		if err := m.repairOne(ctx, d, p); err != nil {
			// One sick folder must not keep the others from being served.
			m.log.Error("RootDir cannot be put right", "tenant", d.Tenant, "project", d.ProjectID, "dir", d.DirName, "err", err)
		}
	}
	m.removeStrays(known)
	return nil
}

// note keeps which folders are made for a file, until forget is called. Its staging
// file needs no note: all of them are swept.
func (m *Manager) note(l rootfs.Leftover) (forget func()) {
	if m.notes == "" || !l.MakesFolders() {
		return func() {}
	}
	forget, err := m.notes.Keep(l)
	if err != nil {
		m.log.Warn("if the Brain is killed, empty folders that a transfer made may stay", "path", l.Target, "err", err)
	}
	return forget
}

// removeNoted removes the folders that were made for files which never came, as
// far as they are empty.
func (m *Manager) removeNoted() {
	if m.notes == "" {
		return
	}
	err := m.notes.Remove(true, func(l rootfs.Leftover, err error) {
		m.log.Warn("what a lost transfer left cannot be removed", "folder", l.Folder, "path", l.Target, "err", err)
	})
	if err != nil {
		m.log.Warn("what lost transfers left cannot be read", "err", err)
	}
}

func (m *Manager) repairOne(ctx context.Context, d stored, p place) error {
	if d.Closing {
		return m.remove(ctx, d)
	}
	root, err := rootfs.Open(p.path(), rootfs.Options{Mask: m.mask})
	if fault.CodeOf(err) == common.ErrorCodeNotFound {
		m.log.Warn("the folder of a RootDir is gone, an empty one is made", "dir", d.DirName)
		return handlers[d.Type].init(p)
	}
	if err != nil {
		return err
	}
	removed, err := root.SweepStaging(nil)
	if removed > 0 {
		m.log.Info("removed the staging files of lost transfers", "dir", d.DirName, "files", removed)
	}
	return errors.Join(err, root.Close())
}

// removeStrays removes the folders of RootDirs whose creation was cut off
// before they got a descriptor. Only empty ones: what holds files was not made
// by this system, and is left alone.
func (m *Manager) removeStrays(known map[string]bool) {
	for _, tenant := range m.folders(m.root) {
		for _, project := range m.folders(tenant) {
			for _, dir := range m.folders(project) {
				if known[dir] {
					continue
				}
				if err := os.Remove(dir); err != nil {
					m.log.Warn("a folder in the workspace belongs to no RootDir", "folder", dir, "err", err)
				}
			}
		}
	}
}

// folders returns the paths of the folders in a folder; links are none.
func (m *Manager) folders(in string) []string {
	entries, err := os.ReadDir(in)
	if err != nil {
		m.log.Warn("cannot look for stray folders", "err", err)
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() {
			found = append(found, filepath.Join(in, e.Name()))
		}
	}
	return found
}

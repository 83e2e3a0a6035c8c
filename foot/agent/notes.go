package agent

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/vancetope/transfer/internal/rootfs"
)

// notesFolder is where a state folder has a note of each file that is being
// written, for the next start: a Foot that is killed cannot clean up, and the next
// one may not connect, or may have other grants.
const notesFolder = "staging"

// Note keeps what a file leaves behind when this process is killed, until forget
// is called. A note that cannot be kept hinders no transfer.
func (s *State) Note(l rootfs.Leftover, log *slog.Logger) (forget func()) {
	dir := s.notes.Load()
	if dir == nil {
		return func() {}
	}
	forget, err := rootfs.Notes(*dir).Keep(l)
	if err != nil {
		log.Warn("if this Foot is killed, a file that it began may stay", "error", err)
	}
	return forget
}

// RemoveLeft removes what a Foot that was killed left in the folders of this
// machine. Where the own state folder is not known yet, it may have been that of
// any project of the tenant which no other process uses.
func (s *State) RemoveLeft(tenant string, log *slog.Logger) {
	if s.dir != "" {
		removeNoted(filepath.Join(s.dir, notesFolder), false, log)
		return
	}
	base, err := DefaultStates()
	if err != nil {
		return // told when the folder is needed
	}
	found, err := filepath.Glob(filepath.Join(base, tenant, "*", notesFolder))
	if err != nil {
		return // a tenant's name is no pattern
	}
	for _, notes := range found {
		other := &State{}
		if err := other.take(filepath.Dir(notes)); err != nil {
			continue // its Foot is alive
		}
		removeNoted(notes, false, log)
		if err := other.Close(); err != nil {
			log.Warn("closing", "error", err)
		}
	}
}

// ownWait is how long the end of the program may be held up.
const ownWait = time.Second

// RemoveOwn removes the files that this process has not finished. It is for a
// process that ends at once.
func (s *State) RemoveOwn() {
	dir := s.notes.Load()
	if dir == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		removeNoted(*dir, true, slog.New(slog.DiscardHandler))
	}()
	select {
	case <-done:
	case <-time.After(ownWait): // a disk hangs; the notes stay for the next start
	}
}

func removeNoted(dir string, own bool, log *slog.Logger) {
	err := rootfs.Notes(dir).Remove(own, func(l rootfs.Leftover, err error) {
		log.Warn("removing what an earlier run left", "folder", l.Folder, "path", l.Target, "error", err)
	})
	if err != nil {
		log.Warn("reading what an earlier run left", "error", err)
	}
}

package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/vancetope/transfer/internal/flock"
)

// State is the folder for what a Foot has to remember, used by one process at
// a time. A folder that the user named is taken before the first connection.
// The default folder is named after the project, which only the Brain can
// tell, so it is taken after the handshake.
type State struct {
	named string // the user's folder, or ""
	dir   string // the folder that is held, or ""
	lock  *flock.Lock
	token *flock.Lock            // see ForToken
	notes atomic.Pointer[string] // where Note writes, nil while no folder is held
}

// lockWait is how long For waits for a process that was just replaced at the
// Brain by this one and is about to end.
const lockWait = 3 * time.Second

// lockPoll is how often it looks.
const lockPoll = 50 * time.Millisecond

// OpenState takes the state folder that the user named; "" stands for the
// default. Its error is ErrInUse when another process has the folder.
func OpenState(named string) (*State, error) {
	s := &State{named: named}
	if named == "" {
		return s, nil
	}
	dir, err := filepath.Abs(named)
	if err != nil {
		return nil, err
	}
	if err := s.take(dir); err != nil {
		return nil, err
	}
	return s, nil
}

// ForToken makes sure that no other process uses the token with the default
// state folder: its project, and so its folder, is known after the handshake
// only, when the Brain has already replaced the other one. With a folder that
// the user named there is nothing to do.
func (s *State) ForToken(tenant, token string) error {
	if s.named != "" {
		return nil
	}
	base, err := DefaultStates()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(tenant + "\x00" + token)) // a name that tells nothing of the token
	name := filepath.Join(base, tokenLock+hex.EncodeToString(sum[:12]))
	s.token, err = flock.Acquire(name)
	if errors.Is(err, flock.ErrHeld) {
		return inUse("of this token's project", flock.Holder(name))
	}
	return err
}

// tokenLock is how the names of such locks begin, which lie among the folders of
// the tenants: no tenant can be called like that.
const tokenLock = ".vance-token-"

// For takes the default folder of a project unless the user named one.
func (s *State) For(ctx context.Context, tenant, projectID string) error {
	if s.named != "" {
		return nil
	}
	base, err := DefaultStates()
	if err != nil {
		return err
	}
	dir := filepath.Join(base, tenant, projectID)
	if dir == s.dir {
		return nil
	}
	if err := s.leave(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		err := s.take(dir)
		if !errors.Is(err, ErrInUse) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lockPoll):
		}
	}
}

// DefaultStates is the folder in which each project of a tenant has its state
// folder, <tenant>/<project>.
func DefaultStates() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no place for the state: use --state: %w", err)
	}
	return filepath.Join(home, ".vancetope", "state", "foot"), nil
}

// Dir is the folder that is held, or "" before For.
func (s *State) Dir() string { return s.dir }

// Close lets go of the folder, and of the token. It may be taken again.
func (s *State) Close() error {
	err := s.leave()
	if s.token != nil {
		err = errors.Join(err, s.token.Release())
		s.token = nil
	}
	return err
}

func (s *State) leave() error {
	if s.lock == nil {
		return nil
	}
	lock := s.lock
	s.lock, s.dir = nil, ""
	s.notes.Store(nil)
	return lock.Release()
}

func (s *State) take(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := filepath.Join(dir, "lock")
	lock, err := flock.Acquire(name)
	switch {
	case errors.Is(err, flock.ErrHeld):
		return inUse(dir, flock.Holder(name))
	case err != nil:
		return err
	}
	s.dir, s.lock = dir, lock
	notes := filepath.Join(dir, notesFolder)
	s.notes.Store(&notes)
	return nil
}

func inUse(dir string, pid int) error {
	if pid == 0 {
		return fmt.Errorf("%w: another Foot uses the state folder %s", ErrInUse, dir)
	}
	return fmt.Errorf("%w: another Foot (process %d) uses the state folder %s: stop it or use another --state", ErrInUse, pid, dir)
}

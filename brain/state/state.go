// Package state keeps what must outlast the Brain's process: tokens, and later
// descriptors, heads and receipts. It is a small key-value interface, so that
// another engine can stand behind it, and one engine, SQLite, whose file several
// processes may open at once (the token commands beside a running server).
//
// It does not know what the values mean, and it refuses a file that a newer
// version has written.
package state

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"
)

// Entry is one key with what is stored under it.
type Entry struct {
	Key   string
	Value []byte
	// Revision grows with every write to the store and is never used twice,
	// not even for a key that was deleted and made again.
	Revision uint64
	// ExpiresAt is when the entry vanishes; zero means never.
	ExpiresAt time.Time
}

// Forever as a time to live keeps an entry until it is deleted.
const Forever time.Duration = 0

// Absent as the expected revision of CompareAndSet demands that there is no
// such entry.
const Absent uint64 = 0

// Store is the interface to an engine. All methods may be called from any
// goroutine. A write that returned without an error survives a power cut.
type Store interface {
	// Get returns the entry of a key, or ErrNotFound.
	Get(ctx context.Context, key string) (Entry, error)
	// Put stores a value whatever was there before, and returns its revision.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error)
	// CompareAndSet stores a value if the entry still has the revision, and
	// otherwise returns ErrConflict and changes nothing.
	CompareAndSet(ctx context.Context, key string, revision uint64, value []byte, ttl time.Duration) (uint64, error)
	// Delete removes a key; ErrNotFound if there was none.
	Delete(ctx context.Context, key string) error
	// List returns the entries whose keys begin with prefix, in byte order.
	List(ctx context.Context, prefix string) ([]Entry, error)
	// Close ends the use of the store.
	Close() error
}

var (
	ErrNotFound = errors.New("no such key in the state")
	ErrConflict = errors.New("the entry was changed meanwhile")
	ErrBadKey   = errors.New("a key is 1 to 512 bytes of UTF-8 without NUL")
	ErrBadTTL   = errors.New("a time to live is from 0 (for ever) to 100 years")
	// ErrNewer means that the data was written by a newer version.
	ErrNewer = errors.New("the state was written by a newer version of brain: use that version, or another data directory")
)

const (
	maxKey = 512
	maxTTL = 100 * 365 * 24 * time.Hour
)

// check refuses what no engine has to accept.
func check(key string, ttl time.Duration) error {
	if key == "" || len(key) > maxKey || !utf8.ValidString(key) {
		return ErrBadKey
	}
	for i := range len(key) {
		if key[i] == 0 {
			return ErrBadKey
		}
	}
	if ttl < 0 || ttl > maxTTL {
		return ErrBadTTL
	}
	return nil
}

// after returns the smallest byte string above all that begin with prefix, or
// nil if there is none.
func after(prefix string) []byte {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return b[:i+1]
		}
	}
	return nil
}

package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// dataVersion is the version of what this program writes. It goes up when an
// older program could no longer make sense of the data.
const dataVersion = 1

// schema makes the tables of version 1. Keys are blobs, so that they compare
// byte by byte.
const schema = `
CREATE TABLE entries (
	key      BLOB PRIMARY KEY,
	value    BLOB NOT NULL,
	revision INTEGER NOT NULL,
	expires  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX entries_expires ON entries (expires) WHERE expires <> 0;
CREATE TABLE counter (revision INTEGER NOT NULL);
INSERT INTO counter VALUES (0);
`

// prepare makes the tables in a new file and refuses one of a newer version.
//
// The change of a new file to the write-ahead log is the one thing for which
// the engine does not wait: when several processes open a new store at once, the
// later ones are told that it is busy, and try again.
func (s *SQLite) prepare(ctx context.Context) error {
	deadline := time.Now().Add(busyTimeout)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := s.prepareOnce(ctx)
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (s *SQLite) prepareOnce(ctx context.Context) error {
	var version int
	if err := s.db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	if version == 0 {
		return s.write(ctx, s.create(ctx))
	}
	return acceptable(version)
}

// create returns the transaction that makes the tables, unless another process
// was faster.
func (s *SQLite) create(ctx context.Context) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
			return err
		}
		if version != 0 {
			return acceptable(version)
		}
		if _, err := tx.ExecContext(ctx, schema); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, dataVersion))
		return err
	}
}

func acceptable(version int) error {
	if version > dataVersion {
		return fmt.Errorf("data version %d, this program knows up to %d: %w", version, dataVersion, ErrNewer)
	}
	return nil
}

func isBusy(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	primary := e.Code() & 0xff
	return primary == lib.SQLITE_BUSY || primary == lib.SQLITE_LOCKED
}

package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the engine, registered as "sqlite"
)

// FileName is the name of the database in the data directory.
const FileName = "state.db"

// busyTimeout is how long a statement waits while another process writes.
const busyTimeout = 10 * time.Second

// SQLite is the Store of one machine.
type SQLite struct {
	db  *sql.DB
	get *sql.Stmt // every call of a tool reads; parsing the same query costs more than it
	now func() time.Time
}

const getQuery = `SELECT key, value, revision, expires FROM entries WHERE key = ? AND (expires = 0 OR expires > ?)`

var _ Store = (*SQLite)(nil)

// OpenSQLite opens the store in a data directory, making both where they are
// missing: the directory 0700, the file 0600.
func OpenSQLite(ctx context.Context, dataDir string) (*SQLite, error) {
	s, err := openSQLite(ctx, dataDir, time.Now)
	return s, full(err)
}

func openSQLite(ctx context.Context, dataDir string, now func() time.Time) (*SQLite, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	name := filepath.Join(dataDir, FileName)
	made, err := createPrivate(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	s, err := openFile(ctx, name, now)
	if err != nil && made {
		err = errors.Join(err, removeEmpty(name))
	}
	return s, err
}

func openFile(ctx context.Context, name string, now func() time.Time) (*SQLite, error) {
	db, err := sql.Open("sqlite", dsn(name))
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	db.SetMaxOpenConns(4) // one writes at a time anyway; the others read
	s := &SQLite{db: db, now: now}
	err = s.prepare(ctx)
	if err == nil {
		s.get, err = db.PrepareContext(ctx, getQuery)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("state %s: %w", name, err), db.Close())
	}
	return s, nil
}

// dsn sets what every connection of the pool must have: a patient wait for
// locks (set first), the write-ahead log, and a sync of each commit. Write
// transactions take the lock at their start, so that none fails half-way.
func dsn(name string) string {
	q := url.Values{}
	q.Set("_txlock", "immediate")
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	q.Add("_pragma", "journal_mode(WAL)")
	q.Add("_pragma", "synchronous(FULL)")
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(name)}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// Close implements Store.
func (s *SQLite) Close() error { return errors.Join(s.get.Close(), s.db.Close()) }

// Get implements Store.
func (s *SQLite) Get(ctx context.Context, key string) (Entry, error) {
	if err := check(key, Forever); err != nil {
		return Entry{}, err
	}
	e, err := scan(s.get.QueryRowContext(ctx, []byte(key), s.now().UnixNano()).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, ErrNotFound
	}
	return e, err
}

// Put implements Store.
func (s *SQLite) Put(ctx context.Context, key string, value []byte, ttl time.Duration) (revision uint64, err error) {
	if err := check(key, ttl); err != nil {
		return 0, err
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		revision, err = s.set(ctx, tx, key, value, ttl)
		return err
	})
	return revision, err
}

// CompareAndSet implements Store.
func (s *SQLite) CompareAndSet(ctx context.Context, key string, expected uint64, value []byte, ttl time.Duration) (revision uint64, err error) {
	if err := check(key, ttl); err != nil {
		return 0, err
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		current := Absent
		row := tx.QueryRowContext(ctx,
			`SELECT revision FROM entries WHERE key = ? AND (expires = 0 OR expires > ?)`, []byte(key), s.now().UnixNano())
		if err := row.Scan(&current); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if current != expected {
			return ErrConflict
		}
		revision, err = s.set(ctx, tx, key, value, ttl)
		return err
	})
	return revision, err
}

// Delete implements Store.
func (s *SQLite) Delete(ctx context.Context, key string) error {
	if err := check(key, Forever); err != nil {
		return err
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		var expires int64
		row := tx.QueryRowContext(ctx, `DELETE FROM entries WHERE key = ? RETURNING expires`, []byte(key))
		err := row.Scan(&expires)
		if errors.Is(err, sql.ErrNoRows) || err == nil && expires != 0 && expires <= s.now().UnixNano() {
			return ErrNotFound
		}
		return err
	})
}

// List implements Store.
func (s *SQLite) List(ctx context.Context, prefix string) ([]Entry, error) {
	rows, err := s.db.QueryContext(ctx,
		`SELECT key, value, revision, expires FROM entries
		 WHERE key >= ? AND (?2 IS NULL OR key < ?2) AND (expires = 0 OR expires > ?3) ORDER BY key`,
		[]byte(prefix), after(prefix), s.now().UnixNano())
	if err != nil {
		return nil, err
	}
	defer rows.Close() // rows.Err below reports what matters
	var list []Entry
	for rows.Next() {
		e, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// set writes an entry inside a transaction, and drops those that have expired:
// whoever writes clears up, so no reader ever has to.
func (s *SQLite) set(ctx context.Context, tx *sql.Tx, key string, value []byte, ttl time.Duration) (uint64, error) {
	now := s.now()
	if _, err := tx.ExecContext(ctx, `DELETE FROM entries WHERE expires <> 0 AND expires <= ?`, now.UnixNano()); err != nil {
		return 0, err
	}
	var revision uint64
	row := tx.QueryRowContext(ctx, `UPDATE counter SET revision = revision + 1 RETURNING revision`)
	if err := row.Scan(&revision); err != nil {
		return 0, err
	}
	var expires int64
	if ttl != Forever {
		expires = now.Add(ttl).UnixNano()
	}
	if value == nil {
		value = []byte{}
	}
	_, err := tx.ExecContext(ctx,
		`INSERT INTO entries (key, value, revision, expires) VALUES (?, ?, ?, ?)
		 ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision, expires = excluded.expires`,
		[]byte(key), value, revision, expires)
	return revision, err
}

// write runs fn in a transaction; ErrNotFound and ErrConflict roll it back too.
func (s *SQLite) write(ctx context.Context, fn func(*sql.Tx) error) error {
	return full(s.transact(ctx, fn))
}

func (s *SQLite) transact(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			return errors.Join(err, rollback)
		}
		return err
	}
	return tx.Commit()
}

func scan(from func(...any) error) (Entry, error) {
	var key []byte
	var expires int64
	var e Entry
	if err := from(&key, &e.Value, &e.Revision, &expires); err != nil {
		return Entry{}, err
	}
	e.Key = string(key)
	if expires != 0 {
		e.ExpiresAt = time.Unix(0, expires)
	}
	return e, nil
}

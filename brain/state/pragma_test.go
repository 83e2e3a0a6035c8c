package state

import (
	"context"
	"database/sql"
	"testing"
	"time"
)

// Hazard: an acknowledged write lost on power cut.
func TestEveryConnectionSyncsEachCommitAndWaitsForLocks(t *testing.T) {
	s, err := OpenSQLite(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conns := make([]*sql.Conn, 4) // held at the same time: the whole pool
	for i := range conns {
		if conns[i], err = s.db.Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
		for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "busy_timeout": "10000"} {
			var got string
			if err := conns[i].QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("connection %d: %s is %q, want %q, %v", i, pragma, got, want, err)
			}
		}
	}
}

func TestAWriteClearsUpWhatHasExpired(t *testing.T) {
	clock := time.Now()
	s, err := openSQLite(t.Context(), t.TempDir(), func() time.Time { return clock })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, key := range []string{"a", "b", "c"} {
		if _, err := s.Put(t.Context(), key, nil, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	clock = clock.Add(time.Minute)
	if _, err := s.Put(context.Background(), "d", nil, Forever); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := s.db.QueryRow(`SELECT count(*) FROM entries`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
}

package state

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

func TestAFullDiskIsToldAsSuch(t *testing.T) {
	s, err := openSQLite(t.Context(), t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	s.db.SetMaxOpenConns(1)
	if _, err := s.db.Exec("PRAGMA max_page_count = 5"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), "k", bytes.Repeat([]byte("x"), 1<<20), Forever)
	if fault.CodeOf(err) != common.ErrorCodeDiskFull {
		t.Errorf("Put: %v", err)
	}
	for _, err := range []error{&os.PathError{Op: "mkdir", Path: "x", Err: syscall.ENOSPC}, fmt.Errorf("x: %w", syscall.EDQUOT)} {
		if fault.CodeOf(full(err)) != common.ErrorCodeDiskFull {
			t.Errorf("%v: %v", err, full(err))
		}
	}
}

package state_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/brain/state/statetest"
)

const (
	childDir  = "STATE_TEST_DIR"
	childName = "STATE_TEST_NAME"
	perChild  = 20
)

// TestMain lets the test binary stand in for another process that writes.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := writeMany(dir, os.Getenv(childName)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeMany waits for the starting line, opens the store and writes.
func writeMany(dir, name string) error {
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	s, err := state.OpenSQLite(context.Background(), dir)
	if err != nil {
		return err
	}
	for i := range perChild {
		if _, err := s.Put(context.Background(), fmt.Sprintf("%s/%d", name, i), []byte(name), state.Forever); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}

type engine struct{}

func (engine) Open(t *testing.T, place string) state.Store {
	t.Helper()
	s, err := state.OpenSQLite(t.Context(), filepath.Join(place, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSQLiteIsAStore(t *testing.T) { statetest.Run(t, engine{}) }

// Hazard: `database is locked` between `serve` and `token create`.
func TestEightProcessesThatOpenAndWriteAtOnceAllSucceed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var children []*exec.Cmd
	var starts []interface{ Close() error }
	for i := range 8 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childDir+"="+dir, fmt.Sprintf("%s=child%d", childName, i))
		c.Stderr = os.Stderr
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write([]byte("go\n")); err != nil {
			t.Fatal(err)
		}
		children, starts = append(children, c), append(starts, in)
	}
	for i, c := range children {
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		starts[i].Close() // its reader is gone already
	}
	s, err := state.OpenSQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	entries, err := s.List(t.Context(), "child")
	if err != nil || len(entries) != 8*perChild {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	seen := map[uint64]bool{}
	for _, e := range entries {
		if seen[e.Revision] {
			t.Errorf("revision %d twice", e.Revision)
		}
		seen[e.Revision] = true
	}
}

func TestTheStateIsReadableByItsOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // permission bits mean nothing there; the profile's ACL does it
	}
	dir := filepath.Join(t.TempDir(), "new", "data")
	s, err := state.OpenSQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Put(t.Context(), "k", []byte("v"), state.Forever); err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{"": 0o700, "state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != mode {
			t.Errorf("%q is %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
}

func TestAStoreOfANewerVersionIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	s, err := state.OpenSQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, state.FileName)
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`PRAGMA user_version = 99`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := state.OpenSQLite(t.Context(), dir); !errors.Is(err, state.ErrNewer) || !strings.Contains(err.Error(), "99") {
		t.Errorf("got %v", err)
	}
}

func TestAFileThatIsNoDatabaseIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, state.FileName)
	text := strings.Repeat("my notes, not a database\n", 100)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := state.OpenSQLite(t.Context(), dir); err == nil {
		t.Error("opened")
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != text {
		t.Errorf("the file was changed, %v", err)
	}
}

func TestADirectoryWithOddLettersIsOpenedAsIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b%20?c#d&mode=memory é")
	s, err := state.OpenSQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Put(t.Context(), "k", nil, state.Forever); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, state.FileName)); err != nil || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// To the engine a file of no bytes is a new store: all tokens would be gone.
func TestAnEmptyFileIsNoNewStore(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, state.FileName)
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := state.OpenSQLite(t.Context(), dir); !errors.Is(err, state.ErrEmpty) || !strings.Contains(err.Error(), "backup") {
		t.Errorf("an empty file: %v", err)
	}
	if info, err := os.Stat(name); err != nil || info.Size() != 0 {
		t.Errorf("it was changed: %v, %v", info, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	s, err := state.OpenSQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Size() == 0 {
		t.Errorf("a store in use is empty: %v, %v", info, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAStoreThatCannotBeBegunLeavesNoEmptyFile(t *testing.T) {
	dir := t.TempDir()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := state.OpenSQLite(over, dir); err == nil {
		t.Fatal("a store was opened in a context that is over")
	}
	if _, err := os.Stat(filepath.Join(dir, state.FileName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left the file: %v", err)
	}
}

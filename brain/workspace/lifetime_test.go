package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// clock is the time of a manager.
type clock struct{ at time.Time }

// lived has the manager live by a clock of the test.
func (w *world) lived(ttl time.Duration) *clock {
	c := &clock{at: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	w.ttl, w.since, w.now = ttl, c.at, func() time.Time { return c.at }
	return c
}

func (w *world) names(t *testing.T, p Project) []string {
	t.Helper()
	all, err := w.List(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, d := range all {
		names = append(names, d.DirName)
	}
	return names
}

func (w *world) gone(t *testing.T, p Project, name string) {
	t.Helper()
	if _, err := os.Lstat(w.path(p, name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of %s: %v", name, err)
	}
}

func TestAnUnusedRootDirGoesAfterItsLife(t *testing.T) {
	w := newWorld(t)
	c := w.lived(time.Hour)
	d := w.create(t, acme, "inbox")
	if at := w.ExpiresAt(d); !at.Equal(c.at.Add(time.Hour)) {
		t.Errorf("it expires at %v", at)
	}
	write(t, w.path(acme, "inbox", "f"), "x")
	c.at = c.at.Add(time.Hour - time.Second)
	w.sweep(t.Context())
	if got := w.names(t, acme); !slices.Equal(got, []string{"inbox"}) {
		t.Errorf("before its time there is %v", got)
	}
	c.at = c.at.Add(time.Second)
	_, err := w.Use(t.Context(), acme, "inbox")
	wantCode(t, err, common.ErrorCodeDirNotFound)
	if got := w.names(t, acme); len(got) != 0 {
		t.Errorf("expired, it is still listed: %v", got)
	}
	w.sweep(t.Context())
	w.gone(t, acme, "inbox")
}

// A restored backup is older than every life: what it holds must be there.
func TestTheTimeInWhichNoBrainServedEndsNoRootDir(t *testing.T) {
	w := newWorld(t)
	created := time.Now().Add(-1000 * time.Hour)
	w.lived(time.Hour).at = created
	w.create(t, acme, "inbox")
	w.restart(t)
	opened := w.since
	if opened.Before(created.Add(time.Hour)) {
		t.Fatalf("it was opened at %v", opened)
	}
	c := &clock{at: opened.Add(time.Hour - time.Second)}
	w.ttl, w.now = time.Hour, func() time.Time { return c.at }
	w.sweep(t.Context())
	if got := w.names(t, acme); !slices.Equal(got, []string{"inbox"}) {
		t.Errorf("within a life of the start there is %v", got)
	}
	c.at = opened.Add(time.Hour)
	_, err := w.Use(t.Context(), acme, "inbox")
	wantCode(t, err, common.ErrorCodeDirNotFound)
	w.sweep(t.Context())
	w.gone(t, acme, "inbox")
}

func TestAUseLengthensTheLife(t *testing.T) {
	w := newWorld(t)
	c := w.lived(time.Hour)
	w.create(t, acme, "inbox")
	for range 5 {
		c.at = c.at.Add(50 * time.Minute)
		w.use(t, acme, "inbox").Release()
		w.sweep(t.Context())
	}
	w.restart(t) // what was noted is in the state
	again := w.lived(time.Hour)
	again.at = c.at.Add(50 * time.Minute)
	w.use(t, acme, "inbox").Release()
}

func TestARootDirInUseLivesAndItsUseCountsToItsEnd(t *testing.T) {
	w := newWorld(t)
	c := w.lived(time.Hour)
	w.create(t, acme, "inbox")
	d := w.use(t, acme, "inbox")
	c.at = c.at.Add(25 * time.Hour)
	w.sweep(t.Context())
	if err := d.Context().Err(); err != nil {
		t.Errorf("a RootDir in use was closed: %v", err)
	}
	d.Release()
	c.at = c.at.Add(59 * time.Minute)
	w.sweep(t.Context())
	w.use(t, acme, "inbox").Release()
}

func TestRootDirsGoWithTheirScopeUnlessTheyAreToStay(t *testing.T) {
	w := newWorld(t)
	for _, r := range []CreateRequest{
		{DirName: "a", Creator: NamedScope("t1", "s"), DeleteOnCreatorClose: true},
		{DirName: "b", Creator: NamedScope("t1", "s")},
		{DirName: "c", Creator: NamedScope("t2", "s"), DeleteOnCreatorClose: true},
		{DirName: "d", Creator: TokenScope("t1"), DeleteOnCreatorClose: true},
	} {
		r.Type = TypeEphemeral
		if _, err := w.Create(t.Context(), acme, r); err != nil {
			t.Fatal(err)
		}
	}
	closed, err := w.CloseScope(t.Context(), acme, NamedScope("t1", "s"))
	if err != nil || !slices.Equal(closed, []string{"a"}) {
		t.Errorf("closed %v, %v", closed, err)
	}
	if got := w.names(t, acme); !slices.Equal(got, []string{"b", "c", "d"}) {
		t.Errorf("left are %v", got)
	}
	w.gone(t, acme, "a")
	if closed, err := w.CloseScope(t.Context(), acme, NamedScope("t1", "s")); err != nil || len(closed) != 0 {
		t.Errorf("the second time: %v, %v", closed, err)
	}
}

func TestRootDirsGoWithTheirOwnersToken(t *testing.T) {
	w := newWorld(t)
	w.lived(time.Hour)
	gone := map[string]bool{}
	w.tokenGood = func(_ context.Context, id string) (bool, error) {
		if id == "broken" {
			return false, errors.New("the state cannot be read")
		}
		return !gone[id], nil
	}
	for name, creator := range map[string]string{"a": TokenScope("t1"), "b": NamedScope("t1", "x"), "c": TokenScope("t2"), "d": SessionScope("t1"), "e": TokenScope("broken")} {
		if _, err := w.Create(t.Context(), acme, CreateRequest{Type: TypeEphemeral, DirName: name, Creator: creator, DeleteOnCreatorClose: true}); err != nil {
			t.Fatal(err)
		}
	}
	w.sweep(t.Context())
	if got := w.names(t, acme); len(got) != 5 {
		t.Errorf("while all are good: %v", got)
	}
	gone["t1"] = true
	w.sweep(t.Context())
	if got := w.names(t, acme); !slices.Equal(got, []string{"c", "d", "e"}) {
		t.Errorf("left are %v", got)
	}
}

func TestAScopeHasOneTempRootDir(t *testing.T) {
	w := newWorld(t)
	a, err := w.Temp(t.Context(), acme, TokenScope("t1"))
	if err != nil || !strings.HasPrefix(a, "temp-") {
		t.Fatal(a, err)
	}
	if again, err := w.Temp(t.Context(), acme, TokenScope("t1")); err != nil || again != a {
		t.Errorf("the second time %s, %v", again, err)
	}
	if other, err := w.Temp(t.Context(), acme, TokenScope("t2")); err != nil || other == a {
		t.Errorf("another scope's is %s, %v", other, err)
	}
}

func TestTheQuotaIsOfAllFilesOfAProject(t *testing.T) {
	w := newWorld(t)
	c := w.lived(time.Hour)
	w.usage.limit = 100
	w.usage.now = w.now
	w.create(t, acme, "a")
	w.create(t, acme, "b")
	put := func(dir, path string, n int) error {
		_, err := w.WriteFile(t.Context(), acme, dir, path, make([]byte, n), "")
		return err
	}
	if err := put("a", "x", 60); err != nil {
		t.Fatal(err)
	}
	wantCode(t, put("b", "y", 41), common.ErrorCodeQuota)
	if err := put("b", "y", 40); err != nil {
		t.Error("what just fits is refused:", err)
	}
	wantCode(t, put("b", "z", 1), common.ErrorCodeQuota)
	entries, err := os.ReadDir(w.path(acme, "b"))
	if err != nil || len(entries) != 1 {
		t.Errorf("the refused files left %v, %v", entries, err)
	}
	// Replacing makes room, which is noticed before anything is refused.
	if err := os.Remove(w.path(acme, "a", "x")); err != nil {
		t.Fatal(err)
	}
	c.at = c.at.Add(remeasureFull)
	if err := put("b", "z", 60); err != nil {
		t.Error("what was deleted still counts:", err)
	}
	c.at = c.at.Add(remeasureFull)
	other := Project{Tenant: "umbrella", ProjectID: "proj"}
	w.create(t, other, "a")
	if _, err := w.WriteFile(t.Context(), other, "a", "f", make([]byte, 100), ""); err != nil {
		t.Error("another project's quota is not its own:", err)
	}
}

func TestAFileThatIsNotPublishedGivesItsBytesBack(t *testing.T) {
	w := newWorld(t)
	w.usage.limit = 10
	w.create(t, acme, "a")
	d := w.use(t, acme, "a")
	at, err := rootfs.CleanPath("f")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		st, err := d.Stage(at, uuid.New(), rootfs.StageOptions{Size: 10})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Stage(at, uuid.New(), rootfs.StageOptions{Size: 1}); err == nil {
			t.Error("what is reserved is given away")
		}
		if err := st.Discard(); err != nil {
			t.Error(err)
		}
	}
}

func TestAProjectHasAThousandRootDirsAtMost(t *testing.T) {
	w := newWorld(t)
	for i := range maxDirs {
		d := Descriptor{Tenant: acme.Tenant, ProjectID: acme.ProjectID, DirName: "d" + strings.Repeat("x", i%7) + time.Duration(i).String(), Type: TypeEphemeral}
		if err := w.descriptors.create(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.Create(t.Context(), acme, CreateRequest{Type: TypeEphemeral})
	wantCode(t, err, common.ErrorCodeQuota)
}

// crowded is a store on a disk that is full while a file is there.
type crowded struct {
	state.Store
	by string
}

func (c crowded) CompareAndSet(ctx context.Context, key string, expected uint64, value []byte, ttl time.Duration) (uint64, error) {
	if _, err := os.Lstat(c.by); err == nil {
		return 0, fault.New(common.ErrorCodeDiskFull)
	}
	return c.Store.CompareAndSet(ctx, key, expected, value, ttl)
}

// On a full disk the mark of a closing cannot be written, and what is to be closed
// is what fills it.
func TestAFullDiskIsEmptiedByClosing(t *testing.T) {
	w := newWorld(t)
	c := w.lived(time.Hour)
	for name, end := range map[string]func() error{
		"close_dir": func() error { return w.CloseDir(t.Context(), acme, "big") },
		"expiry":    func() error { c.at = c.at.Add(time.Hour); w.sweep(t.Context()); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			w.descriptors = descriptors{w.store}
			w.create(t, acme, "big")
			write(t, w.path(acme, "big", "f"), "x")
			w.descriptors = descriptors{crowded{w.store, w.path(acme, "big", "f")}}
			if err := end(); err != nil {
				t.Error(err)
			}
			w.gone(t, acme, "big")
			if left, err := w.descriptors.all(t.Context()); err != nil || len(left) != 0 {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
}

func TestARootDirThatCannotEvenThenBeClosedIsListedAndServes(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "big")
	write(t, w.path(acme, "big", "f"), "x")
	full := filepath.Join(t.TempDir(), "full")
	write(t, full, "")
	w.descriptors = descriptors{crowded{w.store, full}}
	wantCode(t, w.CloseDir(t.Context(), acme, "big"), common.ErrorCodeDiskFull)
	if got := w.names(t, acme); !slices.Equal(got, []string{"big"}) {
		t.Errorf("it lists %v", got)
	}
	d := w.use(t, acme, "big")
	if err := d.Context().Err(); err != nil {
		t.Error("its use is cancelled:", err)
	}
	d.Release()
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if err := w.CloseDir(t.Context(), acme, "big"); err != nil {
		t.Error(err)
	}
	w.gone(t, acme, "big")
}

func TestAClosingThatFailedIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "inbox")
	write(t, w.path(acme, "inbox", "f"), "x")
	if _, err := w.descriptors.markClosing(t.Context(), acme, "inbox"); err != nil {
		t.Fatal(err)
	}
	w.sweep(t.Context())
	w.gone(t, acme, "inbox")
}

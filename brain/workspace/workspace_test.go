package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

var acme = Project{Tenant: "acme", ProjectID: "proj"}

type world struct {
	*Manager
	store state.Store
	root  string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store, err := state.OpenSQLite(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{store: store, root: filepath.Join(t.TempDir(), "workspaces")}
	w.restart(t)
	return w
}

// restart opens the manager anew, as a new process does.
func (w *world) restart(t *testing.T) {
	t.Helper()
	m, err := Open(t.Context(), Options{Root: w.root, Store: w.store, ModeMask: 0o644, Notes: w.root + "-notes"})
	if err != nil {
		t.Fatal(err)
	}
	w.Manager = m
}

func (w *world) create(t *testing.T, p Project, name string) Descriptor {
	t.Helper()
	d, err := w.Create(t.Context(), p, CreateRequest{Type: TypeEphemeral, DirName: name, Creator: "token:1"})
	if err != nil {
		t.Fatalf("create %q: %v", name, err)
	}
	return d
}

func (w *world) use(t *testing.T, p Project, name string) *Dir {
	t.Helper()
	d, err := w.Use(t.Context(), p, name)
	if err != nil {
		t.Fatalf("use %q: %v", name, err)
	}
	t.Cleanup(d.Release)
	return d
}

func (w *world) path(p Project, name string, rest ...string) string {
	return filepath.Join(append([]string{w.root, p.Tenant, p.ProjectID, name}, rest...)...)
}

func wantCode(t *testing.T, err error, code common.ErrorCode) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("got %v (%s), want %s", err, fault.CodeOf(err), code)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAWantedNameIsTheFolder(t *testing.T) {
	w := newWorld(t)
	d := w.create(t, acme, "user-upload-2026-05-01")
	if d.DirName != "user-upload-2026-05-01" || d.Creator != "token:1" || d.Type != TypeEphemeral || d.CreatedAt.IsZero() {
		t.Errorf("descriptor %+v", d)
	}
	entries, err := os.ReadDir(w.path(acme, d.DirName))
	if err != nil || len(entries) != 0 {
		t.Errorf("the folder has %v, %v, want an empty folder", entries, err)
	}
}

func TestWithoutANameOneIsMade(t *testing.T) {
	w := newWorld(t)
	a, b := w.create(t, acme, ""), w.create(t, acme, "")
	if a.DirName == b.DirName || !strings.HasPrefix(a.DirName, "ephemeral-") || len(a.DirName) != len("ephemeral-")+shortIDLength {
		t.Errorf("names %q and %q", a.DirName, b.DirName)
	}
}

func TestATakenNameIsAnError(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "Reports")
	write(t, w.path(acme, "Reports", "a.txt"), "kept")
	_, err := w.Create(t.Context(), acme, CreateRequest{Type: TypeEphemeral, DirName: "Reports"})
	wantCode(t, err, common.ErrorCodeAlreadyExists)
	if got, err := os.ReadFile(w.path(acme, "Reports", "a.txt")); err != nil || string(got) != "kept" {
		t.Errorf("the first RootDir's file: %q, %v", got, err)
	}
}

// A file system that folds case is played by one on which the other spelling
// exists already: mkdir says so there, whatever the descriptors say.
func TestANameThatTheFileSystemTakesForAnotherIsTaken(t *testing.T) {
	w := newWorld(t)
	if err := os.MkdirAll(w.path(acme, "reports"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := w.Create(t.Context(), acme, CreateRequest{Type: TypeEphemeral, DirName: "reports"})
	wantCode(t, err, common.ErrorCodeAlreadyExists)
	dirs, err := w.List(t.Context(), acme)
	if err != nil || len(dirs) != 0 {
		t.Errorf("listed %v, %v", dirs, err)
	}
}

func TestOneOfManyCreatorsOfANameWins(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	won := 0
	for range 8 {
		wg.Go(func() {
			_, err := w.Create(context.Background(), acme, CreateRequest{Type: TypeEphemeral, DirName: "one"})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if fault.CodeOf(err) != common.ErrorCodeAlreadyExists {
				t.Errorf("a loser got %v", err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d creators won", won)
	}
	w.use(t, acme, "one")
}

func TestEveryNameIsOnePathSegment(t *testing.T) {
	w := newWorld(t)
	bad := []string{"a/b", "..", ".", "../x", "/abs", `a\b`, "a b", "ä", "a\x00", ".vance-x", ".VANCE-x", strings.Repeat("x", 65)}
	for _, name := range bad {
		_, err := w.Create(t.Context(), acme, CreateRequest{Type: TypeEphemeral, DirName: name})
		wantCode(t, err, common.ErrorCodeInvalidPath)
		_, err = w.Use(t.Context(), acme, name)
		wantCode(t, err, common.ErrorCodeDirNotFound)
		wantCode(t, w.CloseDir(t.Context(), acme, name), common.ErrorCodeDirNotFound)
		for _, p := range []Project{{name, "proj"}, {"acme", name}} {
			_, err := w.Create(t.Context(), p, CreateRequest{Type: TypeEphemeral, DirName: "x"})
			wantCode(t, err, common.ErrorCodeInvalidPath)
		}
	}
	w.create(t, acme, strings.Repeat("x", 64))
}

func TestEqualProjectNamesOfTwoTenantsDoNotMix(t *testing.T) {
	w := newWorld(t)
	other := Project{Tenant: "umbrella", ProjectID: acme.ProjectID}
	w.create(t, acme, "shared")
	w.create(t, other, "shared")
	w.create(t, other, "own")
	write(t, w.path(acme, "shared", "f"), "acme's")
	if err := w.CloseDir(t.Context(), other, "shared"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.path(acme, "shared", "f")); err != nil {
		t.Errorf("the other tenant's closing reached it: %v", err)
	}
	dirs, err := w.List(t.Context(), acme)
	if err != nil || len(dirs) != 1 || dirs[0].DirName != "shared" || dirs[0].Tenant != "acme" {
		t.Errorf("listed %+v, %v", dirs, err)
	}
	_, err = w.Use(t.Context(), acme, "own")
	wantCode(t, err, common.ErrorCodeDirNotFound)
}

func TestAnUnknownDirIsNotFound(t *testing.T) {
	w := newWorld(t)
	_, err := w.Use(t.Context(), acme, "nothing")
	wantCode(t, err, common.ErrorCodeDirNotFound)
	wantCode(t, w.CloseDir(t.Context(), acme, "nothing"), common.ErrorCodeDirNotFound)
	if len(w.sites) != 0 {
		t.Errorf("%d sites are left", len(w.sites))
	}
}

func TestAFolderWithoutADescriptorIsNoRootDir(t *testing.T) {
	w := newWorld(t)
	write(t, w.path(acme, "foreign", "f"), "x")
	_, err := w.Use(t.Context(), acme, "foreign")
	wantCode(t, err, common.ErrorCodeDirNotFound)
}

func TestUsersOfARootDirShareItsHolds(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	a, b := w.use(t, acme, "d"), w.use(t, acme, "d")
	path, err := rootfs.CleanPath("x/y.txt")
	if err != nil {
		t.Fatal(err)
	}
	release, err := a.Holds.Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Holds.Hold(path)
	wantCode(t, err, common.ErrorCodeTargetBusy)
	release()
	if release, err = b.Holds.Hold(path); err != nil {
		t.Fatal(err)
	}
	release()
}

func TestTheLastUserClosesTheRoot(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	a := w.use(t, acme, "d")
	b := a.Again()
	a.Release()
	a.Release() // the second does nothing
	if len(w.sites) != 1 || b.site.root == nil {
		t.Error("the root was closed under a user")
	}
	b.Release()
	if len(w.sites) != 0 || b.site.root != nil {
		t.Error("the root is still open")
	}
}

func TestClosingDeletesEverythingAndFollowsNoLink(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	outside := t.TempDir()
	write(t, filepath.Join(outside, "precious"), "x")
	write(t, w.path(acme, "d", "a", "b", "c.txt"), "x")
	for link, target := range map[string]string{"to-dir": outside, "to-file": filepath.Join(outside, "precious"), "a/up": "..", "dangling": "/nonexistent"} {
		if err := os.Symlink(target, w.path(acme, "d", link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.CloseDir(t.Context(), acme, "d"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(w.path(acme, "d")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Errorf("the deletion followed a link: %v", err)
	}
	if dirs, err := w.List(t.Context(), acme); err != nil || len(dirs) != 0 {
		t.Errorf("still listed: %v, %v", dirs, err)
	}
	w.create(t, acme, "d") // the name is free again
}

// As the owner of the files root is stopped by no mode; the test then only
// shows that such folders do no harm.
func TestReadOnlyFoldersCanBeClosed(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	write(t, w.path(acme, "d", "mod", "pkg", "f.go"), "x")
	for _, dir := range []string{"mod/pkg", "mod"} {
		if err := os.Chmod(w.path(acme, "d", dir), 0o555); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(w.path(acme, "d", "closed"), 0); err != nil {
		t.Fatal(err)
	}
	if err := w.CloseDir(t.Context(), acme, "d"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(w.path(acme, "d")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestClosingCancelsItsUsersAndWaitsForThem(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	d := w.use(t, acme, "d")
	closed := make(chan error)
	go func() { closed <- w.CloseDir(context.Background(), acme, "d") }()
	<-d.Context().Done()
	wantCode(t, context.Cause(d.Context()), common.ErrorCodeCancelled)
	if _, err := os.Stat(w.path(acme, "d")); err != nil {
		t.Errorf("the folder went before its user: %v", err)
	}
	_, err := w.Use(t.Context(), acme, "d")
	wantCode(t, err, common.ErrorCodeDirNotFound)
	wantCode(t, w.CloseDir(t.Context(), acme, "d"), common.ErrorCodeDirNotFound)
	d.Release()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if len(w.sites) != 0 {
		t.Errorf("%d sites are left", len(w.sites))
	}
}

func TestClosingWaitsOnlySoLong(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	w.use(t, acme, "d") // never lets go
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s, _ := w.beginClosing(siteKey{acme, "d"})
	if s.waitUnused(ctx, closeWait) {
		t.Error("said to be unused")
	}
	w.keepOpen(siteKey{acme, "d"}, s)
}

func TestRootDirsOutliveARestart(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "b")
	w.create(t, acme, "a")
	write(t, w.path(acme, "a", "f"), "kept")
	w.restart(t)
	dirs, err := w.List(t.Context(), acme)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, d := range dirs {
		names = append(names, d.DirName)
	}
	if !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("listed %v", names)
	}
	if got, err := os.ReadFile(w.path(acme, "a", "f")); err != nil || string(got) != "kept" {
		t.Errorf("the file: %q, %v", got, err)
	}
}

func TestARestartFinishesAClosing(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	write(t, w.path(acme, "d", "f"), "x")
	if _, err := w.descriptors.markClosing(t.Context(), acme, "d"); err != nil {
		t.Fatal(err)
	}
	_, err := w.Use(t.Context(), acme, "d")
	wantCode(t, err, common.ErrorCodeDirNotFound)
	w.restart(t)
	if _, err := os.Lstat(w.path(acme, "d")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	w.create(t, acme, "d")
}

func TestARestartRemovesTheStagingFilesOfLostTransfers(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	orphan := w.path(acme, "d", "sub", ".vance-part-"+uuid.NewString())
	write(t, orphan, "half a file")
	write(t, w.path(acme, "d", "sub", "whole.txt"), "x")
	w.restart(t)
	if _, err := os.Lstat(orphan); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the orphan is still there: %v", err)
	}
	if _, err := os.Lstat(w.path(acme, "d", "sub", "whole.txt")); err != nil {
		t.Errorf("a whole file went with it: %v", err)
	}
}

func TestARestartMakesALostFolderAgain(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	if err := os.RemoveAll(w.path(acme, "d")); err != nil {
		t.Fatal(err)
	}
	_, err := w.Use(t.Context(), acme, "d")
	wantCode(t, err, common.ErrorCodeDirNotFound)
	w.restart(t)
	w.use(t, acme, "d")
}

func TestARestartRemovesOnlyEmptyStrays(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "known")
	if err := os.Mkdir(w.path(acme, "stray"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, w.path(acme, "foreign", "f"), "x")
	w.restart(t)
	if _, err := os.Lstat(w.path(acme, "stray")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stray is still there: %v", err)
	}
	for _, kept := range []string{"known", "foreign/f"} {
		if _, err := os.Lstat(w.path(acme, kept)); err != nil {
			t.Errorf("%s: %v", kept, err)
		}
	}
}

func TestADescriptorThatNamesAnotherPlaceIsRefused(t *testing.T) {
	w := newWorld(t)
	evil := `{"tenant":"acme","projectId":"proj","dirName":"..","type":"ephemeral"}`
	if _, err := w.store.Put(t.Context(), acme.prefix()+"d", []byte(evil), state.Forever); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Use(t.Context(), acme, "d"); err == nil {
		t.Error("it was used")
	}
	if _, err := Open(t.Context(), Options{Root: w.root, Store: w.store}); err == nil {
		t.Error("the workspace was opened")
	}
}

func (w *world) stage(t *testing.T, d *Dir, path string) *Staging {
	t.Helper()
	at, err := rootfs.CleanPath(path)
	if err != nil {
		t.Fatal(err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	st, err := d.Stage(at, id, rootfs.StageOptions{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// What is staged and neither published nor discarded is what a killed process
// leaves.
func TestARestartRemovesTheFoldersThatLostTransfersMadeAndNoOthers(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "inbox")
	for _, own := range []string{"mine/empty", "used"} {
		if err := os.MkdirAll(w.path(acme, "inbox", own), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d := w.use(t, acme, "inbox")
	for _, path := range []string{"lost/a/f", "lost/b/f", "mine/empty/new/f", "used/deep/f", "top"} {
		w.stage(t, d, path)
	}
	done := w.stage(t, d, "done/f")
	if _, err := done.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := done.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.stage(t, d, "given/up/f").Discard(); err != nil {
		t.Fatal(err)
	}
	write(t, w.path(acme, "inbox", "used/deep/other"), "x")

	w.restart(t)
	for path, want := range map[string]bool{"lost": false, "mine/empty": true, "mine/empty/new": false, "used/deep/other": true, "done/f": true, "given": false} {
		if _, err := os.Lstat(w.path(acme, "inbox", path)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	if left, err := os.ReadDir(w.root + "-notes"); err != nil || len(left) != 0 {
		t.Errorf("notes that are left: %v, %v", left, err)
	}
}

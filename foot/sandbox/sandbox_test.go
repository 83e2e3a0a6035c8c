package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

var (
	one = uuid.MustParse("018f0000-0000-7000-8000-000000000001")
	two = uuid.MustParse("018f0000-0000-7000-8000-000000000002")
)

func open(t *testing.T, root string) *Sandbox {
	t.Helper()
	s, err := Open(root, Options{Mask: 0o755})
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

func project(t *testing.T, s *Sandbox, tenant, id string) *Project {
	t.Helper()
	p, err := s.Project(tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A folder that was taken away while the Foot runs is no missing file.
func TestAFolderThatIsGoneIsToldAsSuch(t *testing.T) {
	root, granted := filepath.Join(t.TempDir(), "root"), filepath.Join(t.TempDir(), "music")
	if err := os.Mkdir(granted, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Open(root, Options{Mask: 0o755, Grants: []Grant{{Name: "music", Path: granted, Access: common.AccessEdit}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := project(t, s, "acme", "proj")
	write(t, p, "a", "content")
	write(t, p, "@music/a", "content")
	for _, dir := range []string{root, granted} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"a": "the Foot's whole folder is gone", "@music/a": "the granted folder @music is gone"} {
		if _, _, err := p.OpenSource(path); fault.CodeOf(err) != common.ErrorCodeNotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("reading %s: %v", path, err)
		}
		if _, err := p.Stage(path, uuid.Must(uuid.NewV7()), rootfs.StageOptions{}); fault.CodeOf(err) != common.ErrorCodeNotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("writing %s: %v", path, err)
		}
	}
}

// write puts a file into a project as a transfer does.
func write(t *testing.T, p *Project, path, content string) {
	t.Helper()
	target, err := p.Stage(path, uuid.Must(uuid.NewV7()), rootfs.StageOptions{Size: int64(len(content))})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Release()
	if _, err := target.Staging.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if _, err := target.Staging.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, want common.ErrorCode) {
	t.Helper()
	if got := fault.CodeOf(err); err == nil || got != want {
		t.Errorf("error %v (%s), want %s", err, got, want)
	}
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("%s: %v, %v; want nothing in it", dir, entries, err)
	}
}

func TestTheRootIsMadePrivateAtTheStartAndTheProjectWithItsFirstWrite(t *testing.T) {
	root := filepath.Join(t.TempDir(), "deep", "foot")
	s := open(t, root)
	info, err := os.Stat(root)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the root has mode %o, want 0700", info.Mode().Perm())
	}
	p := project(t, s, "acme", "proj")
	_, _, err = p.OpenSource("a.txt")
	wantCode(t, err, common.ErrorCodeNotFound)
	isEmpty(t, root)
	if want := filepath.Join(root, "acme", "proj"); p.Folder() != want {
		t.Errorf("Folder() = %s, want %s", p.Folder(), want)
	}
	write(t, p, "reports/a.txt", "hello")
	got, err := os.ReadFile(filepath.Join(root, "acme", "proj", "reports", "a.txt"))
	if err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestARootThatCannotBeMadeIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{file, filepath.Join(file, "below")} {
		if _, err := Open(root, Options{}); err == nil {
			t.Errorf("%s: no error", root)
		}
	}
}

func TestTheRootMayBeALink(t *testing.T) {
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	p := project(t, open(t, link), "acme", "proj")
	write(t, p, "a", "x")
	if _, err := os.Stat(filepath.Join(real, "acme", "proj", "a")); err != nil {
		t.Error(err)
	}
	for _, path := range []string{filepath.Join(link, "acme", "proj", "a"), filepath.Join(real, "acme", "proj", "a")} {
		if _, clean, err := p.find(path); err != nil || clean.String() != "a" {
			t.Errorf("%s: %q, %v", path, clean, err)
		}
	}
}

func TestPathsThatLeaveTheProjectAreRefusedAndOthersCleaned(t *testing.T) {
	root := t.TempDir()
	p := project(t, open(t, root), "acme", "proj")
	folder := p.Folder()
	const escape, invalid = common.ErrorCodePathEscapesSandbox, common.ErrorCodeInvalidPath
	for _, row := range []struct {
		name, in, want string
		code           common.ErrorCode
	}{
		{"relative", "reports/a.txt", "reports/a.txt", ""},
		{"inner dots", "a/../b/./c", "b/c", ""},
		{"leading dots in a name", "..a", "..a", ""},
		{"absolute inside", filepath.Join(folder, "a", "b"), "a/b", ""},
		{"absolute inside with dots", folder + "/x/../a", "a", ""},
		{"parent", "../a", "", escape},
		{"parent of a folder that is not there", "a/../../b", "", escape},
		{"absolute outside", "/etc/passwd", "", escape},
		{"the root of all", "/", "", escape},
		{"absolute, another project", filepath.Join(root, "acme", "other", "a"), "", escape},
		{"absolute, a sibling with the same prefix", folder + "2/a", "", escape},
		{"absolute, climbs out", folder + "/../other/a", "", escape},
		{"NUL", "a\x00b", "", escape},
		{"NUL in an absolute one", folder + "/a\x00b", "", escape},
		{"empty", "", "", invalid},
		{"the folder itself", ".", "", invalid},
		{"the folder itself, absolute", folder, "", invalid},
		{"a folder", "a/", "", invalid},
		{"a folder, absolute", folder + "/a/", "", invalid},
		{"a name of ours", ".vance-part-x", "", invalid},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, got, err := p.find(row.in)
			if row.code != "" {
				wantCode(t, err, row.code)
			} else if err != nil || got.String() != row.want {
				t.Errorf("Clean(%q) = %q, %v; want %q", row.in, got, err, row.want)
			}
			if row.code == "" {
				return
			}
			_, err = p.Stage(row.in, one, rootfs.StageOptions{})
			wantCode(t, err, row.code)
			_, _, err = p.OpenSource(row.in)
			wantCode(t, err, row.code)
			isEmpty(t, root)
		})
	}
}

func TestNoLinkInTheProjectIsFollowed(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := project(t, open(t, t.TempDir()), "acme", "proj")
	write(t, p, "real/a", "x")
	for name, target := range map[string]string{
		"leaf": filepath.Join(outside, "secret"), "dangling": filepath.Join(outside, "new"), "parent": outside, "inside": "real",
	} {
		if err := os.Symlink(target, filepath.Join(p.Folder(), name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"leaf", "dangling", "parent/secret", "parent/new", "inside/a"} {
		_, _, err := p.OpenSource(path)
		wantCode(t, err, common.ErrorCodeSymlinkNotAllowed)
		_, err = p.Stage(path, one, rootfs.StageOptions{})
		wantCode(t, err, common.ErrorCodeSymlinkNotAllowed)
	}
	if _, err := os.Lstat(filepath.Join(outside, "new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made outside: %v", err)
	}
	if p.holds.Len() != 0 || len(p.live) != 0 {
		t.Errorf("refused targets are still held: %d, %v", p.holds.Len(), p.live)
	}
}

func TestNothingIsWrittenIntoGitButMayBeRead(t *testing.T) {
	p := project(t, open(t, t.TempDir()), "acme", "proj")
	git := filepath.Join(p.Folder(), "sub", ".git")
	if err := os.MkdirAll(git, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(git, "config"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"sub/.git/config", ".GIT/hooks/pre-commit", "sub/git~1/x"} {
		_, err := p.Stage(path, one, rootfs.StageOptions{})
		wantCode(t, err, common.ErrorCodePathProtected)
	}
	source, _, err := p.OpenSource("sub/.git/config")
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
}

func TestOneTransferAtATimeHasATarget(t *testing.T) {
	s := open(t, t.TempDir())
	p := project(t, s, "acme", "proj")
	first, err := p.Stage("a", one, rootfs.StageOptions{Size: 0})
	if err != nil {
		t.Fatal(err)
	}
	// The table is the project's, not the connection's.
	_, err = project(t, s, "acme", "proj").Stage("x/../a", two, rootfs.StageOptions{})
	wantCode(t, err, common.ErrorCodeTargetBusy)
	other, err := project(t, s, "umbrella", "proj").Stage("a", two, rootfs.StageOptions{})
	if err != nil {
		t.Fatalf("the same name of another tenant: %v", err)
	}
	for _, target := range []*Target{first, other} {
		if err := target.Staging.Discard(); err != nil {
			t.Error(err)
		}
		target.Release()
		target.Release() // harmless
	}
	again, err := p.Stage("a", two, rootfs.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Staging.Discard(); err != nil {
		t.Error(err)
	}
	again.Release()
}

func TestNamesOfTenantAndProjectAreSingleSegments(t *testing.T) {
	root := t.TempDir()
	s := open(t, root)
	for _, bad := range []string{"", ".", "..", "a/b", "../x", `a\b`, "a b", "ä", "a\x00"} {
		if _, err := s.Project(bad, "proj"); err == nil {
			t.Errorf("tenant %q is accepted", bad)
		}
		if _, err := s.Project("acme", bad); err == nil {
			t.Errorf("project %q is accepted", bad)
		}
	}
	isEmpty(t, root)
}

func TestWhatAKilledProcessLeftIsSweptAndALiveTransferIsNot(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "acme", "proj", "sub")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	orphan := filepath.Join(dir, ".vance-part-"+one.String())
	if err := os.WriteFile(orphan, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, root)
	p := project(t, s, "acme", "proj")
	target, err := p.Stage("sub/new", two, rootfs.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-p.swept
	if _, err := os.Lstat(orphan); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the orphan is still there: %v", err)
	}
	if !p.isLive(two) || p.isLive(one) {
		t.Error("the live transfers are mistaken")
	}
	if _, err := target.Staging.Publish(t.Context()); err != nil {
		t.Errorf("the live transfer was swept: %v", err)
	}
	target.Release()
	if p.isLive(two) {
		t.Error("a transfer that is over is still live")
	}
}

func TestAttributesOfTheWireBecomeThoseOfTheFile(t *testing.T) {
	p := project(t, open(t, t.TempDir()), "acme", "proj")
	mode, mtime := "6777", time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	options, err := StageOptions(0, &common.FileAttrs{Mode: &mode, Mtime: &mtime})
	if err != nil {
		t.Fatal(err)
	}
	target, err := p.Stage("tool", one, options)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Release()
	if _, err := target.Staging.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(p.Folder(), "tool"))
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode() != 0o755 {
		t.Errorf("mode %v, want 0755: the mask takes the rest away", info.Mode())
	}
	if !info.ModTime().Equal(mtime) {
		t.Errorf("mtime %v, want %v", info.ModTime(), mtime)
	}
	bad := "rwx"
	_, err = StageOptions(0, &common.FileAttrs{Mode: &bad})
	wantCode(t, err, common.ErrorCodeInvalidRequest)
	if o, err := StageOptions(7, nil); err != nil || o.Size != 7 || o.Attrs.Mode != nil {
		t.Errorf("no attributes: %+v, %v", o, err)
	}
}

func TestAClosedSandboxOpensNoProject(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	project(t, s, "acme", "proj")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Project("acme", "proj"); err == nil {
		t.Error("a project of a closed sandbox")
	}
}

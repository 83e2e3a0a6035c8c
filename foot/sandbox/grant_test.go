package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/rootfs"
)

// granting opens a sandbox with two granted folders, one of them for writing.
func granting(t *testing.T, access common.Access) (p *Project, music, work string) {
	t.Helper()
	music, work = t.TempDir(), t.TempDir()
	s, err := Open(t.TempDir(), Options{Mask: 0o755, Access: access, Grants: []Grant{
		{Name: "music", Path: music, Access: common.AccessRead},
		{Name: "work", Path: work, Access: common.AccessEdit},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return project(t, s, "acme", "proj"), music, work
}

func put(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAGrantIsReadOnlyUnlessItSaysOtherwise(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	abs := func(p string) string {
		a, err := filepath.Abs(p)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for text, want := range map[string]Grant{
		"music=/m":          {"music", abs("/m"), common.AccessRead},
		"music=/m:ro":       {"music", abs("/m"), common.AccessRead},
		"music=/m:rw":       {"music", abs("/m"), common.AccessEdit},
		"music=/m:ro:rw":    {"music", abs("/m:ro"), common.AccessEdit},
		"music=/m:rw:ro":    {"music", abs("/m:rw"), common.AccessRead},
		"a.b-c_1=~/x=y:rw":  {"a.b-c_1", filepath.Join(home, "x=y"), common.AccessEdit},
		"music=rel/../here": {"music", abs("here"), common.AccessRead},
	} {
		if got, err := ParseGrant(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "music", "=", "=/m", "a/b=/m", "..=/m", "@a=/m", "music=", "music=:rw", "music=~other/x", "m\n=/m"} {
		if g, err := ParseGrant(text); err == nil {
			t.Errorf("%q: %+v", text, g)
		}
	}
}

func TestAFileInAGrantedFolderIsReadByNameAndByAbsolutePath(t *testing.T) {
	p, music, _ := granting(t, "")
	file := put(t, music, "live/a.mp3", "la")
	for _, path := range []string{"@music/live/a.mp3", "@music/x/../live/a.mp3", file} {
		source, told, err := p.OpenSource(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if told != "@music/live/a.mp3" || source.Size() != 2 {
			t.Errorf("%s: told as %q, %d bytes", path, told, source.Size())
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAReadOnlyFolderIsNotWritten(t *testing.T) {
	p, music, work := granting(t, "")
	for _, path := range []string{"@music/new", filepath.Join(music, "new")} {
		_, err := p.Stage(path, one, rootfs.StageOptions{})
		wantCode(t, err, common.ErrorCodeAccessDenied)
	}
	isEmpty(t, music)
	for _, path := range []string{"@work/sub/a", filepath.Join(work, "sub", "a")} {
		target, err := p.Stage(path, uuid.New(), rootfs.StageOptions{})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		published, err := target.Staging.Publish(t.Context())
		if err != nil || target.Path != "@work/sub/a" || target.Told(published.Path) != "@work/sub/a" {
			t.Errorf("%s: told as %q, %+v, %v", path, target.Path, published, err)
		}
		target.Release()
	}
	if _, err := os.Stat(filepath.Join(work, "sub", "a")); err != nil {
		t.Error(err)
	}
}

func TestAFootThatMayBeReadOnlyIsNotWrittenAnywhere(t *testing.T) {
	p, music, work := granting(t, common.AccessRead)
	put(t, work, "there", "x")
	for _, path := range []string{"a", "@work/new", "@work/there", filepath.Join(work, "new")} {
		_, err := p.Stage(path, one, rootfs.StageOptions{})
		wantCode(t, err, common.ErrorCodeAccessDenied)
	}
	source, _, err := p.OpenSource("@work/there")
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.Folder()); !os.IsNotExist(err) {
		t.Errorf("the project's folder was made: %v", err)
	}
	isEmpty(t, music)
}

func TestWhatABrainIsToldOfGrantsIsWhatItMayDo(t *testing.T) {
	for access, work := range map[common.Access]common.Access{"": common.AccessEdit, common.AccessRead: common.AccessRead} {
		s, err := Open(t.TempDir(), Options{Access: access, Grants: []Grant{
			{Name: "music", Path: t.TempDir(), Access: common.AccessRead},
			{Name: "work", Path: t.TempDir(), Access: common.AccessEdit},
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := []common.Grant{{Name: "music", Access: common.AccessRead}, {Name: "work", Access: work}}
		if diff := cmp.Diff(want, s.Grants()); diff != "" {
			t.Errorf("access %q: %s", access, diff)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPathsThatLeaveAGrantedFolderAreRefused(t *testing.T) {
	p, music, _ := granting(t, "")
	secret := put(t, t.TempDir(), "secret", "s")
	if err := os.Symlink(secret, filepath.Join(music, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]common.ErrorCode{
		"@nobody/a":                   common.ErrorCodeNotFound,
		"@/a":                         common.ErrorCodeNotFound,
		"@":                           common.ErrorCodeNotFound,
		"@Music/a":                    common.ErrorCodeNotFound,
		"@../a":                       common.ErrorCodeNotFound,
		"@music/../a":                 common.ErrorCodePathEscapesSandbox,
		"@music//etc/passwd":          common.ErrorCodePathEscapesSandbox,
		"@music/a\x00b":               common.ErrorCodePathEscapesSandbox,
		"@music":                      common.ErrorCodeInvalidPath,
		"@music/":                     common.ErrorCodeInvalidPath,
		"@music/link":                 common.ErrorCodeSymlinkNotAllowed,
		music + "2/a":                 common.ErrorCodePathEscapesSandbox,
		music + "/../a":               common.ErrorCodePathEscapesSandbox,
		filepath.Join(music, "link"):  common.ErrorCodeSymlinkNotAllowed,
		filepath.Dir(music) + "/none": common.ErrorCodePathEscapesSandbox,
	} {
		_, _, err := p.OpenSource(path)
		if err == nil {
			t.Errorf("%q was opened", path)
		}
		wantCode(t, err, want)
	}
}

func TestInTheInnerOfTwoFoldersTheInnerDecides(t *testing.T) {
	outer := t.TempDir()
	inner := filepath.Join(outer, "drafts")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(outer, "foot"), Options{Mask: 0o755, Grants: []Grant{
		{Name: "all", Path: outer, Access: common.AccessRead},
		{Name: "drafts", Path: inner, Access: common.AccessEdit},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	p := project(t, s, "acme", "proj")
	for path, want := range map[string]string{
		filepath.Join(inner, "a"):      "@drafts/a",
		filepath.Join(p.Folder(), "a"): "a",
	} {
		target, err := p.Stage(path, one, rootfs.StageOptions{})
		if err != nil || target.Path != want {
			t.Fatalf("%s: %+v, %v", path, target, err)
		}
		if err := target.Staging.Discard(); err != nil {
			t.Error(err)
		}
		target.Release()
	}
	_, err = p.Stage(filepath.Join(outer, "a"), one, rootfs.StageOptions{})
	wantCode(t, err, common.ErrorCodeAccessDenied)
}

func TestAFileOfTheProjectWhoseNameBeginsWithAtIsToldSoThatItIsFoundAgain(t *testing.T) {
	p, _, _ := granting(t, "")
	target, err := p.Stage("./@music/a", one, rootfs.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Staging.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	target.Release()
	if target.Path != "./@music/a" {
		t.Errorf("told as %q", target.Path)
	}
	source, told, err := p.OpenSource(target.Path)
	if err != nil || told != "./@music/a" {
		t.Fatalf("%q, %v", told, err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
}

func TestGitIsProtectedInGrantedFoldersTooUnlessItIsAllowed(t *testing.T) {
	p, _, _ := granting(t, "")
	_, err := p.Stage("@work/.git/config", one, rootfs.StageOptions{})
	wantCode(t, err, common.ErrorCodePathProtected)

	s, err := Open(t.TempDir(), Options{Mask: 0o755, AllowGitWrites: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	write(t, project(t, s, "acme", "proj"), ".git/config", "x")
}

func TestAReadOnlyGrantIsNotSweptAndAWritableOneIs(t *testing.T) {
	music, work := t.TempDir(), t.TempDir()
	name := ".vance-part-" + one.String()
	kept, swept := put(t, music, name, "half"), put(t, work, name, "half")
	s, err := Open(t.TempDir(), Options{Grants: []Grant{
		{Name: "music", Path: music, Access: common.AccessRead}, {Name: "work", Path: work, Access: common.AccessEdit},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.grants {
		<-f.swept
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(swept); !os.IsNotExist(err) {
		t.Errorf("the orphan is still there: %v", err)
	}
}

package rootfs

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/hazardtest"
)

// outcome is OK or the error code, as the corpora say it.
func outcome(err error) string {
	if err == nil {
		return hazardtest.OK
	}
	return string(fault.CodeOf(err))
}

func TestEveryHostileNameIsCleanedOrRefusedAsTheCorpusSays(t *testing.T) {
	for _, n := range hazardtest.Names() {
		got, err := cleanFile(n.Value, nameRules{})
		if outcome(err) != n.Unix {
			t.Errorf("Unix: %.40q (%s): %v, want %s", n.Value, n.Why, err, n.Unix)
		}
		if err == nil && got.String() != n.Value {
			t.Errorf("Unix: %.40q became %q", n.Value, got)
		}
		if _, err := cleanFile(n.Value, nameRules{windows: true, utf16: true}); outcome(err) != n.Windows {
			t.Errorf("Windows: %.40q (%s): %v, want %s", n.Value, n.Why, err, n.Windows)
		}
	}
}

func TestEveryPathFormIsCleanedOrRefusedAsTheCorpusSays(t *testing.T) {
	for _, p := range hazardtest.PathForms() {
		got, err := cleanFile(p.Value, nameRules{})
		if outcome(err) != p.Unix {
			t.Errorf("Unix: %.40q (%s): %v, want %s", p.Value, p.Why, err, p.Unix)
		}
		if err == nil && got.String() != p.Cleaned {
			t.Errorf("Unix: %.40q became %q, want %q", p.Value, got, p.Cleaned)
		}
		if _, err := cleanFile(p.Value, nameRules{windows: true, utf16: true}); outcome(err) != p.Windows {
			t.Errorf("Windows: %.40q (%s): %v, want %s", p.Value, p.Why, err, p.Windows)
		}
	}
}

func TestABackslashSeparatesOnWindowsAlone(t *testing.T) {
	got, err := cleanFile(`a\..\b\c`, nameRules{windows: true})
	if err != nil || got.String() != "b/c" {
		t.Errorf("Windows: %q, %v", got, err)
	}
	got, err = cleanFile(`a\..\b\c`, nameRules{})
	if err != nil || got.String() != `a\..\b\c` {
		t.Errorf("Unix: %q, %v", got, err)
	}
}

func TestAnErrorOfAPathHasItsFixedTextAndNoRawControls(t *testing.T) {
	for _, test := range []struct{ path, text string }{
		{"../x", "path escapes project sandbox"},
		{"/x", "path escapes project sandbox: the path is absolute"},
		{"", "invalid path: the path is empty"},
		{"a/", `invalid path: a file's path must not end in "/"`},
		{".vance-\x1b[2J", `invalid path: ".vance-\x1b[2J": names that begin with ".vance-" are reserved`},
	} {
		_, err := CleanPath(test.path)
		if err == nil || err.Error() != test.text {
			t.Errorf("%q: %v, want %s", test.path, err, test.text)
		}
	}
	_, err := cleanFile("trail. ", nameRules{windows: true})
	if want := `" " at byte 6 of "trail. " cannot end a name`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error does not say rune and place: %v", err)
	}
}

func TestAFolderMayBeTheRootAndEndInASlash(t *testing.T) {
	for in, want := range map[string]string{"": "", ".": "", "./": "", "a/": "a", "a/..": "", "a/b/.": "a/b"} {
		got, err := CleanDir(in)
		if err != nil || got.String() != want {
			t.Errorf("CleanDir(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"..", "/", "a/../..", "x\x00"} {
		if _, err := CleanDir(in); fault.CodeOf(err) != common.ErrorCodePathEscapesSandbox {
			t.Errorf("CleanDir(%q): %v", in, err)
		}
	}
}

func TestAPathIsTakenApartAndPutTogether(t *testing.T) {
	p := mustPath(t, "a/b/c")
	if p.Base() != "c" || p.Dir().String() != "a/b" || p.Dir().Dir().Dir() != (Path{}) {
		t.Errorf("parts of %s: %s, %s", p, p.Base(), p.Dir())
	}
	if got, err := p.Join("../d"); err != nil || got.String() != "a/b/d" {
		t.Errorf("Join: %q, %v", got, err)
	}
	if got, err := (Path{}).Join("d"); err != nil || got.String() != "d" {
		t.Errorf("Join of the root: %q, %v", got, err)
	}
	if _, err := p.Join("../../../.."); fault.CodeOf(err) != common.ErrorCodePathEscapesSandbox {
		t.Errorf("Join out of the root: %v", err)
	}
}

func TestAnIDIsOneHarmlessSegment(t *testing.T) {
	for _, good := range []string{"a", "acme", "proj-research", "A_b.9", "...", strings.Repeat("x", 64)} {
		if err := CheckSegment("tenant", good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "a/b", `a\b`, "a b", "é", "a\x00", "a\n", strings.Repeat("x", 65), ".vance-part", ".VANCE-x", "~", "a:b"} {
		if err := CheckSegment("tenant", bad); fault.CodeOf(err) != common.ErrorCodeInvalidPath || !strings.Contains(err.Error(), "tenant") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestModesAreOctalHoweverWritten(t *testing.T) {
	for in, want := range map[string]fs.FileMode{"755": 0o755, "0755": 0o755, "0o755": 0o755, "0": 0, "4755": 0o755, "07777": 0o777, "0600": 0o600} {
		got, err := ParseMode(in)
		if err != nil || got != want {
			t.Errorf("ParseMode(%q) = %o, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "0o", "rwx", "0x1ff", "888", "-1", "0o0o7", "17777", "0000644 ", "1_0"} {
		if got, err := ParseMode(in); fault.CodeOf(err) != common.ErrorCodeInvalidRequest {
			t.Errorf("ParseMode(%q) = %o, %v", in, got, err)
		}
	}
	if got := FormatMode(0o644); got != "0644" {
		t.Errorf("FormatMode = %s", got)
	}
	if got := FormatMode(0); got != "0000" {
		t.Errorf("FormatMode = %s", got)
	}
}

func TestACopyIsNamedByTheRule(t *testing.T) {
	for _, test := range []struct {
		name string
		n    int
		want string
	}{
		{"a.txt", 0, "a.txt"},
		{"a.txt", 1, "a-1.txt"},
		{"a-1.txt", 1, "a-1-1.txt"},
		{"archive.tar.gz", 1, "archive-1.tar.gz"},
		{"ARCHIVE.TAR.GZ", 2, "ARCHIVE-2.TAR.GZ"},
		{"a.b.tar.zst", 9999, "a.b-9999.tar.zst"},
		{"x.tar.lz4", 1, "x-1.tar.lz4"}, {"x.tar.bz2", 1, "x-1.tar.bz2"}, {"x.tar.xz", 1, "x-1.tar.xz"},
		{".tar.gz", 1, ".tar-1.gz"},
		{".env", 1, ".env-1"},
		{".env.local", 1, ".env-1.local"},
		{"Makefile", 1, "Makefile-1"},
		{"name.", 1, "name.-1"},
		{"v1.2.3", 1, "v1.2-1.3"},
		{strings.Repeat("a", 255), 12, strings.Repeat("a", 252) + "-12"},
		{strings.Repeat("€", 83) + ".txt", 1, strings.Repeat("€", 83) + "-1.txt"},
		{strings.Repeat("€", 83) + ".jpeg", 10, strings.Repeat("€", 82) + "-10.jpeg"},
		{"a." + strings.Repeat("x", 253), 1, "a." + strings.Repeat("x", 251) + "-1"},
	} {
		got := copyName(test.name, test.n)
		if got != test.want || len(got) > 255 {
			t.Errorf("copy %d of %.40q is %q (%d bytes), want %q", test.n, test.name, got, len(got), test.want)
		}
	}
}

func FuzzCleanPath(f *testing.F) {
	for _, p := range hazardtest.PathForms() {
		f.Add(p.Value)
	}
	for _, n := range hazardtest.Names() {
		f.Add("a/" + n.Value + "/../b")
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, sys := range []nameRules{{}, {utf16: true}, {windows: true, utf16: true}} {
			got, err := cleanFile(in, sys)
			if err != nil {
				if code := fault.CodeOf(err); code != common.ErrorCodePathEscapesSandbox && code != common.ErrorCodeInvalidPath {
					t.Fatalf("%q: code %s", in, code)
				}
				continue
			}
			if !fs.ValidPath(got.String()) || got.IsRoot() || !filepath.IsLocal(got.String()) {
				t.Fatalf("%q became %q", in, got)
			}
			if again, err := cleanFile(got.String(), sys); err != nil || again != got {
				t.Fatalf("%q became %q, and that %q, %v", in, got, again, err)
			}
			if want := path.Clean(in); !sys.windows && got.String() != want {
				t.Fatalf("%q became %q, want %q", in, got, want)
			}
		}
	})
}

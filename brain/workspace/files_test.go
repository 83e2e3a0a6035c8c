package workspace

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/rootfs"
)

func TestFilesAreListedPageByPageInOneOrder(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	want := []string{"a", "a/b", "a/b/c", "a/d", "a-1", "b", "z"}
	for _, file := range []string{"a/b/c", "a/d", "a-1", "b", "z"} {
		write(t, w.path(acme, "d", file), file)
	}
	write(t, w.path(acme, "d", ".vance-part-00000000-0000-7000-8000-000000000001"), "staged")
	if err := os.Symlink("/etc", w.path(acme, "d", "link")); err != nil {
		t.Fatal(err)
	}
	want = slices.Insert(want, 6, "link")
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		cursor := ""
		for pages := 0; ; pages++ {
			if pages > len(want) {
				t.Fatalf("pages of %d have no end: %v", limit, got)
			}
			page, err := w.ListFiles(t.Context(), acme, "d", ListRequest{Recursive: true, Cursor: cursor, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Entries {
				got = append(got, e.Path)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", limit, got, want)
		}
	}
	flat, err := w.ListFiles(t.Context(), acme, "d", ListRequest{Path: "a"})
	if err != nil || len(flat.Entries) != 2 || flat.Entries[0].Kind != common.EntryKindDirectory || flat.Entries[1].Size != 3 {
		t.Errorf("%+v, %v", flat, err)
	}
	all, err := w.ListFiles(t.Context(), acme, "d", ListRequest{})
	if err != nil || all.Entries[3].Path != "link" || all.Entries[3].Kind != common.EntryKindSymlink {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAListingNeverLeavesTheRootDir(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	if err := os.Symlink("/etc", w.path(acme, "d", "link")); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]common.ErrorCode{
		"..": common.ErrorCodePathEscapesSandbox, "/etc": common.ErrorCodePathEscapesSandbox,
		"link": common.ErrorCodeSymlinkNotAllowed, "none": common.ErrorCodeNotFound,
	} {
		_, err := w.ListFiles(t.Context(), acme, "d", ListRequest{Path: path})
		wantCode(t, err, code)
		_, err = w.ReadFile(t.Context(), acme, "d", path+"/passwd", 0, 0)
		wantCode(t, err, code)
	}
	_, err := w.ListFiles(t.Context(), acme, "d", ListRequest{Cursor: "!"})
	wantCode(t, err, common.ErrorCodeInvalidRequest)
}

func TestAPartOfAFileIsRead(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	write(t, w.path(acme, "d", "f"), "0123456789")
	for _, c := range []struct {
		offset int64
		length int
		want   string
		eof    bool
	}{{0, 0, "0123456789", true}, {0, 4, "0123", false}, {4, 6, "456789", true}, {8, 100, "89", true}, {10, 1, "", true}, {99, 1, "", true}} {
		part, err := w.ReadFile(t.Context(), acme, "d", "f", c.offset, c.length)
		if err != nil || string(part.Bytes) != c.want || part.EOF != c.eof || part.Size != 10 || part.Offset != c.offset {
			t.Errorf("from %d, %d bytes: %+v, %v", c.offset, c.length, part, err)
		}
	}
}

func TestTextEndsWithAWholeCharacter(t *testing.T) {
	for name, c := range map[string]struct {
		part Part
		want string
		ok   bool
	}{
		"ASCII":                        {Part{Bytes: []byte("abc")}, "abc", true},
		"a whole character at the end": {Part{Bytes: []byte("aé")}, "aé", true},
		"half of one":                  {Part{Bytes: []byte("aé")[:2]}, "a", true},
		"three quarters of one":        {Part{Bytes: []byte("a😀")[:4]}, "a", true},
		"half of one in the file":      {Part{Bytes: []byte("aé")[:2], EOF: true}, "", false},
		"a half at the beginning":      {Part{Bytes: []byte("éa")[1:]}, "", false},
		"nothing but a half":           {Part{Bytes: []byte("é")[:1]}, "", false},
		"no text":                      {Part{Bytes: []byte{0xff, 'a'}}, "", false},
		"nothing":                      {Part{EOF: true}, "", true},
	} {
		got, ok := c.part.Text()
		if ok != c.ok || ok && string(got.Bytes) != c.want {
			t.Errorf("%s: %q, %v", name, got.Bytes, ok)
		}
	}
}

func TestAFileIsWrittenWhole(t *testing.T) {
	w := newWorld(t)
	w.create(t, acme, "d")
	done, err := w.WriteFile(t.Context(), acme, "d", "a/b.txt", []byte("hello"), "")
	if err != nil || done.Path != "a/b.txt" || done.BytesWritten != 5 || !strings.HasPrefix(done.Hash, "sha256:2cf24dba") {
		t.Fatalf("%+v, %v", done, err)
	}
	_, err = w.WriteFile(t.Context(), acme, "d", "a/b.txt", []byte("other"), common.OnExistingError)
	wantCode(t, err, common.ErrorCodeAlreadyExists)
	if done, err = w.WriteFile(t.Context(), acme, "d", "a/b.txt", []byte("other"), common.OnExistingKeepBoth); err != nil || done.Path != "a/b-1.txt" {
		t.Errorf("%+v, %v", done, err)
	}
	d := w.use(t, acme, "d")
	held, err := rootfsHold(d, "a/b.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.WriteFile(t.Context(), acme, "d", "a/b.txt", []byte("x"), "")
	wantCode(t, err, common.ErrorCodeTargetBusy)
	held()
	if got, err := os.ReadFile(w.path(acme, "d", "a/b.txt")); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

func rootfsHold(d *Dir, path string) (func(), error) {
	at, err := rootfs.CleanPath(path)
	if err != nil {
		return nil, err
	}
	return d.Holds.Hold(at)
}

package hub

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// granting connects a Foot of that level with a folder to read and one to edit.
func (w *world) granting(t *testing.T, access common.Access) *hubtest.Foot {
	t.Helper()
	f := hubtest.DialSilent(t, w.url, "acme", "laptop")
	hello := hubtest.Hello()
	hello.Access = access
	hello.Grants = []common.Grant{{Name: "music", Access: common.AccessRead}, {Name: "work", Access: common.AccessEdit}}
	f.Send(hello)
	f.Welcome = hubtest.Next[*frames.Welcome](f)
	return f
}

func TestAFootTellsWhatMayBeDoneWithIt(t *testing.T) {
	w := newWorld(t)
	w.granting(t, common.AccessRead)
	feet := w.Feet(acme)
	want := []common.Grant{{Name: "music", Access: common.AccessRead}, {Name: "work", Access: common.AccessEdit}}
	if len(feet) != 1 || feet[0].Access != common.AccessRead || cmp.Diff(want, feet[0].Grants) != "" {
		t.Errorf("%+v", feet)
	}
}

func TestWhatAFootDoesNotAllowIsRefusedBeforeAnyFrame(t *testing.T) {
	for name, c := range map[string]struct {
		access    common.Access
		localPath string
		code      common.ErrorCode
	}{
		"a Foot that may be read only":            {common.AccessRead, "a", common.ErrorCodeAccessDenied},
		"its writable grant":                      {common.AccessRead, "@work/a", common.ErrorCodeAccessDenied},
		"an absolute path there":                  {common.AccessRead, "/home/me/a", common.ErrorCodeAccessDenied},
		"a grant to read":                         {common.AccessEdit, "@music/a", common.ErrorCodeAccessDenied},
		"no such grant":                           {common.AccessEdit, "@films/a", common.ErrorCodeNotFound},
		"no such grant of one that is read":       {common.AccessRead, "@films/a", common.ErrorCodeNotFound},
		"a grant's name alone":                    {common.AccessEdit, "@", common.ErrorCodeNotFound},
		"a grant by another case":                 {common.AccessEdit, "@Work/a", common.ErrorCodeNotFound},
		"a name that would rewrite somebody's ui": {common.AccessEdit, "@\x1b[2J/a", common.ErrorCodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			dir := w.dir(t, "out")
			if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			f := w.granting(t, c.access)
			result, err := w.Download(t.Context(), acme, Request{LocalPath: c.localPath, DirName: "out", RemotePath: "f"})
			if fault.CodeOf(err) != c.code || result.ID != uuid.Nil || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%v, %q", result, err)
			}
			f.Quiet()
			if told := w.Transfers(acme); len(told) != 0 {
				t.Errorf("it is told: %+v", told)
			}
		})
	}
}

func TestAnUploadFromAnUnknownGrantIsNotFoundBeforeAnyFrame(t *testing.T) {
	w := newWorld(t)
	w.dir(t, "in")
	f := w.granting(t, common.AccessEdit)
	_, err := w.Upload(t.Context(), acme, Request{LocalPath: "@films/a", DirName: "in", RemotePath: "a"})
	if fault.CodeOf(err) != common.ErrorCodeNotFound || !strings.Contains(err.Error(), "@music, @work") {
		t.Errorf("got %v, want the grants there are", err)
	}
	f.Quiet()
}

func TestAFootThatMayBeReadOnlyIsRead(t *testing.T) {
	w := newWorld(t)
	w.dir(t, "in")
	f := w.granting(t, common.AccessRead)
	for _, path := range []string{"a", "@music/a", "@work/a", "/home/me/a"} {
		done := start(t.Context(), w.Upload, Request{LocalPath: path, DirName: "in", RemotePath: "a"})
		f.Upload([]byte("x"))
		if o := await(t, done); o.err != nil {
			t.Errorf("%s: %v", path, o.err)
		}
	}
}

func TestAGrantToEditIsWritten(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "out")
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := w.granting(t, common.AccessEdit)
	done := start(t.Context(), w.Download, Request{LocalPath: "@work/sub/a", DirName: "out", RemotePath: "f"})
	if init, _ := f.Download(); init.Target != "@work/sub/a" {
		t.Errorf("the target is %q", init.Target)
	}
	if o := await(t, done); o.err != nil || o.Path != "@work/sub/a" {
		t.Errorf("%+v", o)
	}
}

// followers plays the tokens: each test ends one.
type followers struct {
	mu   sync.Mutex
	ends map[string][]func(reason string)
}

func (f *followers) follow(tokenID string, end func(reason string)) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ends == nil {
		f.ends = map[string][]func(string){}
	}
	f.ends[tokenID] = append(f.ends[tokenID], end)
	return func() {}
}

func (f *followers) end(tokenID, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, end := range f.ends[tokenID] {
		go end(reason)
	}
}

func TestWithItsTokenAFootIsClosedAndItsTransfersAreDenied(t *testing.T) {
	for _, reason := range []string{"token revoked", "token expired"} {
		t.Run(reason, func(t *testing.T) {
			var tokens followers
			w := newWorld(t, func(c *Config) { c.Follow = tokens.follow; c.MaxConcurrent = 1 })
			dir := w.dir(t, "in")
			if err := os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			f, other := w.foot(t, "laptop"), w.foot(t, "desktop")
			r := upload("in", "a")
			r.Foot = "laptop"
			running := start(t.Context(), w.Upload, r)
			f.Offer(hubtest.Next[*frames.ClientFileUploadRequest](f), []byte("new"))
			if a := hubtest.Next[*frames.TransferInitResponse](f); !a.Ok {
				t.Fatal(*a.Error)
			}
			r.RemotePath = "b"
			waiting := start(context.Background(), w.Upload, r)
			w.awaitState(t, common.TransferStateQueued)

			tokens.end("1", reason)
			if code, text := f.Closed(); code != 1008 || text != reason {
				t.Errorf("closed with %d %q", code, text)
			}
			await(t, running).wantCode(t, common.ErrorCodeAccessDenied)
			await(t, waiting).wantCode(t, common.ErrorCodeAccessDenied)
			wantListing(t, dir, "a")
			if text, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(text) != "old" {
				t.Errorf("%q, %v", text, err)
			}
			done := start(t.Context(), w.Upload, Request{Foot: "desktop", LocalPath: "x", DirName: "in", RemotePath: "c"})
			other.Upload([]byte("unharmed"))
			if o := await(t, done); o.err != nil {
				t.Error(o.err)
			}
		})
	}
}

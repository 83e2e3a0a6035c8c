package toolset

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/tools"
)

func TestAFileIsWrittenListedReadAndGone(t *testing.T) {
	w := newWorld(t)
	w.call(t, "workspace_create_ephemeral_dir", `{"dirName":"d","label":"for May","metadata":["a","b"],"scope":"s1"}`)
	o := w.call(t, "workspace_write_file", `{"dirName":"d","path":"n/a.txt","content":"héllo"}`)
	if !o.Ok || o.Path != "n/a.txt" || *o.BytesWritten != 6 {
		t.Fatal(o.raw)
	}
	var dirs tools.WorkspaceListDirsOutput
	decode(t, w.call(t, "workspace_list_dirs", `{}`), &dirs)
	if len(dirs.Dirs) != 1 || *dirs.Dirs[0].Label != "for May" || dirs.Dirs[0].Bytes != 6 || dirs.Dirs[0].Creator != "named:a1:s1" ||
		!dirs.Dirs[0].DeleteOnCreatorClose || strings.Join(dirs.Dirs[0].Metadata, "") != "ab" {
		t.Errorf("%+v", dirs.Dirs)
	}
	var files tools.WorkspaceListFilesOutput
	decode(t, w.call(t, "workspace_list_files", `{"dirName":"d","recursive":true,"limit":1}`), &files)
	if len(files.Entries) != 1 || files.Entries[0].Path != "n" || files.NextCursor == nil {
		t.Errorf("%+v", files)
	}
	decode(t, w.call(t, "workspace_list_files", `{"dirName":"d","recursive":true,"cursor":"`+*files.NextCursor+`"}`), &files)
	if len(files.Entries) != 1 || files.Entries[0].Path != "n/a.txt" || files.NextCursor != nil {
		t.Errorf("%+v", files)
	}
	var part tools.WorkspaceReadFileOutput
	decode(t, w.call(t, "workspace_read_file", `{"dirName":"d","path":"n/a.txt","length":2}`), &part)
	if *part.Content != "h" || *part.EOF || *part.Size != 6 { // never half a character
		t.Errorf("%+v", part)
	}
	decode(t, w.call(t, "workspace_read_file", `{"dirName":"d","path":"n/a.txt","offset":1,"encoding":"base64"}`), &part)
	if *part.Content != "w6lsbG8=" || !*part.EOF {
		t.Errorf("%+v", part)
	}
	w.call(t, "workspace_read_file", `{"dirName":"d","path":"n/a.txt","offset":2}`).wantCode(t, common.ErrorCodeUnsupported)
	var closed tools.WorkspaceCloseScopeOutput
	decode(t, w.call(t, "workspace_close_scope", `{"scope":"s1"}`), &closed)
	if len(closed.Closed) != 1 || closed.Closed[0] != "d" {
		t.Errorf("%+v", closed)
	}
	if _, err := os.Lstat(w.at("d")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder is there:", err)
	}
	w.call(t, "workspace_close_dir", `{"dirName":"d"}`).wantCode(t, common.ErrorCodeDirNotFound)
}

func TestBase64IsWrittenAsBytesAndBadBase64IsRefused(t *testing.T) {
	w := newWorld(t)
	o := w.call(t, "workspace_write_file", `{"path":"f","content":"/wA=","encoding":"base64"}`)
	if !o.Ok || !strings.HasPrefix(o.DirName, "temp-") {
		t.Fatal(o.raw)
	}
	if got, err := os.ReadFile(w.at(o.DirName, "f")); err != nil || string(got) != "\xff\x00" {
		t.Errorf("%q, %v", got, err)
	}
	again := w.call(t, "workspace_write_file", `{"path":"g","content":""}`)
	if again.DirName != o.DirName {
		t.Errorf("the second file went into %s", again.DirName)
	}
	w.call(t, "workspace_read_file", `{"dirName":"`+o.DirName+`","path":"f"}`).wantCode(t, common.ErrorCodeUnsupported)
	for _, bad := range []string{"/wA", "/wB=", "/w A=", "!"} {
		w.call(t, "workspace_write_file", `{"path":"f","content":"`+bad+`","encoding":"base64"}`).wantCode(t, common.ErrorCodeInvalidRequest)
	}
}

func TestASuspendedProjectAnswersItsListOfRootDirsAlone(t *testing.T) {
	w := newWorld(t)
	w.call(t, "workspace_create_ephemeral_dir", `{"dirName":"d"}`)
	w.suspend(t)
	for name := range tools.Schemas {
		if name == "workspace_list_dirs" {
			continue
		}
		o := w.call(t, name, `{}`)
		o.wantCode(t, common.ErrorCodeProjectSuspended)
	}
	var dirs tools.WorkspaceListDirsOutput
	decode(t, w.call(t, "workspace_list_dirs", `{}`), &dirs)
	if len(dirs.Dirs) != 1 {
		t.Errorf("%+v", dirs)
	}
}

// suspend has the world's workspace suspend the project at once.
func (w *world) suspend(t *testing.T) {
	t.Helper()
	if err := workspace.SetProject(t.Context(), w.store, acme, workspace.Suspended); err != nil {
		t.Fatal(err)
	}
	if err := w.Workspace.Obey(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, o output, into any) {
	t.Helper()
	if !o.Ok {
		t.Fatal(o.raw)
	}
	if err := json.Unmarshal([]byte(o.raw), into); err != nil {
		t.Fatal(err)
	}
}

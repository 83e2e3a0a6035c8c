package vectors_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/vancetope/transfer/schema"
	given "github.com/vancetope/transfer/schema/vectors"
	"github.com/vancetope/transfer/tools/framegen/spec"
	"github.com/vancetope/transfer/tools/framegen/vectors"
)

var loadModel = sync.OnceValues(func() (*spec.Model, error) { return spec.Load(schema.Files()) })

func model(t *testing.T) *spec.Model {
	t.Helper()
	m, err := loadModel()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheVectorsCoverEveryRuleOfEverySchema(t *testing.T) {
	if err := vectors.Lint(model(t), given.Files()); err != nil {
		t.Error(err)
	}
}

// folder copies the vectors, so that a test can spoil them.
func folder(t *testing.T) fstest.MapFS {
	t.Helper()
	copied := fstest.MapFS{}
	err := fs.WalkDir(given.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(given.Files(), name)
		copied[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// TestTheLintNamesFileAndRemedy spoils the vectors in every way that the lint
// knows.
func TestTheLintNamesFileAndRemedy(t *testing.T) {
	const chunk, list = "frames/transfer_chunk.json", "tools/client_list.input.json"
	replace := func(file, from, to string) func(*testing.T, fstest.MapFS) {
		return func(t *testing.T, f fstest.MapFS) {
			text := string(f[file].Data)
			if !strings.Contains(text, from) {
				t.Fatalf("%s has no %q to replace", file, from)
			}
			f[file] = &fstest.MapFile{Data: []byte(strings.Replace(text, from, to, 1))}
		}
	}
	withoutRule := func(file, rule string) func(*testing.T, fstest.MapFS) {
		return func(_ *testing.T, f fstest.MapFS) {
			var kept []string
			for _, line := range strings.Split(string(f[file].Data), "\n") {
				if !strings.Contains(line, `"rule": "`+rule+`"`) {
					kept = append(kept, line)
				}
			}
			text := strings.Replace(strings.Join(kept, "\n"), "},\n  ]\n}", "}\n  ]\n}", 1)
			f[file] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	for name, test := range map[string]struct {
		spoil func(*testing.T, fstest.MapFS)
		wants []string
	}{
		"a missing file":         {func(_ *testing.T, f fstest.MapFS) { delete(f, chunk) }, []string{chunk, "is missing", "schema/frames/transfer_chunk.schema.json", "make vectors"}},
		"no general file":        {func(_ *testing.T, f fstest.MapFS) { delete(f, given.General) }, []string{given.General, "is missing", "write messages"}},
		"a surplus file":         {func(_ *testing.T, f fstest.MapFS) { f["frames/old.json"] = f[chunk] }, []string{"frames/old.json", "belongs to no frame", "remove it"}},
		"an unknown member":      {replace(chunk, `"place":`, `"plaec":`), []string{chunk, `"plaec"`, "README.md"}},
		"a double member":        {replace(chunk, `"to":`, `"schema": "x", "to":`), []string{chunk, "duplicate"}},
		"no JSON":                {replace(chunk, `[`, `(`), []string{chunk}},
		"another schema":         {replace(chunk, `"schema": "frames/transfer_chunk`, `"schema": "frames/transfer_init`), []string{chunk, "schema is", `write "frames/transfer_chunk.schema.json"`}},
		"no schema":              {replace(chunk, `"schema": "frames/transfer_chunk.schema.json",`, ``), []string{chunk, "schema is", "name the schema file"}},
		"a role too few":         {replace(chunk, `["brain", "foot"]`, `["foot"]`), []string{chunk, "to is", "x-from"}},
		"a role that is none":    {replace(chunk, `["brain", "foot"]`, `["brian", "foot"]`), []string{chunk, `"brian"`, "write brain, foot or both"}},
		"no name":                {replace(chunk, `"name": "only what is required"`, `"name": ""`), []string{chunk, "no name"}},
		"one name twice":         {replace(chunk, `"name": "seq is null"`, `"name": "only what is required"`), []string{chunk, "two vectors", "another name"}},
		"no message":             {replace(chunk, `"text": "`, `"name": "`), []string{chunk}},
		"message and text":       {replace(chunk, `"message":`, `"text": "", "message":`), []string{chunk, "not exactly one"}},
		"a valid one with rule":  {replace(chunk, `"name": "only what is required",`, `"name": "only what is required", "rule": "type",`), []string{chunk, "move it to invalid"}},
		"no place":               {replace(chunk, `"place": "/transferId",`, ``), []string{chunk, "has no place", "JSON pointer"}},
		"a place in words":       {replace(chunk, `"place": "/transferId"`, `"place": "transferId"`), []string{chunk, "no JSON pointer", "begin it with /"}},
		"a rule that is none":    {replace(chunk, `"rule": "format"`, `"rule": "formatted"`), []string{chunk, `rule "formatted"`, "write one of"}},
		"no code":                {replace(chunk, `"code": "malformed_chunk"`, `"code": ""`), []string{chunk, "has no code"}},
		"a code that is none":    {replace(chunk, `"code": "malformed_chunk"`, `"code": "bad_chunk"`), []string{chunk, `"bad_chunk" is no error code`, "ErrorCode"}},
		"a feature that is none": {replace(chunk, `"name": "only what is required",`, `"name": "only what is required", "features": ["warp"],`), []string{chunk, `"warp"`, "correct the name"}},
		"a rule unbroken":        {withoutRule(chunk, "anyOf"), []string{chunk, `no invalid message breaks "anyOf" at /bytes`, "make vectors"}},
		"a closed one untried":   {withoutRule(list, "unknown"), []string{list, `"unknown"`, "make vectors"}},
		"a member unused":        {replace("tools/client_list.output.json", `"feet": [{"name": "laptop", "os": "linux"`, `"feet": [{"name": "laptop", "so": "linux"`), []string{"client_list.output.json", "no valid message has /feet/0/os"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := folder(t)
			test.spoil(t, f)
			err := vectors.Lint(model(t), f)
			if err == nil {
				t.Fatal("the lint passes it over")
			}
			for _, line := range strings.Split(err.Error(), "\n") {
				found := strings.HasPrefix(line, "schema/vectors/")
				for _, want := range test.wants {
					found = found && strings.Contains(line, want)
				}
				if found {
					return
				}
			}
			t.Errorf("want one line with %q, got:\n%v", test.wants, err)
		})
	}
}

// TestADraftSatisfiesTheLint writes all files anew but the general one, and
// completes a file that lacks a rule without touching the rest of it.
func TestADraftSatisfiesTheLint(t *testing.T) {
	root := t.TempDir()
	general, err := fs.ReadFile(given.Files(), given.General)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, given.General), general, 0o644); err != nil {
		t.Fatal(err)
	}
	m := model(t)
	written, err := vectors.Draft(m, root, false)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(m.Frames) + 2*len(m.Tools); len(written) != want {
		t.Errorf("%d files were written, want %d", len(written), want)
	}
	if err := vectors.Lint(m, os.DirFS(root)); err != nil {
		t.Errorf("the drafts do not satisfy the lint: %v", err)
	}
	name := filepath.Join(root, "frames", "error.json")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	less := strings.Replace(string(whole), `"rule": "enum"`, `"rule": "const"`, 1)
	if err := os.WriteFile(name, []byte(less), 0o644); err != nil {
		t.Fatal(err)
	}
	if written, err = vectors.Draft(m, root, false); err != nil || len(written) != 1 || written[0] != "frames/error.json" {
		t.Errorf("wrote %q, %v, want frames/error.json", written, err)
	}
	completed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(less, "\n") {
		if !strings.Contains(string(completed), strings.TrimSuffix(line, ",")) {
			t.Errorf("the draft changed %s", line)
		}
	}
	if written, err = vectors.Draft(m, root, false); err != nil || len(written) != 0 {
		t.Errorf("wrote %q, %v, though nothing is missing", written, err)
	}
}

func TestRepetitionsAreWrittenOut(t *testing.T) {
	for text, want := range map[string]string{
		"<<ab*3>>": "ababab", "x<<a*0>>y": "xy", `[<<{"a":[1]},*2>>1]`: `[{"a":[1]},{"a":[1]},1]`, "<<a>>": "<<a>>", "<<é*2>><<b*1>>": "ééb", "a*3": "a*3",
	} {
		if got := given.Expand(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

// TestDraftingAgainKeepsWhatIsNoDraft spoils a draft and adds a vector by hand.
func TestDraftingAgainKeepsWhatIsNoDraft(t *testing.T) {
	root, m := t.TempDir(), model(t)
	if _, err := vectors.Draft(m, root, false); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "frames", "error.json")
	drafted, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const byHand = `    {"name": "by hand", "message": {"type": "error"}, "place": "/code", "rule": "required", "code": "invalid_frame"}`
	spoilt := strings.Replace(string(drafted), `"rule": "enum"`, `"rule": "const"`, 1)
	spoilt = strings.Replace(spoilt, "\n  ]\n}", ",\n"+byHand+"\n  ]\n}", 1)
	if err := os.WriteFile(name, []byte(spoilt), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := vectors.Draft(m, root, true); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(string(drafted), "\n  ]\n}", ",\n"+byHand+"\n  ]\n}", 1); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

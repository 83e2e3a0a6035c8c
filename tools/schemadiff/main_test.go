package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNothingBreaksPeersOfTheBaseline is the check of this project's own schemas.
func TestNothingBreaksPeersOfTheBaseline(t *testing.T) {
	if err := report(new(bytes.Buffer), loadModel(t), "../../schema"); err != nil {
		t.Error(err)
	}
}

// kindsInSource reads the constants of kinds.go, so that none is forgotten.
func kindsInSource(t *testing.T) []Kind {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "kinds.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, isKind := spec.Type.(*ast.Ident); isKind && name.Name == "Kind" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, Kind(value))
		}
		return true
	})
	if len(kinds) < 30 {
		t.Fatalf("found only %d kinds", len(kinds))
	}
	return kinds
}

func TestABundleHasEveryFrameToolAndRouteAndNothingThatNobodyNotices(t *testing.T) {
	m := loadModel(t)
	whole, err := bundle(m)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(whole.Get("frames").Keys), len(m.Frames); got != want {
		t.Errorf("%d frames, want %d", got, want)
	}
	if got, want := len(whole.Get("tools").Keys), len(m.Tools); got != want {
		t.Errorf("%d tools, want %d", got, want)
	}
	if got, want := len(whole.Get("operations").Keys), len(m.API.Operations); got != want {
		t.Errorf("%d operations, want %d", got, want)
	}
	text := string(whole.AppendJSON(nil))
	for _, absent := range []string{`"title"`, `"description":"`, `"examples"`, `"$id"`, "common.schema.json"} {
		if strings.Contains(text, absent) {
			t.Errorf("the bundle holds %s", absent)
		}
	}
	for _, part := range strings.Split(text, `"$ref":"#/$defs/`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		if whole.Get("$defs").Get(name) == nil {
			t.Errorf("the bundle refers to %s, which it lacks", name)
		}
	}
	if got := lines(compare(whole, whole)); got != "" {
		t.Errorf("the bundle differs from itself: %s", got)
	}
}

const aLine = "- `enum-shortened` `/$defs/Way/enum` `down → none`: send up instead."

func TestTheRecordAndTheChangesHaveToMatch(t *testing.T) {
	old, now := edit{`"enum": ["up", "down"]`, `"enum": ["up"]`}.apply(t)
	changes := compare(old, now)
	for what, test := range map[string]struct {
		changes []Change
		record  string
		want    string
	}{
		"a change that is written down":        {changes, current + "\n" + aLine + "\n", ""},
		"a change that is not written down":    {changes, current + "\n", "breaking: `enum-shortened` `/$defs/Way/enum` `down → none`"},
		"an entry that matches nothing":        {nil, current + "\n" + aLine + "\n", "schema/BREAKING.md:2 matches no change"},
		"an entry for another change there":    {changes, current + "\n" + strings.Replace(aLine, "down", "up", 1) + "\n", "schema/BREAKING.md:2 matches no change"},
		"an entry of an older baseline":        {changes, current + "\n\n## In 0.1.0\n" + aLine + "\n", "breaking: `enum-shortened`"},
		"an entry without a word to the peers": {changes, current + "\n" + strings.TrimSuffix(aLine, " send up instead.") + "\n", "schema/BREAKING.md:2: no entry"},
		"an entry of another form":             {changes, current + "\n- Way is shorter\n", "schema/BREAKING.md:2: no entry"},
		"a record without its heading":         {changes, "# Breaking changes\n", "has no heading"},
	} {
		t.Run(what, func(t *testing.T) {
			entries, err := readRecord(test.record)
			got := strings.Join(judge(test.changes, entries), "\n")
			if err != nil {
				got = err.Error()
			}
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// inFolder makes a folder with a baseline that differs from the project's schemas
// in one breaking place, and with a record.
func inFolder(t *testing.T, record string) string {
	t.Helper()
	whole, err := bundle(loadModel(t))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(whole.AppendJSON(nil)), `"enum":["read","edit"]`, `"enum":["read","edit","own"]`, 1)
	folder := t.TempDir()
	for name, content := range map[string]string{baselineFile: text, recordFile: record} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const owned = "- `enum-shortened` `/$defs/Access/enum` `own → none`: use edit.\n"

func TestABaselineIsRefusedWhileAChangeIsNotWrittenDown(t *testing.T) {
	folder := inFolder(t, "# B\n\n"+current+"\n\nNone.\n")
	if err := writeBaseline(new(bytes.Buffer), loadModel(t), folder, "1"); err == nil || !strings.Contains(err.Error(), "`/$defs/Access/enum` `own → none`") {
		t.Errorf("got %v", err)
	}
	if err := report(new(bytes.Buffer), loadModel(t), folder); err == nil {
		t.Error("the report passes it over")
	}
}

func TestANewBaselineKeepsWhatWasWrittenDownUnderItsName(t *testing.T) {
	folder := inFolder(t, "# B\n\n"+current+"\n\n"+owned+"\n## In 0.1.0\n\nolder\n")
	m := loadModel(t)
	var out bytes.Buffer
	if err := report(&out, m, folder); err != nil || !strings.Contains(out.String(), "written down: `enum-shortened`") {
		t.Errorf("report: %v, %s", err, &out)
	}
	if err := writeBaseline(&out, m, folder, ""); err == nil || !strings.Contains(err.Error(), "NAME=") {
		t.Errorf("without a name: %v", err)
	}
	if err := writeBaseline(&out, m, folder, "0.2.0"); err != nil {
		t.Fatal(err)
	}
	record, err := os.ReadFile(filepath.Join(folder, recordFile))
	if err != nil {
		t.Fatal(err)
	}
	if want := "# B\n\n" + current + "\n\nNone.\n\n## In 0.2.0\n\n" + owned + "\n## In 0.1.0\n\nolder\n"; string(record) != want {
		t.Errorf("the record is\n%s\nwant\n%s", record, want)
	}
	out.Reset()
	if err := report(&out, m, folder); err != nil || out.String() != "nothing breaks peers of the baseline\n" {
		t.Errorf("afterwards: %v, %s", err, &out)
	}
}

func TestTheFirstBaselineHasNothingToBeComparedWith(t *testing.T) {
	folder := t.TempDir()
	if err := writeBaseline(new(bytes.Buffer), loadModel(t), folder, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, baselineFile)); err != nil {
		t.Error(err)
	}
}

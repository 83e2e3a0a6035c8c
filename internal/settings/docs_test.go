package settings

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/settings.md anew")

// The table in docs/settings.md is the declarations' own words;
// `go test ./internal/settings -update` writes it.
func TestTheDocumentTellsEverySettingAsItIsDeclared(t *testing.T) {
	const begins, ends = "<!-- settings begin: written by go test ./internal/settings -update -->\n", "<!-- settings end -->\n"
	name := filepath.Join("..", "..", "docs", "settings.md")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(raw), begins)
	table, after, ok2 := strings.Cut(rest, ends)
	if !ok1 || !ok2 {
		t.Fatal("the marks of the table are gone")
	}
	want := documented()
	if table == want {
		return
	}
	if !*update {
		t.Fatalf("the table is not that of the declarations: run go test ./internal/settings -update\n%s", want)
	}
	if err := os.WriteFile(name, []byte(before+begins+want+ends+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// documented is the table as Markdown.
func documented() string {
	var b strings.Builder
	b.WriteString("| setting | default | allowed | what |\n|---|---|---|---|\n")
	for _, s := range Table() {
		about := s.Doc
		if s.Program != both {
			about += fmt.Sprintf(" (%s)", s.Program)
		}
		name := "`" + s.Name + "`"
		if s.Flag != "" {
			name += "<br>`" + s.Flag + "`"
		}
		allowed, _, _ := strings.Cut(strings.ReplaceAll(s.Range(), ";", ","), ",")
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, s.Default, allowed, strings.ReplaceAll(about, "<", `\<`))
	}
	return b.String()
}

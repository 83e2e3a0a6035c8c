package e2etest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vancetope/transfer/internal/settings"
)

// The README's table of settings is the declarations' own words.
func TestTheReadmeTellsEverySettingAsItIsDeclared(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Settings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]bool{}
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `vance.") {
			rows[strings.TrimSpace(line)] = true
		}
	}
	for _, s := range settings.Table() {
		row := settingRow(s)
		if !rows[row] {
			t.Errorf("README.md lacks this row:\n%s", row)
		}
		delete(rows, row)
	}
	for row := range rows {
		t.Errorf("README.md tells of a setting that is not declared so:\n%s", row)
	}
}

func settingRow(s settings.Setting) string {
	name := "`" + s.Name + "`"
	if s.Flag != "" {
		name += " (`" + s.Flag + "`)"
	}
	allowed, _, _ := strings.Cut(strings.ReplaceAll(s.Range(), ";", ","), ",")
	return fmt.Sprintf("| %s | %s | %s | %s |", name, s.Default, allowed, strings.ReplaceAll(s.Doc, "<", `\<`))
}

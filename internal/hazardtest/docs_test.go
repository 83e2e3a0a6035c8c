package hazardtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const project = "../.."

// testNames collects the tests of the whole project.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir(project, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range declared.FindAllSubmatch(text, -1) {
			names[string(match[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestEveryRuleOfTheTableIsHeldByATestThatExists(t *testing.T) {
	text, err := os.ReadFile(project + "/docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	names := testNames(t)
	row := regexp.MustCompile("^\\| .+ \\| `Test\\w+`(, `Test\\w+`)* \\|$")
	rows := 0
	for i, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| ") || line == "| rule | tests |" {
			continue
		}
		rows++
		if !row.MatchString(line) {
			t.Errorf("docs/rules.md:%d: a rule and its tests are wanted: %s", i+1, line)
		}
		for _, match := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(line, -1) {
			if !names[match[1]] {
				t.Errorf("docs/rules.md:%d: there is no test %s", i+1, match[1])
			}
		}
	}
	if rows < 70 {
		t.Errorf("only %d rules were found", rows)
	}
}

func TestEveryHazardOfTheTableIsGuardedByATestThatExists(t *testing.T) {
	text, err := os.ReadFile(project + "/docs/hazards.md")
	if err != nil {
		t.Fatal(err)
	}
	names := testNames(t)
	named := regexp.MustCompile("`(Test\\w+)`")
	rows := 0
	for i, line := range strings.Split(string(text), "\n") {
		for _, match := range named.FindAllStringSubmatch(line, -1) {
			if !names[match[1]] {
				t.Errorf("docs/hazards.md:%d: there is no test %s", i+1, match[1])
			}
		}
		if !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, "| here |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		here := cells[len(cells)-1]
		if !named.MatchString(here) && !strings.HasPrefix(here, "handled: ") && !strings.HasPrefix(here, "not here: ") {
			t.Errorf("docs/hazards.md:%d: neither a test nor a reason: %s", i+1, line)
		}
	}
	if rows < 80 {
		t.Errorf("only %d hazards were found", rows)
	}
}

package fault

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vancetope/transfer/gen/common"
)

// codes are those of the schema.
func codes(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "schema", "common.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			ErrorCode struct{ Enum []string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil || len(schema.Defs.ErrorCode.Enum) < 40 {
		t.Fatalf("%v, %d codes", err, len(schema.Defs.ErrorCode.Enum))
	}
	return schema.Defs.ErrorCode.Enum
}

func TestEveryCodeOfTheSchemaHasATextAndAnEntryInTheTroubleshooting(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	for _, part := range strings.Split(string(raw), "\n### ")[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		body, _, _ = strings.Cut(body, "\n#")
		if entries[heading] != "" {
			t.Errorf("two entries of %s", heading)
		}
		entries[heading] = strings.TrimSpace(body)
	}
	for _, code := range codes(t) {
		if !Known(common.ErrorCode(code)) {
			t.Errorf("%s has no text", code)
		}
		if len(entries["`"+code+"`"]) < 30 {
			t.Errorf("docs/troubleshooting.md has nothing to say of %s", code)
		}
		delete(entries, "`"+code+"`")
	}
	for heading := range entries {
		t.Errorf("docs/troubleshooting.md has an entry that is no code: %s", heading)
	}
}

func TestTheTroubleshootingNamesSettingsThatExist(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join("..", "..", "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("`(vance\\.[a-z.-]+[a-z])").FindAllStringSubmatch(string(raw), -1) {
		if !strings.Contains(string(table), "`"+name[1]+"`") {
			t.Errorf("%s is no setting", name[1])
		}
	}
}

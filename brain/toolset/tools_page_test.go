package toolset

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vancetope/transfer/gen/tools"
)

var writePage = flag.Bool("write-page", false, "write docs/tools.md anew")

const toolsPage = "../../docs/tools.md"

// The page is written by this test, and held to the table and the schemas by it.
func TestThePageOfToolsIsWhatTheSchemasSay(t *testing.T) {
	want := pageOfTools(t)
	if *writePage {
		if err := os.WriteFile(toolsPage, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(toolsPage)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/tools.md does not tell the tools as they are: run  go test ./brain/toolset -run ThePageOfTools -write-page")
	}
}

// What a model is told to write has to be taken, and each failure that it is told
// of has to come with advice.
func TestEveryToolsDescriptionHelpsToCallIt(t *testing.T) {
	w := newWorld(t)
	for _, tool := range table {
		description := tool.definition().Description
		if !strings.Contains(description, tool.example) {
			t.Errorf("%s has no example", tool.name)
		}
		r := w.Call(t.Context(), Caller{Project: acme, TokenID: "agent"}, tool.name, json.RawMessage(tool.example))
		if r.Failed && strings.Contains(string(r.Output), `"invalid_request"`) {
			t.Errorf("the example of %s is refused: %s", tool.name, r.Output)
		}
		for _, code := range tool.fails {
			if advice[code] == "" {
				t.Errorf("%s tells of %s without advice", tool.name, code)
			}
		}
	}
}

type schemaOfTool struct {
	Type       any                          `json:"type"`
	Desc       string                       `json:"description"`
	Required   []string                     `json:"required"`
	Properties map[string]schemaOfTool      `json:"properties"`
	Items      *schemaOfTool                `json:"items"`
	Enum       []any                        `json:"enum"`
	Ref        string                       `json:"$ref"`
	Defs       map[string]schemaOfTool      `json:"$defs"`
	MaxLength  *int                         `json:"maxLength"`
	MaxItems   *int                         `json:"maxItems"`
	Minimum    *float64                     `json:"minimum"`
	Maximum    *float64                     `json:"maximum"`
	Then       *struct{ Required []string } `json:"then"`
}

func readSchema(t *testing.T, raw json.RawMessage) schemaOfTool {
	t.Helper()
	var s schemaOfTool
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func pageOfTools(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(`# Tools

What an LLM may call, over ` + "`/mcp`, `brain mcp` or `brain call`" + ` ([connecting an LLM](connecting-an-llm.md)). Written from the schemas in ` + "`schema/tools`" + ` by a test of ` + "`brain/toolset`" + `; not to be edited.

Arguments are closed: an unknown one is refused by name. Each answer has ` + "`ok`, `error`" + ` (null when all went well) and, on failure, ` + "`errorCode`" + `; what the codes mean stands in [troubleshooting.md](troubleshooting.md). The fields listed under *answers* come when ` + "`ok`" + ` is true.

| tool | does | hints | needs a token that may edit |
|---|---|---|---|
`)
	for _, tool := range table {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s |\n", tool.name, tool.name, tool.title, hintWords(tool.hints), yesNo(tool.edits))
	}
	for _, tool := range table {
		schema := tools.Schemas[tool.name]
		in, out := readSchema(t, schema.Input), readSchema(t, schema.Output)
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", tool.name, schema.Description)
		if len(in.Properties) == 0 {
			b.WriteString("Takes no arguments.\n")
		} else {
			b.WriteString("| argument | type | |\n|---|---|---|\n")
			writeRows(&b, in, in.Required, true)
		}
		b.WriteString("\nAnswers:\n\n| field | type | |\n|---|---|---|\n")
		always := []string(nil)
		if out.Then != nil {
			always = out.Then.Required
		}
		writeRows(&b, out, always, false)
		if len(tool.fails) > 0 {
			b.WriteString("\nFailures that come first:\n\n")
			for _, code := range tool.fails {
				fmt.Fprintf(&b, "- `%s`: %s\n", code, advice[code])
			}
		}
		fmt.Fprintf(&b, "\n```sh\nbrain call %s '%s' --token-file agent.token\n```\n", tool.name, tool.example)
	}
	return b.Bytes()
}

// writeRows writes a table row for each property: those that must be there first.
func writeRows(b *bytes.Buffer, s schemaOfTool, required []string, isInput bool) {
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		if isInput || name != "ok" && name != "error" && name != "errorCode" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := slices.Contains(required, a), slices.Contains(required, b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		p := s.Properties[name]
		mark := ""
		if isInput && slices.Contains(required, name) {
			mark = "required: "
		}
		fmt.Fprintf(b, "| `%s` | %s | %s%s |\n", name, typeWords(p, s.Defs), mark, strings.ReplaceAll(p.Desc, "|", "\\|"))
	}
}

func typeWords(s schemaOfTool, defs map[string]schemaOfTool) string {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return typeWords(defs[name], defs)
	}
	var words string
	switch kind := s.Type.(type) {
	case string:
		words = kind
	case []any:
		parts := make([]string, len(kind))
		for i, k := range kind {
			parts[i] = fmt.Sprint(k)
		}
		words = strings.Join(parts, " or ")
	default:
		words = "object"
	}
	switch {
	case len(s.Enum) > 0:
		parts := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			parts[i] = fmt.Sprintf("`%v`", e)
		}
		words = strings.Join(parts, ", ")
	case s.Items != nil:
		words += " of " + typeWords(*s.Items, defs)
		if s.MaxItems != nil {
			words += fmt.Sprintf(", at most %d", *s.MaxItems)
		}
	case s.MaxLength != nil:
		words += fmt.Sprintf(", at most %d characters", *s.MaxLength)
	case s.Minimum != nil && s.Maximum != nil && *s.Maximum < 1<<53-1:
		words += fmt.Sprintf(", %.0f to %.0f", *s.Minimum, *s.Maximum)
	}
	return words
}

func hintWords(h hints) string {
	var words []string
	for word, set := range map[string]bool{"reads only": h.readOnly, "may replace or delete": h.destructive, "may be repeated": h.idempotent} {
		if set {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

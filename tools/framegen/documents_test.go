package main

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

// chapters cuts PROTOCOL.md at its headings of level three.
func chapters(t *testing.T) map[string]string {
	t.Helper()
	text, err := generateReference(loadModel(t))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, part := range strings.Split(string(text), "\n### ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		title = strings.Trim(title, "`")
		for out[title] != "" {
			title += " (tool)"
		}
		out[title] = body
	}
	return out
}

func TestTheReferenceTellsEachFrameWithSenderLaneExtensionSectionAndFields(t *testing.T) {
	all := chapters(t)
	for _, f := range loadModel(t).Frames {
		body, ok := all[f.Tag]
		if !ok {
			t.Errorf("%s has no chapter", f.Tag)
			continue
		}
		way := map[string]string{"foot": "*Foot to Brain;", "brain": "*Brain to Foot;", "both": "*Either way;"}[f.From]
		feature := "the base protocol"
		if f.Feature != "" {
			feature = "the extension `" + f.Feature + "`"
		}
		for _, want := range []string{way, f.Lane + " lane;", feature, "section: " + f.Section, "```json\n"} {
			if !strings.Contains(body, want) {
				t.Errorf("the chapter of %s lacks %q", f.Tag, want)
			}
		}
		for _, field := range f.Type.Fields {
			if !strings.Contains(body, "\n| `"+field.Name+"` | ") {
				t.Errorf("the chapter of %s lacks its field %s", f.Tag, field.Name)
			}
		}
	}
}

func TestTheReferenceTellsEachToolAndEachNamedType(t *testing.T) {
	all := chapters(t)
	m := loadModel(t)
	for _, tool := range m.Tools {
		if all[tool.Name] == "" && all[tool.Name+" (tool)"] == "" {
			t.Errorf("%s has no chapter", tool.Name)
		}
	}
	for title, body := range all {
		for _, part := range strings.Split(body, "](#")[1:] {
			link, _, _ := strings.Cut(part, ")")
			found := false
			for other := range all {
				found = found || anchor(other) == link
			}
			if !found {
				t.Errorf("the chapter of %s links to %s, which does not exist", title, link)
			}
		}
	}
}

// TestTheRulesOfAFieldAreTold looks at one row of each form.
func TestTheRulesOfAFieldAreTold(t *testing.T) {
	all := chapters(t)
	for _, test := range []struct{ chapter, row string }{
		{"hello", "| `type` | string | `\"hello\"` | required |"},
		{"hello", "| `protocolVersion` | integer | 1 | required | Is the version of the protocol, the integer 1. Refused as `unsupported_version`. |"},
		{"hello", "| at most 256 items | required |"},
		{"welcome", "| `footId` | string | not empty; at most 128 characters | required |"},
		{"transfer_chunk", "| `seq` | integer | 0 … 2^53−1 | required |"},
		{"transfer_chunk", "| `bytes` | string | base64 of at most 1048576 bytes | required |"},
		{"transfer_init", "| `hash` | string or null | at most 71 characters; `^sha256:[0-9a-f]{64}$` | required; `null` or absent only with `trailing-hash` |"},
		{"transfer_init", "| `onExisting` | [`OnExisting`](#onexisting) |  | optional, with `on-existing` only |"},
		{"transfer_complete", "| `error` | string or null | at most 4096 characters | always, `null` if nothing; absent reads as `null` |"},
		{"client_file_upload", "When `ok` is true, required as well: `transferId`, `bytesWritten`, `hash`, `path`."},
		{"Segment", "not `.`, `..`"},
		{"OnExisting", "one of `replace`, `error`, `keep_both`"},
		{"Path", "Refused as `invalid_path` (maxLength), `path_escapes_sandbox` (pattern)."},
	} {
		if !strings.Contains(all[test.chapter], test.row) {
			t.Errorf("the chapter of %s lacks %s", test.chapter, test.row)
		}
	}
}

// TestEachExampleIsWhatTheDecoderTakes goes beyond the schema: the generated
// decoder reads it, on a connection with every extension and in every direction
// the frame has.
func TestEachExampleIsWhatTheDecoderTakes(t *testing.T) {
	for _, f := range loadModel(t).Frames {
		for i, example := range f.Type.Node.Get("examples").List() {
			text := example.AppendJSON(nil)
			d := frames.Decoder{Features: ^frames.FeatureSet(0)}
			if f.ToBrain() {
				checkExample(t, fmt.Sprint(f.Tag, " ", i), d.DecodeForBrain, text)
			}
			if f.ToFoot() {
				checkExample(t, fmt.Sprint(f.Tag, " ", i), d.DecodeForFoot, text)
			}
		}
	}
}

func checkExample(t *testing.T, name string, decode func([]byte) (frames.Frame, error), text []byte) {
	t.Helper()
	if _, err := decode(text); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// TestTheAsyncAPIDocumentHasEachFrameOnItsSide decodes the document and compares
// it with the schemas.
func TestTheAsyncAPIDocumentHasEachFrameOnItsSide(t *testing.T) {
	m := loadModel(t)
	text, err := generateAsyncAPI(m)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Operations map[string]struct{ Action string }
		Components struct {
			Messages map[string]struct {
				Name, Title string
				Lane        string `yaml:"x-lane"`
				Feature     string `yaml:"x-feature"`
				Section     string `yaml:"x-section"`
			}
			Schemas map[string]map[string]any
		}
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Frames {
		message := doc.Components.Messages[f.Type.Name]
		if message.Name != f.Tag || message.Lane != f.Lane || message.Feature != f.Feature || message.Section != f.Section {
			t.Errorf("%s is told as %+v", f.Tag, message)
		}
		if got := doc.Operations["receive"+f.Type.Name].Action == "receive"; got != f.ToBrain() {
			t.Errorf("Brain receives %s: %v", f.Tag, got)
		}
		if got := doc.Operations["send"+f.Type.Name].Action == "send"; got != f.ToFoot() {
			t.Errorf("Brain sends %s: %v", f.Tag, got)
		}
		properties, ok := doc.Components.Schemas[f.Type.Name]["properties"].(map[string]any)
		if !ok || len(properties) != len(f.Type.Fields) {
			t.Errorf("%s has the properties %v", f.Tag, properties)
		}
	}
}

// TestARefWithSiblingsIsASchemaOfItsOwn since draft 7 passes over what stands
// beside a $ref.
func TestARefWithSiblingsIsASchemaOfItsOwn(t *testing.T) {
	n, err := spec.Parse("x.json", []byte(`{"properties":{"a":{"$ref":"#/$defs/B"},"b":{"$ref":"#/$defs/B","description":"Is b.","x-feature":"f"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(asyncNode(n, true))
	if err != nil {
		t.Fatal(err)
	}
	want := "properties:\n    a:\n        $ref: '#/components/schemas/B'\n    b:\n        allOf:\n            - $ref: '#/components/schemas/B'\n        description: Is b.\n        x-feature: f\n"
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

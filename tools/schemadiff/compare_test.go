package main

import (
	"strings"
	"sync"
	"testing"

	"github.com/vancetope/transfer/schema"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

// model is read once: nothing changes it.
var model = sync.OnceValues(func() (*spec.Model, error) { return spec.Load(schema.Files()) })

func loadModel(t *testing.T) *spec.Model {
	t.Helper()
	m, err := model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// base is a small protocol with one of everything.
const base = `{
"frames": {
 "offer": {"from": "foot", "lane": "control", "feature": "", "schema": {"$ref": "#/$defs/Offer"}},
 "extra": {"from": "both", "lane": "data", "feature": "extras", "schema": {"type": "object", "additionalProperties": true, "required": ["type"], "properties": {"type": {"type": "string", "const": "extra"}}}}
},
"tools": {
 "copy": {
  "input": {"type": "object", "additionalProperties": false, "required": ["path"], "properties": {"path": {"type": "string", "maxLength": 100}, "often": {"type": "integer", "minimum": 1, "maximum": 9}}},
  "output": {"type": "object", "additionalProperties": true, "required": ["ok"], "properties": {"ok": {"type": "boolean"}, "size": {"type": "integer", "minimum": 0, "maximum": 50}, "way": {"$ref": "#/$defs/Way"}, "note": {"type": ["string", "null"], "maxLength": 7, "x-emit-null": true}}, "if": {"required": ["ok"], "properties": {"ok": {"const": true}}}, "then": {"required": ["size"]}}
 }
},
"operations": {
 "list": {"method": "get", "path": "/list/{id}", "parameters": {"id": {"in": "path", "schema": {"type": "string", "maxLength": 9}}, "limit": {"in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 10}}}, "response": {"type": "object", "additionalProperties": true, "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 8}}}}
},
"error": {"type": "object", "additionalProperties": true, "required": ["error"], "properties": {"error": {"type": "string", "maxLength": 30}}},
"$defs": {
 "Offer": {"type": "object", "additionalProperties": true, "required": ["type", "id"], "properties": {
  "type": {"type": "string", "const": "offer"},
  "id": {"type": "string", "format": "uuid", "pattern": "^[0-9a-f-]{36}$", "maxLength": 36, "not": {"enum": ["nil", "max"]}},
  "total": {"type": "integer", "minimum": 0, "maximum": 1000},
  "name": {"type": "string", "minLength": 1, "maxLength": 64, "x-error-code": {"maxLength": "invalid_path"}},
  "hash": {"type": ["string", "null"], "maxLength": 71, "x-emit-null": true, "x-feature": {"null": "late"}},
  "data": {"type": "string", "contentEncoding": "base64", "maxLength": 8, "anyOf": [{"maxLength": 7}, {"pattern": "==$"}]},
  "tags": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"$ref": "#/$defs/Way"}},
  "way": {"$ref": "#/$defs/Way"}
 }},
 "Way": {"type": "string", "enum": ["up", "down"]}
}}`

// edit is a change of base in text; there the first occurrence counts.
type edit struct{ from, to string }

func (e edit) apply(t *testing.T) (old, now *spec.Node) {
	t.Helper()
	if !strings.Contains(base, e.from) {
		t.Fatalf("the base has no %s: the test is out of date", e.from)
	}
	return parsed(t, base), parsed(t, strings.Replace(base, e.from, e.to, 1))
}

func parsed(t *testing.T, text string) *spec.Node {
	t.Helper()
	n, err := spec.Parse("bundle", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func lines(changes []Change) string {
	var out []string
	for _, c := range changes {
		out = append(out, strings.ReplaceAll(c.Line(), "`", ""))
	}
	return strings.Join(out, "\n")
}

// breakingChanges has each kind at least once: the change, what it is called
// going there, and what it is called coming back ("" when that breaks nobody).
var breakingChanges = map[string]struct {
	edit
	there, back string
}{
	"a frame is removed, or one is forced on older peers": {
		edit{`"offer": {"from": "foot", "lane": "control", "feature": "", "schema": {"$ref": "#/$defs/Offer"}},`, ``},
		"frame-removed /frames/offer offer → none", "frame-forced /frames/offer none → offer"},
	"an extension's frame is removed": {
		edit{`,
 "extra": {"from": "both", "lane": "data", "feature": "extras", "schema": {"type": "object", "additionalProperties": true, "required": ["type"], "properties": {"type": {"type": "string", "const": "extra"}}}}`, ``},
		"frame-removed /frames/extra extra → none", ""},
	"a frame goes the other way": {edit{`"from": "foot"`, `"from": "both"`},
		"frame-direction /frames/offer/from foot → both", "frame-direction /frames/offer/from both → foot"},
	"a frame changes its lane": {edit{`"lane": "data"`, `"lane": "control"`},
		"frame-lane /frames/extra/lane data → control", "frame-lane /frames/extra/lane control → data"},
	"a frame becomes part of the base protocol": {edit{`"feature": "extras"`, `"feature": ""`},
		"frame-feature /frames/extra/feature extras → none", "frame-feature /frames/extra/feature none → extras"},
	"a tool is removed": {edit{`"copy": {`, `"move": {`},
		"tool-removed /tools/copy copy → none", "tool-removed /tools/move move → none"},
	"an operation is removed": {edit{`"list": {`, `"all": {`},
		"operation-removed /operations/list list → none", "operation-removed /operations/all all → none"},
	"an operation gets another method": {edit{`"method": "get"`, `"method": "post"`},
		"operation-moved /operations/list/method get → post", "operation-moved /operations/list/method post → get"},
	"an operation gets another path": {edit{`"/list/{id}"`, `"/lists/{id}"`},
		"operation-moved /operations/list/path /list/{id} → /lists/{id}", "operation-moved /operations/list/path /lists/{id} → /list/{id}"},
	"a parameter is removed": {edit{`, "limit": {"in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 10}}`, ``},
		"parameter-removed /operations/list/parameters/limit limit → none", ""},
	"a parameter of the path is added": {edit{`"limit": {"in": "query"`, `"page": {"in": "path"`},
		"parameter-removed /operations/list/parameters/limit limit → none\nparameter-required /operations/list/parameters/page none → page",
		"parameter-removed /operations/list/parameters/page page → none"},
	"a parameter stands elsewhere": {edit{`"in": "query"`, `"in": "path"`},
		"parameter-moved /operations/list/parameters/limit/in query → path", "parameter-moved /operations/list/parameters/limit/in path → query"},
	"a parameter accepts less": {edit{`"maximum": 10}`, `"maximum": 8}`},
		"bound-narrowed /operations/list/parameters/limit/schema/maximum 10 → 8", ""},

	"a property of a frame is removed": {edit{`"total": {"type": "integer", "minimum": 0, "maximum": 1000},`, ``},
		"property-removed /$defs/Offer/properties/total total → none", ""},
	"a property of a result is removed": {edit{`"size": {"type": "integer", "minimum": 0, "maximum": 50}, `, ``},
		"property-removed /tools/copy/output/properties/size size → none", ""},
	"a property becomes required, or optional": {edit{`"required": ["type", "id"]`, `"required": ["type", "id", "total"]`},
		"property-required /$defs/Offer/properties/total optional → required", "property-optional /$defs/Offer/properties/total required → optional"},
	"an argument becomes required": {edit{`"required": ["path"]`, `"required": ["path", "often"]`},
		"property-required /tools/copy/input/properties/often optional → required", ""},
	"a part of a result becomes optional": {edit{`"required": ["n"]`, `"required": []`},
		"property-optional /operations/list/response/properties/n required → optional", ""},
	"a new property is required": {edit{`"required": ["type", "id"], "properties": {`, `"required": ["type", "id", "age"], "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 9},`},
		"property-required /$defs/Offer/properties/age none → required", "property-removed /$defs/Offer/properties/age age → none"},
	"a property belongs to another extension": {edit{`"total": {"type"`, `"total": {"x-feature": "sizes", "type"`},
		"property-feature /$defs/Offer/properties/total/x-feature none → \"sizes\"", "property-feature /$defs/Offer/properties/total/x-feature \"sizes\" → none"},
	"null is allowed by another extension": {edit{`{"null": "late"}`, `{"null": "later"}`},
		"property-feature /$defs/Offer/properties/hash/x-feature {\"null\":\"late\"} → {\"null\":\"later\"}", "property-feature /$defs/Offer/properties/hash/x-feature {\"null\":\"later\"} → {\"null\":\"late\"}"},
	"an object of a frame is closed, or opened": {edit{`"Offer": {"type": "object", "additionalProperties": true`, `"Offer": {"type": "object", "additionalProperties": false`},
		"object-closed /$defs/Offer/additionalProperties true → false", "object-opened /$defs/Offer/additionalProperties false → true"},
	"a condition asks for less of a result": {edit{`"then": {"required": ["size"]}`, `"then": {"required": ["way"]}`},
		"condition-less /tools/copy/output/then required when ok is true: size → not", "condition-less /tools/copy/output/then required when ok is true: way → not"},

	"a type changes": {edit{`"total": {"type": "integer", "minimum": 0, "maximum": 1000}`, `"total": {"type": "boolean"}`},
		"type-changed /$defs/Offer/properties/total/type integer → boolean", "type-changed /$defs/Offer/properties/total/type boolean → integer"},
	"null is refused, or allowed": {edit{`"total": {"type": "integer"`, `"total": {"type": ["integer", "null"]`},
		"null-allowed /$defs/Offer/properties/total/type never null → may be null", "null-refused /$defs/Offer/properties/total/type may be null → never null"},
	"null is allowed in a result": {edit{`"ok": {"type": "boolean"}`, `"ok": {"type": ["boolean", "null"]}`},
		"null-allowed /tools/copy/output/properties/ok/type never null → may be null", ""},
	"null is not always sent any more": {edit{`"maxLength": 7, "x-emit-null": true`, `"maxLength": 7`},
		"null-unsent /tools/copy/output/properties/note/x-emit-null true → none", ""},
	"a constant changes": {edit{`"const": "offer"`, `"const": "offering"`},
		"const-changed /$defs/Offer/properties/type/const offer → offering", "const-changed /$defs/Offer/properties/type/const offering → offer"},
	"an enum is shortened, or lengthened": {edit{`"enum": ["up", "down"]`, `"enum": ["up"]`},
		"enum-shortened /$defs/Way/enum down → none", "enum-lengthened /$defs/Way/enum none → down"},
	"any text becomes an enum": {edit{`"name": {"type": "string", "minLength": 1, "maxLength": 64, "x-error-code": {"maxLength": "invalid_path"}}`, `"name": {"type": "string", "enum": ["a", "b"], "x-error-code": {"maxLength": "invalid_path"}}`},
		"enum-shortened /$defs/Offer/properties/name/enum any → 2 values", "enum-lengthened /$defs/Offer/properties/name/enum 2 values → any"},
	"a maximum falls, or rises": {edit{`"maximum": 1000`, `"maximum": 999`},
		"bound-narrowed /$defs/Offer/properties/total/maximum 1000 → 999", "bound-widened /$defs/Offer/properties/total/maximum 999 → 1000"},
	"a minimum rises, or falls": {edit{`"minimum": 0, "maximum": 1000`, `"minimum": 1, "maximum": 1000`},
		"bound-narrowed /$defs/Offer/properties/total/minimum 0 → 1", "bound-widened /$defs/Offer/properties/total/minimum 1 → 0"},
	"a length is bounded tighter": {edit{`"minLength": 1, "maxLength": 64`, `"minLength": 2, "maxLength": 63`},
		"bound-narrowed /$defs/Offer/properties/name/minLength 1 → 2\nbound-narrowed /$defs/Offer/properties/name/maxLength 64 → 63",
		"bound-widened /$defs/Offer/properties/name/minLength 2 → 1\nbound-widened /$defs/Offer/properties/name/maxLength 63 → 64"},
	"an absent bound is no bound": {edit{`"minLength": 1, `, ``},
		"bound-widened /$defs/Offer/properties/name/minLength 1 → none", "bound-narrowed /$defs/Offer/properties/name/minLength none → 1"},
	"a list holds fewer": {edit{`"minItems": 1, "maxItems": 5`, `"minItems": 1, "maxItems": 4`},
		"bound-narrowed /$defs/Offer/properties/tags/maxItems 5 → 4", "bound-widened /$defs/Offer/properties/tags/maxItems 4 → 5"},
	"a list holds something else": {edit{`"items": {"$ref": "#/$defs/Way"}`, `"items": {"type": "integer", "minimum": 0, "maximum": 1}`},
		"type-changed /$defs/Offer/properties/tags/items/type string → integer", "type-changed /$defs/Offer/properties/tags/items/type integer → string"},
	"payload decodes to fewer bytes": {edit{`"maxLength": 8, "anyOf": [{"maxLength": 7}, {"pattern": "==$"}]`, `"maxLength": 8`},
		"bound-widened /$defs/Offer/properties/data/anyOf [{\"maxLength\":7},{\"pattern\":\"==$\"}] → none", "bound-narrowed /$defs/Offer/properties/data/anyOf none → [{\"maxLength\":7},{\"pattern\":\"==$\"}]"},
	"a pattern changes": {edit{`"^[0-9a-f-]{36}$"`, `"^[0-9A-F-]{36}$"`},
		"pattern-changed /$defs/Offer/properties/id/pattern \"^[0-9a-f-]{36}$\" → \"^[0-9A-F-]{36}$\"", "pattern-changed /$defs/Offer/properties/id/pattern \"^[0-9A-F-]{36}$\" → \"^[0-9a-f-]{36}$\""},
	"an argument gets a pattern": {edit{`"path": {"type": "string"`, `"path": {"type": "string", "pattern": "^a$"`},
		"pattern-changed /tools/copy/input/properties/path/pattern none → \"^a$\"", ""},
	"a format changes": {edit{`"format": "uuid", `, ``},
		"format-changed /$defs/Offer/properties/id/format \"uuid\" → none", "format-changed /$defs/Offer/properties/id/format none → \"uuid\""},
	"a content encoding changes": {edit{`"contentEncoding": "base64", `, ``},
		"encoding-changed /$defs/Offer/properties/data/contentEncoding \"base64\" → none", "encoding-changed /$defs/Offer/properties/data/contentEncoding none → \"base64\""},
	"a value is excluded, or not any more": {edit{`"enum": ["nil", "max"]`, `"enum": ["nil"]`},
		"excluded-less /$defs/Offer/properties/id/not max excluded → allowed", "excluded-more /$defs/Offer/properties/id/not allowed → max excluded"},
	"a refusal gets another code": {edit{`"invalid_path"`, `"invalid_request"`},
		"error-code-changed /$defs/Offer/properties/name/x-error-code/maxLength invalid_path → invalid_request", "error-code-changed /$defs/Offer/properties/name/x-error-code/maxLength invalid_request → invalid_path"},
	"a refusal gets a code": {edit{`"total": {"type": "integer"`, `"total": {"x-error-code": "size_limit", "type": "integer"`},
		"error-code-changed /$defs/Offer/properties/total/x-error-code/any none → size_limit", "error-code-changed /$defs/Offer/properties/total/x-error-code/any size_limit → none"},
	"an argument that was unknown": {edit{`"properties": {"path"`, `"properties": {"new": {"type": "boolean"}, "path"`},
		"", "property-removed /tools/copy/input/properties/new new → none"},
	"a closed object that is sent grows": {edit{`"response": {"type": "object", "additionalProperties": true, "required": ["n"], "properties": {`, `"response": {"type": "object", "additionalProperties": false, "required": ["n"], "properties": {"m": {"type": "boolean"}, `},
		"", "property-removed /operations/list/response/properties/m m → none\nobject-opened /operations/list/response/additionalProperties false → true"},
	"the body of errors changes": {edit{`"maxLength": 30`, `"maxLength": 31`},
		"bound-widened /error/properties/error/maxLength 30 → 31", ""},
}

func TestEachBreakingChangeIsNamed(t *testing.T) {
	for what, test := range breakingChanges {
		t.Run(what, func(t *testing.T) {
			old, now := test.apply(t)
			if got := lines(compare(old, now)); got != test.there {
				t.Errorf("there:\n%s\nwant\n%s", got, test.there)
			}
			if got := lines(compare(now, old)); got != test.back {
				t.Errorf("back:\n%s\nwant\n%s", got, test.back)
			}
		})
	}
}

// TestAConditionOnAnArgumentIsAnotherRole turns the tool's result into arguments.
func TestAConditionOnAnArgumentIsAnotherRole(t *testing.T) {
	turned := strings.NewReplacer(`"input"`, `"output"`, `"output"`, `"input"`).Replace(base)
	more := strings.Replace(turned, `"then": {"required": ["size"]}`, `"then": {"required": ["size", "way"]}`, 1)
	if got, want := lines(compare(parsed(t, turned), parsed(t, more))), "condition-more /tools/copy/input/then not → required when ok is true: way"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := lines(compare(parsed(t, more), parsed(t, turned))); got != "" {
		t.Errorf("asking for less breaks: %s", got)
	}
}

// TestAClosedObjectOfAFrameMayNotGrow: older peers refuse the new member.
func TestAClosedObjectOfAFrameMayNotGrow(t *testing.T) {
	closed := strings.Replace(base, `"Offer": {"type": "object", "additionalProperties": true`, `"Offer": {"type": "object", "additionalProperties": false`, 1)
	grown := strings.Replace(closed, `"total": {"type": "integer", "minimum": 0, "maximum": 1000},`, `"total": {"type": "integer", "minimum": 0, "maximum": 1000}, "age": {"type": "boolean"},`, 1)
	if got, want := lines(compare(parsed(t, closed), parsed(t, grown))), "property-unknown /$defs/Offer/properties/age none → age"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEachKindOfChangeHasATest(t *testing.T) {
	seen := map[Kind]bool{ConditionMore: true, PropertyUnknown: true} // the two tests above
	for _, test := range breakingChanges {
		for _, line := range strings.Split(test.there+"\n"+test.back, "\n") {
			kind, _, _ := strings.Cut(line, " ")
			seen[Kind(kind)] = true
		}
	}
	for _, kind := range kindsInSource(t) {
		if !seen[kind] {
			t.Errorf("no test makes a change of kind %s", kind)
		}
	}
}

// TestWhatOlderPeersDoNotNoticeIsFree lists what may change without a word.
func TestWhatOlderPeersDoNotNoticeIsFree(t *testing.T) {
	for what, e := range map[string]edit{
		"nothing":                                    {`"copy"`, `"copy"`},
		"an optional property of a frame":            {`"total": {"type": "integer", "minimum": 0, "maximum": 1000}`, `"total": {"type": "integer", "minimum": 0, "maximum": 1000}, "age": {"type": "boolean"}`},
		"a frame of an extension":                    {`"frames": {`, `"frames": {"new": {"from": "both", "lane": "data", "feature": "new", "schema": {"type": "boolean"}},`},
		"a tool":                                     {`"tools": {`, `"tools": {"new": {"input": {}, "output": {}},`},
		"an operation":                               {`"operations": {`, `"operations": {"new": {"method": "get"},`},
		"a parameter of the query":                   {`"limit": {"in": "query"`, `"from": {"in": "query", "schema": {"type": "boolean"}}, "limit": {"in": "query"`},
		"a parameter that accepts more":              {`"maximum": 10}`, `"maximum": 11}`},
		"an optional argument":                       {`"often": {`, `"new": {"type": "boolean"}, "often": {`},
		"an argument that is not required":           {`"required": ["path"]`, `"required": []`},
		"an argument that accepts more":              {`"maximum": 9}`, `"maximum": 10}`},
		"an argument that may be null":               {`"often": {"type": "integer"`, `"often": {"type": ["integer", "null"]`},
		"a result that holds less":                   {`"maximum": 50}`, `"maximum": 49}`},
		"a result that always has a member":          {`"required": ["ok"], "properties": {"ok": {"type"`, `"required": ["ok", "way"], "properties": {"ok": {"type"`},
		"a member of a result":                       {`"properties": {"ok": {"type"`, `"properties": {"new": {"type": "boolean"}, "ok": {"type"`},
		"a result that is never null":                {`"note": {"type": ["string", "null"], "maxLength": 7, "x-emit-null": true}`, `"note": {"type": "string", "maxLength": 7}`},
		"a condition that asks for more of a result": {`"then": {"required": ["size"]}`, `"then": {"required": ["size", "way"]}`},
		"a definition written out":                   {`"way": {"$ref": "#/$defs/Way"}, "note"`, `"way": {"type": "string", "enum": ["up", "down"]}, "note"`},
		"the order of an enum":                       {`"enum": ["up", "down"]`, `"enum": ["down", "up"]`},
		"a spelling of what there is":                {`"way": {"$ref": "#/$defs/Way"}, "note"`, `"way": {"type": "string", "const": "up"}, "note"`},
	} {
		t.Run(what, func(t *testing.T) {
			old, now := e.apply(t)
			if got := lines(compare(old, now)); got != "" {
				t.Errorf("breaks: %s", got)
			}
		})
	}
}

func TestAChangedDefinitionIsToldOnceWhoeverUsesIt(t *testing.T) {
	old, now := edit{`"enum": ["up", "down"]`, `"enum": ["up", "down", "left"]`}.apply(t)
	if got, want := lines(compare(old, now)), "enum-lengthened /$defs/Way/enum none → left"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestADefinitionThatIsUsedInOneRoleIsJudgedInThatRole(t *testing.T) {
	onlyRead := strings.NewReplacer(`"items": {"$ref": "#/$defs/Way"}`, `"items": {"type": "boolean"}`, `"way": {"$ref": "#/$defs/Way"}
`, `"way": {"type": "boolean"}
`, `"path": {"type": "string", "maxLength": 100}`, `"path": {"$ref": "#/$defs/Way"}`, `"way": {"$ref": "#/$defs/Way"}, "note"`, `"way": {"type": "boolean"}, "note"`).Replace(base)
	longer := strings.Replace(onlyRead, `"enum": ["up", "down"]`, `"enum": ["up", "down", "left"]`, 1)
	if got := lines(compare(parsed(t, onlyRead), parsed(t, longer))); got != "" {
		t.Errorf("an argument that accepts more breaks: %s", got)
	}
	if got, want := lines(compare(parsed(t, longer), parsed(t, onlyRead))), "enum-shortened /$defs/Way/enum left → none"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

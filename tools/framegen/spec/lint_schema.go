package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The patterns that pin a format to one spelling, so that the schema, the
// generated code and other validators agree on it.
const (
	UUIDPattern   = `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	TimePattern   = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?Z$`
	Base64Pattern = `^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$`
)

// The keywords that each kind of schema may have. What is in no list has no
// generated code and is an error.
var (
	anyKeywords    = []string{"title", "description", "type", "x-emit-null", "x-error-code", "x-feature"}
	fileKeywords   = []string{"$schema", "$id", "$defs", "examples", "x-from", "x-lane", "x-section"}
	objectKeywords = []string{"properties", "required", "additionalProperties", "if", "then"}
	arrayKeywords  = []string{"items", "minItems", "maxItems"}
	stringKeywords = []string{"minLength", "maxLength", "pattern", "format", "enum", "const", "not", "contentEncoding", "anyOf", "x-enum-varnames"}
	numberKeywords = []string{"minimum", "maximum"}
	refKeywords    = []string{"$ref", "description", "x-error-code", "x-feature"}
)

// keywords reports what is not allowed at n, with the keyword it may be a slip
// of.
func (l *linter) keywords(n *Node, lists ...[]string) {
	allowed := slices.Concat(lists...)
	for _, key := range n.Keys {
		if slices.Contains(allowed, key) {
			continue
		}
		what := fmt.Sprintf("keyword %q is not known here", key)
		if near := nearest(key, slices.Concat(anyKeywords, fileKeywords, objectKeywords, arrayKeywords, stringKeywords, numberKeywords, refKeywords)); near != "" && near != key {
			l.report(n.Members[key], what, "write %q if that is meant, or remove it", near)
		} else {
			l.report(n.Members[key], what, "remove it, or teach framegen to generate code for it; known here: %s", quoted(allowed))
		}
	}
}

// schema checks one schema and those below it.
func (l *linter) schema(n *Node) {
	if n.Kind != '{' {
		l.report(n, "is no schema object", "write an object with a type")
		return
	}
	if n.Get("$ref") != nil {
		l.ref(n)
		return
	}
	types := n.Strings("type")
	if t := n.Str("type"); t != "" {
		types = []string{t}
	}
	nullable := len(types) == 2 && types[1] == "null"
	if len(types) == 0 || len(types) > 1 && !nullable {
		remedy := "give it a type, or a type and \"null\""
		if n.Get("enum") != nil || n.Get("const") != nil {
			remedy = "give it a type beside its const or enum, else the Go type is interface{}"
		}
		l.report(n, "has no single type", "%s", remedy)
		return
	}
	l.emitNull(n, nullable)
	l.errorCodes(n)
	switch types[0] {
	case "object":
		l.object(n)
	case "array":
		l.keywords(n, anyKeywords, arrayKeywords)
		l.array(n)
	case "string":
		l.keywords(n, anyKeywords, stringKeywords)
		l.stringSchema(n, nullable)
	case "integer":
		l.keywords(n, anyKeywords, numberKeywords)
		l.integer(n)
	case "boolean":
		l.keywords(n, anyKeywords)
	default:
		l.report(n, fmt.Sprintf("type %q has no generated code", types[0]), "use object, array, string, integer or boolean")
	}
}

func (l *linter) ref(n *Node) {
	l.keywords(n, refKeywords)
	target := l.resolve(n.Get("$ref"))
	if target == nil {
		l.report(n.Get("$ref"), fmt.Sprintf("%q names no definition", n.Str("$ref")), "write <file>#/$defs/<Name> with a definition that exists")
		return
	}
	if n.Get("description") != nil {
		l.description(n)
	}
	l.errorCodes(n)
	l.emitNull(n, false)
	open := target.Get("additionalProperties")
	if open == nil {
		return
	}
	if place(n.File) == "frame" && open.Kind == 'f' {
		l.report(n.Get("$ref"), "a frame refers to a closed object", "refer to an open definition: frames are open")
	}
	if place(n.File) == "input" && open.Kind == 't' {
		l.report(n.Get("$ref"), "an input refers to an open object", "refer to a closed definition: inputs are closed")
	}
}

func (l *linter) object(n *Node) {
	if n.Pointer == "" {
		l.keywords(n, anyKeywords, objectKeywords, fileKeywords)
	} else {
		l.keywords(n, anyKeywords, objectKeywords)
		if !strings.HasPrefix(n.Pointer, "/$defs/") || strings.Count(n.Pointer, "/") != 2 {
			l.report(n, "is an object without a name", "move it to $defs, give it a title and refer to it")
		}
	}
	l.openness(n)
	properties := n.Get("properties")
	if properties == nil || properties.Kind != '{' {
		l.report(n, "has no properties", "state them, {} if there are none")
		return
	}
	for _, key := range properties.Keys {
		p := properties.Members[key]
		l.schema(p)
		if p.Kind == '{' && p.Get("$ref") == nil {
			l.description(p)
		}
	}
	l.required(n, n, properties)
	l.condition(n, properties)
}

func (l *linter) openness(n *Node) {
	open := n.Get("additionalProperties")
	if open == nil || open.Kind != 't' && open.Kind != 'f' {
		l.report(n, "does not say whether it is open", "write \"additionalProperties\": true in frames and answers, false in tool inputs and request bodies")
		return
	}
	switch where := place(n.File); {
	case where == "input" && open.Kind == 't':
		l.report(open, "an input is open", "write false: an unknown argument is an error that names it")
	case (where == "frame" || where == "output") && open.Kind == 'f':
		l.report(open, "a frame or answer is closed", "write true: older peers must be able to read newer ones")
	}
}

func (l *linter) required(at, object, properties *Node) {
	for _, name := range at.Strings("required") {
		p := properties.Get(name)
		switch {
		case p == nil:
			l.report(at.Get("required"), fmt.Sprintf("requires %q, which is no property", name), "correct the name or add the property")
		case at == object && p.Get("x-emit-null") != nil:
			l.report(at.Get("required"), fmt.Sprintf("requires %q, which has x-emit-null", name), "take it out of required: absent reads as null")
		case at != object && len(p.Strings("type")) == 2 && p.Get("x-emit-null") == nil:
			l.report(at.Get("required"), fmt.Sprintf("requires %q, which may be null or absent alike", name), "give it x-emit-null")
		}
	}
}

// condition checks if/then: when constants hold, members are required.
func (l *linter) condition(n, properties *Node) {
	cond, then := n.Get("if"), n.Get("then")
	if cond == nil && then == nil {
		return
	}
	if cond == nil || then == nil {
		l.report(n, "has half a condition", "write both if and then")
		return
	}
	const form = `write {"required": ["ok"], "properties": {"ok": {"const": true}}}`
	l.keywords(cond, []string{"required", "properties"})
	tested := cond.Get("properties")
	if tested == nil || len(tested.Keys) != 1 || !slices.Equal(cond.Strings("required"), tested.Keys) {
		l.report(cond, "does not require exactly the one property it tests", form)
		return
	}
	test := tested.Members[tested.Keys[0]]
	l.keywords(test, []string{"const"})
	subject := properties.Get(tested.Keys[0])
	if value := test.Get("const"); value == nil || value.Kind != 't' && value.Kind != 'f' || subject.Str("type") != "boolean" || !slices.Contains(n.Strings("required"), tested.Keys[0]) {
		l.report(test, "is not a constant of a required boolean", form)
	}
	l.keywords(then, []string{"required"})
	l.required(then, n, properties)
	if len(then.Strings("required")) == 0 {
		l.report(then, "requires nothing", "list what the condition requires")
	}
}

func (l *linter) array(n *Node) {
	if most, ok := n.Int("maxItems"); !ok || most < 1 {
		l.report(n, "has no maxItems", "bound it, so that no message makes its reader allocate without end")
	}
	items := n.Get("items")
	if items == nil {
		l.report(n, "has no items", "say what it holds")
		return
	}
	l.schema(items)
	if items.Str("type") == "array" || items.Get("x-emit-null") != nil || len(items.Strings("type")) > 0 {
		l.report(items, "is an item that has no generated code", "use plain scalars or a $ref")
	}
}

func (l *linter) integer(n *Node) {
	for _, key := range numberKeywords {
		if bound, ok := n.Int(key); !ok || bound > largest || bound < -largest {
			l.report(n, "has no "+key+" within 2^53-1", "bound it: beyond that, JSON readers round")
			return
		}
	}
	least, _ := n.Int("minimum")
	if most, _ := n.Int("maximum"); most < least {
		l.report(n, "has a maximum below its minimum", "correct one of them")
	}
}

// featureName is the pattern of FeatureName, in which hello and welcome list them.
var featureName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

func (l *linter) emitNull(n *Node, nullable bool) {
	emit := n.Get("x-emit-null")
	if emit != nil && (!nullable || emit.Kind != 't') {
		l.report(emit, "x-emit-null is for values that may be null", "write true, and a type like [\"string\", \"null\"]")
	}
	feature := n.Get("x-feature")
	if feature == nil {
		return
	}
	name := feature
	if name.Kind == '{' {
		name = name.Get("null")
	}
	if name != nil && name.Kind == '"' && !featureName.MatchString(name.Text) {
		l.report(name, "is no name of a feature: peers could not tell it in their hello", "write lower-case letters, digits and hyphens, beginning with a letter, 64 at most")
	}
	if feature.Kind == '"' && emit == nil && l.optionalMember(n) {
		return // the feature of a frame, or of a member that others ignore
	}
	if feature.Kind != '{' || !slices.Equal(feature.Keys, []string{"null"}) || emit == nil {
		l.report(feature, "x-feature of a property says to which feature it belongs, or which feature allows null", "write \"<feature>\" at an optional property of a frame itself, or {\"null\": \"<feature>\"} beside x-emit-null")
	}
}

// optionalMember reports whether n is a frame, or a property of one that may be
// left out: only that can be ignored where its feature is not in force.
func (l *linter) optionalMember(n *Node) bool {
	if n.Pointer == "" {
		return true
	}
	frame := l.files[n.File]
	name, direct := strings.CutPrefix(n.Pointer, "/properties/")
	return place(n.File) == "frame" && direct && !strings.Contains(name, "/") &&
		!slices.Contains(frame.Strings("required"), name)
}

func (l *linter) errorCodes(n *Node) {
	codes := n.Get("x-error-code")
	if codes == nil {
		return
	}
	if codes.Kind == '"' {
		l.code(codes)
		return
	}
	for _, rule := range codes.Keys {
		if n.Get("$ref") == nil && n.Get(rule) == nil && rule != "null" && rule != "required" {
			l.report(codes.Members[rule], fmt.Sprintf("gives a code to %q, which is no keyword here", rule), "name a keyword that stands beside it, null or required")
		}
		l.code(codes.Members[rule])
	}
}

func (l *linter) code(n *Node) {
	if !l.codes[n.Text] {
		l.report(n, fmt.Sprintf("%q is no error code", n.Text), "use a member of ErrorCode in common.schema.json, or add it there")
	}
}

// nearest returns the known keyword within two slips of key, "" if there is none.
func nearest(key string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(strings.ToLower(key), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the insertions, deletions and substitutions between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

var unportable = regexp.MustCompile(`\\[dDsSwWpPbBkuAzZQEC]|\(\?[^:]|\[\[:|[+*?}][+?]`)

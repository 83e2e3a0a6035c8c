package vectors

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// subject is a schema that must have vectors.
type subject struct {
	file  string // below schema/vectors
	t     *spec.Type
	frame *spec.Frame // nil for a tool
}

func subjects(m *spec.Model) []subject {
	var all []subject
	for _, f := range m.Frames {
		all = append(all, subject{vectorFile(f.Type), f.Type, f})
	}
	for _, tool := range m.Tools {
		all = append(all, subject{vectorFile(tool.Input), tool.Input, nil}, subject{vectorFile(tool.Output), tool.Output, nil})
	}
	return all
}

func vectorFile(t *spec.Type) string {
	return strings.TrimSuffix(t.Node.File, ".schema.json") + ".json"
}

// to are the roles that may receive the frame.
func (s subject) to() []string {
	var to []string
	if s.frame != nil && s.frame.ToBrain() {
		to = append(to, "brain")
	}
	if s.frame != nil && s.frame.ToFoot() {
		to = append(to, "foot")
	}
	return to
}

// features are those without which the frame, or a member of the message, means
// nothing.
func (s subject) features(message string) []string {
	var names []string
	if s.frame != nil && s.frame.Feature != "" {
		names = append(names, s.frame.Feature)
	}
	for _, f := range s.t.Fields {
		if f.Feature != "" && !slices.Contains(names, f.Feature) && strings.Contains(message, strconv.Quote(f.Name)+": ") {
			names = append(names, f.Feature)
		}
	}
	return names
}

func (s subject) fallback() string {
	if s.frame != nil {
		return "invalid_frame"
	}
	return "invalid_request"
}

// breach is one way to break a schema: what to put at a place, and which rule
// that breaks.
type breach struct {
	what        string // in words, after the name of the place
	place, rule string
	code        string
	raw         string // the JSON to put there, "" to leave the member out
	whole       bool   // shows only in a message with every member
	stricter    string
}

// breaches lists a breach of each rule at each place, in the order of the schema.
func (s subject) breaches() []breach {
	b := &breacher{}
	b.object(s.t, "", false)
	for i := range b.all {
		if b.all[i].code == "" {
			b.all[i].code = s.fallback()
		}
	}
	return b.all
}

type breacher struct {
	all   []breach
	codes []map[string]string // of the fields above, the innermost last
}

func (b *breacher) add(what, place, rule, raw string) *breach {
	code := ""
	for i := len(b.codes) - 1; i >= 0 && code == ""; i-- {
		if i == len(b.codes)-1 {
			code = b.codes[i][rule]
		}
		if code == "" {
			code = b.codes[i]["*"]
		}
	}
	b.all = append(b.all, breach{what: what, place: place, rule: rule, raw: raw, code: code})
	return &b.all[len(b.all)-1]
}

func (b *breacher) object(t *spec.Type, place string, below bool) {
	for _, f := range t.Fields {
		if f.Type.Const != "" && !below {
			continue // another tag is another frame
		}
		at := place + "/" + f.Name
		b.codes = append(b.codes, f.Codes)
		b.absence(t, f, at)
		b.value(f.Type, at)
		b.codes = b.codes[:len(b.codes)-1]
	}
	if !t.Open {
		b.add("a member that does not exist", place+"/unknown", "unknown", "1")
	}
}

func (b *breacher) absence(t *spec.Type, f *spec.Field, at string) {
	switch {
	case f.Required:
		b.add("is missing", at, "required", "").whole = true
	case f.NullFeature != "":
		why := "only " + f.NullFeature + " allows it, and the schema speaks of every feature"
		missing := b.add("is missing", at, "required", "")
		missing.whole, missing.stricter, missing.code = true, why, codeOf(f, "null")
		b.add("is null", at, "null", "null").stricter = why
	case t.Condition != nil && slices.Contains(t.Condition.Then, f.Name):
		what := fmt.Sprintf("is missing though %s is %v", t.Condition.If, t.Condition.Is)
		b.add(what, at, "required", "").whole = true
	}
}

func codeOf(f *spec.Field, rule string) string {
	if code := f.Codes[rule]; code != "" {
		return code
	}
	return f.Codes["*"]
}

func (b *breacher) value(t *spec.Type, at string) {
	wrong := map[spec.Kind]string{spec.Object: "[]", spec.Array: "{}", spec.String: "1", spec.Integer: `"1"`, spec.Boolean: `"true"`}[t.Kind]
	b.add("is "+map[byte]string{'[': "an array", '{': "an object", '1': "a number", '"': "a string"}[wrong[0]], at, "type", wrong)
	if !t.Nullable {
		b.add("is null", at, "type", "null")
	}
	switch t.Kind {
	case spec.Object:
		b.object(t, at, true)
	case spec.Array:
		b.array(t, at)
	case spec.Integer:
		b.add("is a fraction", at, "type", "0.5")
		b.add("is too small", at, "minimum", strconv.FormatInt(t.Min-1, 10))
		b.add("is too large", at, "maximum", strconv.FormatInt(t.Max+1, 10))
	case spec.String:
		b.text(t, at)
	}
}

func (b *breacher) array(t *spec.Type, at string) {
	item := (&renderer{}).render(t.Items, at+"/0", "")
	b.add("has too many items", at, "maxItems", fmt.Sprintf("[<<%s,*%d>>%s]", item, t.MaxItems, item))
	if t.MinItems > 0 {
		b.add("has too few items", at, "minItems", "[]")
	}
	b.codes = append(b.codes, t.Items.Codes)
	b.value(t.Items, at+"/0")
	b.codes = b.codes[:len(b.codes)-1]
}

func (b *breacher) text(t *spec.Type, at string) {
	switch {
	case t.Const != "":
		b.add("is another constant", at, "const", `"another"`)
	case len(t.Enum) > 0:
		b.add("is not one of the known values", at, "enum", `"unheard-of"`)
	case t.Base64:
		b.add("has too many characters", at, "maxLength", fmt.Sprintf(`"<<A*%d>>"`, t.MaxLength+4))
		b.add("holds too many bytes", at, "anyOf", fmt.Sprintf(`"<<A*%d>>"`, t.MaxLength))
		b.add("lacks its padding", at, "contentEncoding", `"aGVsbG8"`)
	case t.Format == "uuid":
		b.add("is in upper case", at, "format", `"01989F2E-7C1A-7B5E-9D3F-2A4B6C8D0E1F"`)
		b.excluded(t, at)
	case t.Format == "date-time":
		b.add("is not in UTC", at, "format", `"2026-05-01T14:23:11+02:00"`)
	default:
		b.add("is too long", at, "maxLength", fmt.Sprintf(`"<<x*%d>>"`, t.MaxLength+1))
		if t.MinLength > 0 {
			b.add("is too short", at, "minLength", fmt.Sprintf("%q", strings.Repeat("x", t.MinLength-1)))
		}
		if t.Pattern != "" {
			b.add("does not match", at, "pattern", mismatch(t))
		}
		b.excluded(t, at)
	}
}

func (b *breacher) excluded(t *spec.Type, at string) {
	for _, s := range t.Not {
		b.add("is "+s, at, "not", strconv.Quote(s))
	}
}

// mismatch is a text that breaks the pattern and nothing else.
func mismatch(t *spec.Type) string {
	pattern := regexp.MustCompile(t.Pattern)
	for _, s := range []string{"a b", "A_b", "md5:00", "0899", "a\x00b", "\n", ""} {
		if !pattern.MatchString(s) && len(s) >= t.MinLength && len(s) <= t.MaxLength {
			return strings.Replace(strconv.Quote(s), `\x00`, `\u0000`, 1)
		}
	}
	panic("vectors: nothing breaks the pattern " + t.Pattern + "; add a text to mismatch")
}

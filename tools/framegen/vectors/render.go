package vectors

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// renderer writes a message that is valid but for one place.
type renderer struct {
	whole  bool    // every member, not only the required ones
	breach *breach // nil: valid throughout
}

// render returns the JSON of a schema at a place; name is the member's.
func (r *renderer) render(t *spec.Type, place, name string) string {
	if r.breach != nil && place == r.breach.place && r.breach.raw != "" {
		return r.breach.raw
	}
	switch t.Kind {
	case spec.Object:
		return r.object(t, place)
	case spec.Array:
		if !r.whole && !r.below(place) && t.MinItems == 0 {
			return "[]"
		}
		item := r.render(t.Items, place+"/0", name)
		return "[" + item + strings.Repeat(", "+item, max(t.MinItems-1, 0)) + "]"
	case spec.Integer:
		return strconv.FormatInt(min(max(t.Min, 12345), t.Max), 10)
	case spec.Boolean:
		return "true"
	}
	return strconv.Quote(exampleText(t, name))
}

func (r *renderer) object(t *spec.Type, place string) string {
	var members []string
	for _, f := range t.Fields {
		at := place + "/" + f.Name
		left := r.breach != nil && r.breach.place == at && r.breach.raw == ""
		if left || !r.whole && !f.Required && f.NullFeature == "" && !r.below(at) {
			continue
		}
		value := r.render(f.Type, at, f.Name)
		if t.Condition != nil && f.Name == t.Condition.If && !r.below(at) {
			value = strconv.FormatBool(t.Condition.Is == r.whole)
		}
		members = append(members, strconv.Quote(f.Name)+": "+value)
	}
	if r.breach != nil && r.breach.rule == "unknown" && r.breach.place == place+"/unknown" {
		members = append(members, `"unknown": 1`)
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// below reports whether the breach is at a place or below it.
func (r *renderer) below(place string) bool {
	return r.breach != nil && strings.HasPrefix(r.breach.place+"/", place+"/")
}

// examples are what members look like in practice.
var examples = map[string]string{
	"localPath": "reports/2026/summary.pdf", "remotePath": "summary.pdf", "path": "summary.pdf", "target": "summary.pdf",
	"source": "summary.pdf", "dirName": "inbox", "footId": "laptop", "foot": "laptop", "name": "laptop", "tenant": "acme",
	"projectId": "apollo", "clientVersion": "1.4.0", "features": "trailing-hash", "mode": "0644", "creator": "token:7f3a",
	"error": "file not found", "message": "file not found", "reason": "no longer needed", "code": "not_found", "errorCode": "not_found",
	"bytes": "aGVsbG8=", "connectionId": "01989f2e-0000-7000-8000-000000000001", "label": "Reports",
}

// fallbacks are tried in turn where no example fits.
var fallbacks = []string{
	"01989f2e-7c1a-7b5e-9d3f-2a4b6c8d0e1f", "2026-05-01T14:23:11Z",
	"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "0644", "aGVsbG8=", "example", "1",
}

func exampleText(t *spec.Type, name string) string {
	if t.Const != "" {
		return t.Const
	}
	if len(t.Enum) > 0 && !contains(t.Enum, examples[name]) {
		return t.Enum[0]
	}
	tries := append([]string{examples[name]}, fallbacks...)
	if t.Pattern == "" { // any text will do, so let it not look like another kind
		tries = slices.Insert(tries, 1, "example")
	}
	for _, s := range tries {
		if s == "" || t.MaxLength > 0 && len(s) > t.MaxLength || len(s) < t.MinLength {
			continue
		}
		if t.Pattern == "" || regexp.MustCompile(t.Pattern).MatchString(s) {
			return s
		}
	}
	panic("vectors: no example for " + t.Node.File + "#" + t.Node.Pointer + "; add one to fallbacks")
}

func contains(all []string, s string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}

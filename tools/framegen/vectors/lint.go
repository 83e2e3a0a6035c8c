package vectors

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/vancetope/transfer/schema/vectors"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

const drafts = "make vectors drafts what is missing"

// Lint holds a folder of vectors to the schemas. Its error has a line for each
// thing that is wrong, with the remedy.
func Lint(m *spec.Model, folder fs.FS) error {
	files, err := vectors.Load(folder)
	if err != nil {
		return err
	}
	l := &linter{model: m, byName: map[string]*vectors.File{}}
	for _, f := range files {
		l.byName[f.Name] = f
	}
	for _, s := range subjects(m) {
		f, there := l.byName[s.file]
		if !there {
			l.report(s.file, "is missing: schema/%s has no vectors; %s", s.t.Node.File, drafts)
			continue
		}
		delete(l.byName, s.file)
		l.file(s, f)
	}
	if general, there := l.byName[vectors.General]; !there {
		l.report(vectors.General, "is missing; write messages that are no frame at all")
	} else {
		delete(l.byName, vectors.General)
		l.codes(general)
	}
	for _, f := range files {
		if l.byName[f.Name] != nil {
			l.report(f.Name, "belongs to no frame and no tool; remove it, or name it after a schema")
		}
	}
	return errors.Join(l.problems...)
}

type linter struct {
	model    *spec.Model
	byName   map[string]*vectors.File
	problems []error
}

func (l *linter) report(file, what string, args ...any) {
	l.problems = append(l.problems, fmt.Errorf("schema/vectors/%s: %s", file, fmt.Sprintf(what, args...)))
}

func (l *linter) file(s subject, f *vectors.File) {
	if f.Schema != s.t.Node.File {
		l.report(f.Name, "schema is %q; write %q", f.Schema, s.t.Node.File)
	}
	if !slices.Equal(f.To, s.to()) {
		l.report(f.Name, "to is %q; write %q, as x-from in the schema says", f.To, s.to())
	}
	l.codes(f)
	used := members(f)
	for _, place := range used.missing(s.t) {
		l.report(f.Name, "no valid message has %s; add one, or %s", place, drafts)
	}
	reported := map[string]bool{}
	for _, b := range s.breaches() {
		if !breaks(f, b) && !reported[b.place+" "+b.rule] {
			reported[b.place+" "+b.rule] = true
			l.report(f.Name, "no invalid message breaks %q at %s; add one, or %s", b.rule, b.place, drafts)
		}
	}
}

// codes checks names that only the schemas know.
func (l *linter) codes(f *vectors.File) {
	for _, v := range slices.Concat(f.Valid, f.Invalid) {
		for _, feature := range v.Features {
			if !slices.Contains(l.model.Features, feature) {
				l.report(f.Name, "%q: no schema speaks of a feature %q; correct the name", v.Name, feature)
			}
		}
	}
	for _, v := range f.Invalid {
		if !slices.Contains(errorCodes(l.model), v.Code) {
			l.report(f.Name, "%q: %q is no error code; use one of ErrorCode in schema/common.schema.json", v.Name, v.Code)
		}
	}
}

func errorCodes(m *spec.Model) []string {
	for _, t := range m.InPackage("common") {
		if t.Name == "ErrorCode" {
			return t.Enum
		}
	}
	return nil
}

// breaks reports whether a vector of f breaks that rule at that place. The second
// item of an array is as good as the first, and any unknown name will do.
func breaks(f *vectors.File, b breach) bool {
	return slices.ContainsFunc(f.Invalid, func(v vectors.Vector) bool {
		if v.Rule != b.rule || v.Place == nil {
			return false
		}
		place := indexes(*v.Place)
		if b.rule == "unknown" {
			return place[:strings.LastIndexByte(place, '/')] == strings.TrimSuffix(b.place, "/unknown")
		}
		return place == b.place && (b.rule != "not" || strings.Contains(string(v.Bytes()), strings.Trim(b.raw, `"`)))
	})
}

// indexes turns every index of a JSON pointer into 0.
func indexes(place string) string {
	parts := strings.Split(place, "/")
	for i, p := range parts {
		if p != "" && strings.Trim(p, "0123456789") == "" {
			parts[i] = "0"
		}
	}
	return strings.Join(parts, "/")
}

// places are the places that valid messages use, indexes as 0.
type places map[string]bool

func members(f *vectors.File) places {
	used := places{}
	for i := range f.Valid {
		var value any
		if err := json.Unmarshal(f.Valid[i].Bytes(), &value); err == nil { // what is no JSON fails the decoders' test
			used.add(value, "")
		}
	}
	return used
}

func (p places) add(value any, place string) {
	p[place] = true
	switch value := value.(type) {
	case map[string]any:
		for name, below := range value {
			p.add(below, place+"/"+name)
		}
	case []any:
		for _, below := range value {
			p.add(below, place+"/0")
		}
	}
}

func (p places) all(t *spec.Type) bool { return len(p.missing(t)) == 0 }

// missing lists the members of a schema, at any depth, that no message uses.
func (p places) missing(t *spec.Type) []string {
	var out []string
	var look func(t *spec.Type, place string)
	look = func(t *spec.Type, place string) {
		if !p[place] {
			out = append(out, place)
			return
		}
		for _, f := range t.Fields {
			look(f.Type, place+"/"+f.Name)
		}
		if t.Items != nil {
			look(t.Items, place+"/0")
		}
	}
	look(t, "")
	return out
}

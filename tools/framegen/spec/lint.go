package spec

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/vancetope/transfer/schema"
)

// largest is the largest integer that every JSON reader holds exactly.
const largest = 1<<53 - 1

// linter collects the problems of all files.
type linter struct {
	files    map[string]*Node
	problems Problems
	codes    map[string]bool   // members of ErrorCode
	tags     map[string]string // frame tag to file
	titles   map[string]*Node  // title to the first schema that has it
}

// Lint checks the files against the rules of README.md, then against the
// meta-schema.
func Lint(folder fs.FS, files []*Node) error {
	l := &linter{files: map[string]*Node{}, codes: map[string]bool{}, tags: map[string]string{}, titles: map[string]*Node{}}
	for _, f := range files {
		l.files[f.File] = f
	}
	for _, code := range l.files["common"+schema.Suffix].Get("$defs").Get("ErrorCode").Strings("enum") {
		l.codes[code] = true
	}
	for _, f := range files {
		l.file(f)
	}
	l.toolPairs()
	if len(l.problems) > 0 {
		return l.problems
	}
	set, err := schema.CompileFS(folder)
	if err != nil {
		return fmt.Errorf("the schemas do not compile: %w", err)
	}
	return validExamples(set, files)
}

func (l *linter) report(n *Node, what, remedy string, args ...any) {
	l.problems = append(l.problems, &Problem{n.File, n.Pointer, what, fmt.Sprintf(remedy, args...)})
}

// file checks what belongs to a file as a whole.
func (l *linter) file(f *Node) {
	if f.File == operationsFile {
		l.operations(f)
		return
	}
	if !strings.HasSuffix(f.File, schema.Suffix) || f.Kind != '{' {
		l.report(f, "is no schema file", "name it <name>%s and write an object, or remove it", schema.Suffix)
		return
	}
	if got, want := f.Str("$schema"), "https://json-schema.org/draft/2020-12/schema"; got != want {
		l.report(f, fmt.Sprintf("$schema is %q", got), "write %q", want)
	}
	if got, want := f.Str("$id"), schema.Base+f.File; got != want {
		l.report(f, fmt.Sprintf("$id is %q", got), "write %q", want)
	}
	l.named(f)
	if strings.HasPrefix(f.File, "frames/") {
		l.frame(f)
	}
	if f.File == "common"+schema.Suffix {
		l.keywords(f, []string{"$schema", "$id", "title", "description", "$defs"})
	} else {
		l.schema(f)
		if f.Str("type") != "object" {
			l.report(f, "is not an object", "write \"type\": \"object\"; other shared types belong in $defs")
		}
	}
	defs := f.Get("$defs")
	if defs == nil {
		return
	}
	for _, key := range defs.Keys {
		l.named(defs.Members[key])
		l.schema(defs.Members[key])
	}
}

// named checks title and description of a file or a definition.
func (l *linter) named(n *Node) {
	title := n.Str("title")
	if !isGoName(title) {
		l.report(n, fmt.Sprintf("title %q is no exported Go name", title), "give it a title like TransferInit; the Go and TypeScript types are named by it")
	}
	l.description(n)
	if first, ok := l.titles[title]; !ok {
		l.titles[title] = n
	} else if !sameShape(first, n) {
		l.report(n, fmt.Sprintf("title %s is also the title of schema/%s#%s, which is not the same but for additionalProperties", title, first.File, first.Pointer), "give one of them another title")
	}
}

// sameShape compares two definitions that share a Go type.
func sameShape(a, b *Node) bool {
	switch {
	case a.Kind != b.Kind || a.Text != b.Text || len(a.Items) != len(b.Items):
		return false
	case a.Kind == '[':
		for i := range a.Items {
			if !sameShape(a.Items[i], b.Items[i]) {
				return false
			}
		}
	case a.Kind == '{':
		for _, key := range append(append([]string{}, a.Keys...), b.Keys...) {
			if key == "additionalProperties" || key == "description" {
				continue
			}
			if a.Members[key] == nil || b.Members[key] == nil || !sameShape(a.Members[key], b.Members[key]) {
				return false
			}
		}
	}
	return true
}

func isGoName(s string) bool {
	for i, c := range s {
		upper, lower, digit := 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9'
		if i == 0 && !upper || !upper && !lower && !digit {
			return false
		}
	}
	return s != ""
}

// description checks that a description begins with a verb ("Names one
// transfer"): Go puts the name before it, TypeScript and the tools do not.
func (l *linter) description(n *Node) {
	d := n.Get("description")
	if d == nil {
		l.report(n, "has no description", "describe it, beginning with a verb: \"Names one transfer.\"")
		return
	}
	verb, _, _ := strings.Cut(d.Text, " ")
	verb = strings.TrimRight(verb, ",;:.")
	if len(verb) < 2 || verb[0] < 'A' || verb[0] > 'Z' || !strings.HasSuffix(verb, "s") {
		l.report(d, fmt.Sprintf("the description begins with %q", verb), "begin with a verb after the name that is left out: \"Names one transfer.\"")
	}
}

// frame checks what only frames have.
func (l *linter) frame(f *Node) {
	l.oneOf(f, "x-from", "foot", "brain", "both")
	l.oneOf(f, "x-lane", "control", "data")
	if f.Str("x-section") == "" {
		l.report(f, "has no x-section", "name the section of the specification that it follows")
	}
	l.hasExample(f)
	tag := f.Get("properties").Get("type").Str("const")
	switch {
	case tag == "":
		l.report(f, "has no tag", "give it a required property type with a const")
	case f.File != "frames/"+strings.ReplaceAll(tag, ".", "_")+schema.Suffix:
		l.report(f, fmt.Sprintf("its tag is %q", tag), "name the file frames/%s%s", strings.ReplaceAll(tag, ".", "_"), schema.Suffix)
	case l.tags[tag] != "":
		l.report(f, fmt.Sprintf("its tag %q is that of schema/%s", tag, l.tags[tag]), "give it another const")
	}
	l.tags[tag] = f.File
	if required := f.Strings("required"); len(required) == 0 || required[0] != "type" {
		l.report(f, "does not require type", "put \"type\" first in required")
	}
	if properties := f.Get("properties"); properties != nil && (len(properties.Keys) == 0 || properties.Keys[0] != "type") {
		l.report(properties, "does not begin with type", "put the property type first: readers look for it there")
	}
}

func (l *linter) oneOf(n *Node, key string, allowed ...string) {
	got := n.Str(key)
	for _, a := range allowed {
		if got == a {
			return
		}
	}
	l.report(n, fmt.Sprintf("%s is %q", key, got), "write one of %s", strings.Join(allowed, ", "))
}

// toolPairs checks that each tool has an input and an output.
func (l *linter) toolPairs() {
	for name, f := range l.files {
		if path.Dir(name) != "tools" {
			continue
		}
		base, isInput := strings.CutSuffix(name, ".input"+schema.Suffix)
		if !isInput {
			base, _ = strings.CutSuffix(name, ".output"+schema.Suffix)
		}
		if l.files[base+".input"+schema.Suffix] == nil || l.files[base+".output"+schema.Suffix] == nil {
			l.report(f, "is half a tool", "write both %s.input%s and %s.output%s", base, schema.Suffix, base, schema.Suffix)
		}
	}
}

// place says which rules of openness hold in a file.
func place(file string) string {
	switch {
	case strings.HasPrefix(file, "frames/"):
		return "frame"
	case strings.HasSuffix(file, ".input"+schema.Suffix), strings.HasSuffix(file, ".request"+schema.Suffix):
		return "input"
	case file == "common"+schema.Suffix:
		return "common"
	}
	return "output"
}

// resolve follows a $ref to the schema it names.
func (l *linter) resolve(ref *Node) *Node {
	return resolve(l.files, ref.File, ref.Text)
}

func resolve(files map[string]*Node, from, ref string) *Node {
	file, fragment, ok := strings.Cut(ref, "#/$defs/")
	if !ok {
		return nil
	}
	if file == "" {
		file = from
	} else {
		file = path.Join(path.Dir(from), file)
	}
	return files[file].Get("$defs").Get(fragment)
}

func quoted(keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = strconv.Quote(k)
	}
	return strings.Join(out, ", ")
}

// Package vectors holds example messages for every frame and every tool: valid
// ones, and invalid ones with the place, the rule and the code that a refusal must
// name. README.md describes the files, which tests of any language can read.
//
// It refuses a file that says more or less than the format has, so that no slip
// of the pen turns a vector into one that tests nothing.
package vectors

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed *.json frames tools
var files embed.FS

// Files are the vectors of this project.
func Files() fs.FS { return files }

// General is the file of messages that are no frame at all; it has no schema.
const General = "messages.json"

// Roles are who can receive a frame.
var Roles = []string{"brain", "foot"}

// File is the vectors of one schema.
type File struct {
	Name    string   `json:"-"`                // path below this folder
	Schema  string   `json:"schema,omitzero"`  // path below schema/; "" in General
	To      []string `json:"to,omitzero"`      // who may receive the frame; none for a tool
	Valid   []Vector `json:"valid,omitzero"`   // must be accepted
	Invalid []Vector `json:"invalid,omitzero"` // must be refused as they say
}

// Vector is one message. Exactly one of Message and Text is set.
type Vector struct {
	Name     string         `json:"name"`
	Features []string       `json:"features,omitzero"` // in force on the connection
	Message  jsontext.Value `json:"message,omitzero"`  // the message, where its spelling does not matter
	Text     *string        `json:"text,omitzero"`     // the message as it stands, where it does
	Place    *string        `json:"place,omitzero"`    // JSON pointer, "" for the whole
	Rule     string         `json:"rule,omitzero"`     // the broken rule
	Code     string         `json:"code,omitzero"`     // the error code
	Stricter string         `json:"stricter,omitzero"` // why the schema alone accepts it
}

// Bytes is the message to send, its repetitions written out.
func (v *Vector) Bytes() []byte {
	if v.Text != nil {
		return []byte(Expand(*v.Text))
	}
	return []byte(Expand(string(v.Message)))
}

var repetition = regexp.MustCompile(`<<(.+?)\*([0-9]{1,7})>>`)

// Expand writes out repetitions: <<ab*3>> is ababab.
func Expand(text string) string {
	return repetition.ReplaceAllStringFunc(text, func(found string) string {
		parts := repetition.FindStringSubmatch(found)
		times, err := strconv.Atoi(parts[2])
		if err != nil {
			return found // cannot be: up to seven digits
		}
		return strings.Repeat(parts[1], times)
	})
}

// Load reads all files of a folder, ordered by name, and checks what can be
// checked without the schemas.
func Load(folder fs.FS) ([]*File, error) {
	var names []string
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, ".json") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	var all []*File
	for _, name := range names {
		f, err := read(folder, name)
		if err != nil {
			return nil, fmt.Errorf("schema/vectors/%s: %w", name, err)
		}
		all = append(all, f)
	}
	return all, nil
}

func read(folder fs.FS, name string) (*File, error) {
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name}
	if err := json.Unmarshal(text, f, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w; README.md lists the members there are", err)
	}
	return f, f.check()
}

// check finds what no vector may look like.
func (f *File) check() error {
	if (f.Schema == "") != (f.Name == General) {
		return fmt.Errorf("schema is %q; name the schema file, in every file but %s", f.Schema, General)
	}
	for _, role := range f.To {
		if !slices.Contains(Roles, role) {
			return fmt.Errorf("to has %q; write brain, foot or both", role)
		}
	}
	if len(f.Invalid) == 0 || len(f.Valid) == 0 && f.Schema != "" {
		return fmt.Errorf("has no invalid or no valid message; write at least one of each")
	}
	seen := map[string]bool{}
	for i := range f.Valid {
		v := &f.Valid[i]
		if err := v.check(seen); err != nil {
			return err
		}
		if v.Place != nil || v.Rule != "" || v.Code != "" || v.Stricter != "" {
			return fmt.Errorf("valid %q has place, rule, code or stricter; remove them or move it to invalid", v.Name)
		}
	}
	for i := range f.Invalid {
		v := &f.Invalid[i]
		if err := v.check(seen); err != nil {
			return err
		}
		if err := v.checkRefusal(); err != nil {
			return err
		}
	}
	return nil
}

func (v *Vector) check(seen map[string]bool) error {
	switch {
	case v.Name == "":
		return fmt.Errorf("a vector has no name; say in a few words what is special about it")
	case seen[v.Name]:
		return fmt.Errorf("%q is the name of two vectors; give one another name", v.Name)
	case (v.Message == nil) == (v.Text == nil):
		return fmt.Errorf("%q has not exactly one of message and text; write one", v.Name)
	}
	seen[v.Name] = true
	return nil
}

// Rules are the names of the rules that a refusal can name: keywords of JSON
// Schema, then those that no schema states.
var Rules = []string{
	"type", "required", "const", "enum", "not", "minLength", "maxLength", "pattern", "format", "contentEncoding", "anyOf",
	"minimum", "maximum", "minItems", "maxItems",
	"null", "unknown", "duplicate", "syntax", "numberForm",
}

func (v *Vector) checkRefusal() error {
	switch {
	case v.Place == nil:
		return fmt.Errorf("%q has no place; write the JSON pointer of what is wrong, \"\" for the whole", v.Name)
	case *v.Place != "" && !strings.HasPrefix(*v.Place, "/"):
		return fmt.Errorf("%q: place %q is no JSON pointer; begin it with /", v.Name, *v.Place)
	case !slices.Contains(Rules, v.Rule):
		return fmt.Errorf("%q: rule %q is not known; write one of %s", v.Name, v.Rule, strings.Join(Rules, ", "))
	case v.Code == "":
		return fmt.Errorf("%q has no code; write the error code of the refusal", v.Name)
	}
	return nil
}

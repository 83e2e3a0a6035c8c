package spec

import (
	"errors"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/vancetope/transfer/schema"
)

// Kind is the JSON type of a schema.
type Kind string

// The kinds that have generated code.
const (
	Object  Kind = "object"
	Array   Kind = "array"
	String  Kind = "string"
	Integer Kind = "integer"
	Boolean Kind = "boolean"
)

// Type is a schema as the stages see it. One that several places refer to is one
// *Type.
type Type struct {
	Node        *Node
	Name        string // Go name, "" for a schema without a title
	Package     string // common, frames, tools or api
	Key         string // name in $defs or base name of the file
	Description string
	Kind        Kind
	Nullable    bool

	// Of an object.
	Open      bool
	Fields    []*Field
	Condition *Condition

	// Of an array.
	Items              *Type
	MinItems, MaxItems int

	// Of a string.
	MinLength, MaxLength int // MaxLength 0: enum or const
	Pattern, Format      string
	Base64               bool
	MaxBytes             int // of base64, decoded
	Enum                 []string
	Const                string
	Not                  []string

	// Of an integer.
	Min, Max int64

	// Codes are the error codes (x-error-code) by rule; "*" is any.
	Codes map[string]string
}

// Field is a property of an object.
type Field struct {
	Name        string // in JSON
	Type        *Type
	Description string
	Required    bool
	EmitNull    bool   // absent reads as null, null is always written
	NullFeature string // null is for connections with this feature
	Feature     string // without it the member reads as one that is not known
	Codes       map[string]string
}

// Optional reports whether the member may be left out when writing.
func (f *Field) Optional() bool { return !f.Required && !f.EmitNull }

// Condition: when the boolean member If has the value Is, the members Then are
// required.
type Condition struct {
	If   string
	Is   bool
	Then []string
}

// Frame is a message of the WebSocket.
type Frame struct {
	Type    *Type
	Tag     string
	From    string // foot, brain or both
	Lane    string // control or data
	Feature string
	Section string
}

// ToBrain reports whether a Brain can receive it.
func (f *Frame) ToBrain() bool { return f.From != "brain" }

// ToFoot reports whether a Foot can receive it.
func (f *Frame) ToFoot() bool { return f.From != "foot" }

// Tool is an LLM tool.
type Tool struct {
	Name          string
	Input, Output *Type
}

// Parameter of an operation.
type Parameter struct {
	Name, In string
	Type     *Type
	Field    *Field
}

// Operation is a route of the HTTP API.
type Operation struct {
	ID, Method, Path, Summary string
	Parameters                []*Parameter
	Request                   *Type // the body, nil without one
	Response                  *Type
	NoToken                   bool // whoever asks needs none
}

// API is the HTTP API.
type API struct {
	Title, Description, Version string
	Operations                  []*Operation
	Error                       *Type
}

// Model is all of schema/.
type Model struct {
	Files    []*Node
	Types    []*Type // the named ones, by package, then in the order of the files
	Frames   []*Frame
	Tools    []*Tool
	API      *API
	Features []string // in order of name
}

// Load reads, lints and models a folder.
func Load(folder fs.FS) (*Model, error) {
	files, err := ReadFolder(folder)
	if err != nil {
		return nil, err
	}
	if err := Lint(folder, files); err != nil {
		return nil, err
	}
	return build(files)
}

// InPackage returns the named types of a package, one for each Go name.
func (m *Model) InPackage(pkg string) []*Type {
	var out []*Type
	seen := map[string]bool{}
	for _, t := range m.Types {
		if t.Package == pkg && !seen[t.Name] {
			seen[t.Name] = true
			out = append(out, t)
		}
	}
	return out
}

type builder struct {
	files map[string]*Node
	types map[*Node]*Type
	model *Model
}

func build(files []*Node) (*Model, error) {
	b := &builder{files: map[string]*Node{}, types: map[*Node]*Type{}, model: &Model{Files: files}}
	for _, f := range files {
		b.files[f.File] = f
	}
	b.define(b.files["common"+schema.Suffix])
	for _, f := range files {
		if f.File != operationsFile {
			b.define(f)
		}
	}
	b.frames()
	b.tools()
	if ops := b.files[operationsFile]; ops != nil {
		b.api(ops)
	}
	b.features()
	if len(b.model.Frames) == 0 {
		return nil, errors.New("schema/frames holds no frame")
	}
	return b.model, nil
}

// define models a file and its definitions; the second time it does nothing.
func (b *builder) define(f *Node) {
	for _, key := range keysOf(f.Get("$defs")) {
		b.typeOf(f.Get("$defs").Members[key])
	}
	if f != nil && f.File != "common"+schema.Suffix {
		b.typeOf(f)
	}
}

func keysOf(n *Node) []string {
	if n == nil {
		return nil
	}
	return n.Keys
}

func packageOf(file string) string {
	if dir := path.Dir(file); dir != "." {
		return dir
	}
	return "common"
}

// typeOf returns the type of a schema, following a $ref.
func (b *builder) typeOf(n *Node) *Type {
	if ref := n.Str("$ref"); ref != "" {
		return b.typeOf(resolve(b.files, n.File, ref))
	}
	if t, ok := b.types[n]; ok {
		return t
	}
	t := &Type{
		Node: n, Name: n.Str("title"), Package: packageOf(n.File),
		Key: path.Base(n.Pointer), Description: n.Str("description"), Codes: codesOf(n),
	}
	if n.Pointer == "" {
		t.Key = strings.TrimSuffix(path.Base(n.File), schema.Suffix)
	}
	b.types[n] = t
	if types := n.Strings("type"); len(types) == 2 {
		t.Kind, t.Nullable = Kind(types[0]), true
	} else {
		t.Kind = Kind(n.Str("type"))
	}
	b.fill(t, n)
	if t.Name != "" {
		b.model.Types = append(b.model.Types, t)
	}
	return t
}

func (b *builder) fill(t *Type, n *Node) {
	number := func(key string) int { i, _ := n.Int(key); return int(i) }
	switch t.Kind {
	case Object:
		b.object(t, n)
	case Array:
		t.Items, t.MinItems, t.MaxItems = b.typeOf(n.Get("items")), number("minItems"), number("maxItems")
	case String:
		t.MinLength, t.MaxLength = number("minLength"), number("maxLength")
		t.Pattern, t.Format, t.Const = n.Str("pattern"), n.Str("format"), n.Str("const")
		t.Enum, t.Not = n.Strings("enum"), n.Get("not").Strings("enum")
		if n.Str("contentEncoding") != "" {
			t.Base64 = true
			t.MaxBytes, _ = DecodedLimit(n)
		}
	case Integer:
		t.Min, _ = n.Int("minimum")
		t.Max, _ = n.Int("maximum")
	}
}

func (b *builder) object(t *Type, n *Node) {
	t.Open = n.Get("additionalProperties").Kind == 't'
	required := map[string]bool{}
	for _, name := range n.Strings("required") {
		required[name] = true
	}
	properties := n.Get("properties")
	for _, name := range properties.Keys {
		p := properties.Members[name]
		f := &Field{Name: name, Type: b.typeOf(p), Required: required[name], Description: p.Str("description"), Codes: codesOf(p)}
		if f.Description == "" {
			f.Description = f.Type.Description
		}
		if p.Get("$ref") != nil {
			for rule, code := range f.Type.Codes {
				if _, own := f.Codes[rule]; !own {
					f.Codes[rule] = code
				}
			}
		}
		f.EmitNull = p.Get("x-emit-null") != nil
		f.NullFeature = p.Get("x-feature").Str("null")
		if feature := p.Get("x-feature"); feature != nil && feature.Kind == '"' {
			f.Feature = feature.Text
		}
		t.Fields = append(t.Fields, f)
	}
	if cond := n.Get("if"); cond != nil {
		name := cond.Get("properties").Keys[0]
		t.Condition = &Condition{
			If: name, Is: cond.Get("properties").Get(name).Get("const").Kind == 't',
			Then: n.Get("then").Strings("required"),
		}
	}
}

func codesOf(n *Node) map[string]string {
	codes := map[string]string{}
	c := n.Get("x-error-code")
	if c == nil {
		return codes
	}
	if c.Kind == '"' {
		codes["*"] = c.Text
	}
	for _, rule := range c.Keys {
		codes[rule] = c.Members[rule].Text
	}
	return codes
}

func (b *builder) frames() {
	for _, f := range b.model.Files {
		if packageOf(f.File) != "frames" {
			continue
		}
		b.model.Frames = append(b.model.Frames, &Frame{
			Type: b.types[f], Tag: f.Get("properties").Get("type").Str("const"),
			From: f.Str("x-from"), Lane: f.Str("x-lane"), Feature: f.Str("x-feature"), Section: f.Str("x-section"),
		})
	}
}

func (b *builder) tools() {
	for _, f := range b.model.Files {
		base, ok := strings.CutSuffix(f.File, ".input"+schema.Suffix)
		if packageOf(f.File) != "tools" || !ok {
			continue
		}
		b.model.Tools = append(b.model.Tools, &Tool{
			Name: path.Base(base), Input: b.types[f], Output: b.types[b.files[base+".output"+schema.Suffix]],
		})
	}
}

func (b *builder) api(ops *Node) {
	api := &API{Title: ops.Str("title"), Description: ops.Str("description"), Version: ops.Str("version")}
	api.Error = b.types[b.files[ops.Str("errors")]]
	for _, op := range ops.Get("operations").Items {
		o := &Operation{
			ID: op.Str("id"), Method: op.Str("method"), Path: ops.Str("base") + op.Str("path"),
			Summary: op.Str("summary"), Response: b.types[b.files[op.Str("response")]],
			NoToken: op.Str("credential") == "none",
		}
		if request := op.Str("request"); request != "" {
			o.Request = b.types[b.files[request]]
		}
		for _, name := range op.Strings("parameters") {
			p := ops.Get("parameters").Get(name)
			s := p.Get("schema")
			t := b.typeOf(s)
			description := s.Str("description")
			if description == "" {
				description = t.Description
			}
			in := p.Str("in")
			o.Parameters = append(o.Parameters, &Parameter{name, in, t,
				&Field{Name: name, Type: t, Description: description, Required: in == "path", Codes: codesOf(s)}})
		}
		api.Operations = append(api.Operations, o)
	}
	b.model.API = api
}

// features collects the names of all features that the schemas speak of.
func (b *builder) features() {
	seen := map[string]bool{}
	for _, f := range b.model.Frames {
		seen[f.Feature] = true
		for _, field := range f.Type.Fields {
			seen[field.NullFeature], seen[field.Feature] = true, true
		}
	}
	delete(seen, "")
	for name := range seen {
		b.model.Features = append(b.model.Features, name)
	}
	sort.Strings(b.model.Features)
}

package difftest

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Tree is a JSON text that can be edited into what no JSON library would write:
// members that stand twice, odd literals, odd spellings of names.
type Tree struct {
	Kind  byte   // '{', '[' or 0 for a leaf
	Raw   string // of a leaf
	Names []string
	Below []*Tree
}

// Leaf returns a leaf with a literal as it stands.
func Leaf(raw string) *Tree { return &Tree{Raw: raw} }

// Text returns a leaf with a quoted string.
func Text(s string) *Tree {
	quoted, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return Leaf(`"\ufffd"`)
	}
	return Leaf(string(quoted))
}

// ParseTree reads a text that is valid JSON.
func ParseTree(text []byte) (*Tree, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	return parseTree(d)
}

func parseTree(d *jsontext.Decoder) (*Tree, error) {
	kind := d.PeekKind()
	if kind != '{' && kind != '[' {
		raw, err := d.ReadValue()
		return Leaf(string(raw)), err
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	t := &Tree{Kind: byte(kind)}
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		if kind == '{' {
			name, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			t.Names = append(t.Names, string(name))
		}
		below, err := parseTree(d)
		if err != nil {
			return nil, err
		}
		t.Below = append(t.Below, below)
	}
	_, err := d.ReadToken()
	return t, err
}

// String writes the text.
func (t *Tree) String() string {
	var out strings.Builder
	t.write(&out)
	return out.String()
}

func (t *Tree) write(out *strings.Builder) {
	if t.Kind == 0 {
		out.WriteString(t.Raw)
		return
	}
	out.WriteByte(t.Kind)
	for i, below := range t.Below {
		if i > 0 {
			out.WriteByte(',')
		}
		if t.Kind == '{' {
			out.WriteString(t.Names[i])
			out.WriteByte(':')
		}
		below.write(out)
	}
	out.WriteByte(t.Kind + 2) // the closing bracket
}

// Member returns the first member of a name, nil if there is none.
func (t *Tree) Member(name string) *Tree {
	for i, n := range t.Names {
		if n == `"`+name+`"` {
			return t.Below[i]
		}
	}
	return nil
}

// Copy copies the whole tree.
func (t *Tree) Copy() *Tree {
	c := &Tree{Kind: t.Kind, Raw: t.Raw, Names: append([]string(nil), t.Names...)}
	for _, below := range t.Below {
		c.Below = append(c.Below, below.Copy())
	}
	return c
}

// Each calls visit for t and every tree below it.
func (t *Tree) Each(visit func(*Tree)) {
	visit(t)
	for _, below := range t.Below {
		below.Each(visit)
	}
}

// Drop removes the i-th member or item.
func (t *Tree) Drop(i int) {
	if t.Kind == '{' {
		t.Names = append(t.Names[:i:i], t.Names[i+1:]...)
	}
	t.Below = append(t.Below[:i:i], t.Below[i+1:]...)
}

// Add appends a member with a name as it stands, quotes included.
func (t *Tree) Add(rawName string, below *Tree) {
	t.Names = append(t.Names, rawName)
	t.Below = append(t.Below, below)
}

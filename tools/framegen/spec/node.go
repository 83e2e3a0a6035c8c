package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is a JSON value that remembers the order of its members and where it
// stands.
type Node struct {
	File    string // path below schema/
	Pointer string // JSON pointer in the file
	Kind    byte   // { [ " 0 t f n, as jsontext names kinds
	Keys    []string
	Members map[string]*Node
	Items   []*Node
	Text    string // contents of a string, literal of a number
}

// Get returns a member, nil if there is none; n may be nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	return n.Members[key]
}

// Str returns the text of a string member, "" if there is none.
func (n *Node) Str(key string) string {
	if m := n.Get(key); m != nil && m.Kind == '"' {
		return m.Text
	}
	return ""
}

// Int returns an integer member.
func (n *Node) Int(key string) (int64, bool) {
	m := n.Get(key)
	if m == nil || m.Kind != '0' {
		return 0, false
	}
	i, err := strconv.ParseInt(m.Text, 10, 64)
	return i, err == nil
}

// List returns the items of an array; n may be nil.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Strings returns the texts of a member that is an array of strings.
func (n *Node) Strings(key string) []string {
	m := n.Get(key)
	if m == nil {
		return nil
	}
	var out []string
	for _, item := range m.Items {
		if item.Kind == '"' {
			out = append(out, item.Text)
		}
	}
	return out
}

// ReadFolder reads all JSON files of a folder, ordered by path.
func ReadFolder(folder fs.FS) ([]*Node, error) {
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
	var files []*Node
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		file, err := Parse(name, text)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// Parse reads one file.
func Parse(name string, text []byte) (*Node, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	n, err := readNode(d, name, "")
	if err == nil {
		if _, end := d.ReadToken(); !errors.Is(end, io.EOF) {
			err = errors.New("something follows the JSON value")
		}
	}
	if err != nil {
		return nil, &Problem{File: name, What: err.Error(), Remedy: "write one valid JSON value"}
	}
	return n, nil
}

func readNode(d *jsontext.Decoder, file, pointer string) (*Node, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &Node{File: file, Pointer: pointer, Kind: byte(token.Kind())}
	switch n.Kind {
	case '"', '0':
		n.Text = token.String()
	case '{':
		n.Members = map[string]*Node{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			n.Keys = append(n.Keys, key)
			if n.Members[key], err = readNode(d, file, pointer+"/"+escape(key)); err != nil {
				return nil, err
			}
		}
		_, err = d.ReadToken()
	case '[':
		for d.PeekKind() != ']' {
			item, err := readNode(d, file, fmt.Sprintf("%s/%d", pointer, len(n.Items)))
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, item)
		}
		_, err = d.ReadToken()
	}
	return n, err
}

func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// Problem is one thing that is wrong in schema/.
type Problem struct {
	File, Pointer string
	What, Remedy  string
}

func (p *Problem) Error() string {
	return fmt.Sprintf("schema/%s#%s: %s; %s", p.File, p.Pointer, p.What, p.Remedy)
}

// Problems is all that is wrong, in the order of the files.
type Problems []*Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Error()
	}
	return strings.Join(lines, "\n")
}

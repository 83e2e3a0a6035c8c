package main

import (
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vancetope/transfer/schema"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

// bundle is all of schema/ in one document: what a peer can notice, and nothing
// else. Descriptions, titles and examples may change freely, so they are left out.
func bundle(m *spec.Model) (*spec.Node, error) {
	b := &bundler{defs: object()}
	frames, tools, operations := object(), object(), object()
	for _, f := range m.Frames {
		set(frames, f.Tag, object(
			"from", text(f.From), "lane", text(f.Lane), "feature", text(f.Feature), "schema", b.schema(f.Type.Node)))
	}
	for _, t := range m.Tools {
		set(tools, t.Name, object("input", b.schema(t.Input.Node), "output", b.schema(t.Output.Node)))
	}
	for _, op := range m.API.Operations {
		parameters := object()
		for _, p := range op.Parameters {
			set(parameters, p.Name, object("in", text(p.In), "schema", b.typeOrRef(p.Type)))
		}
		route := object(
			"method", text(op.Method), "path", text(op.Path), "parameters", parameters, "response", b.typeOrRef(op.Response))
		if op.Request != nil {
			set(route, "request", b.typeOrRef(op.Request))
		}
		set(operations, op.ID, route)
	}
	b.addCommon(m)
	whole := object("frames", frames, "tools", tools, "operations", operations, "error", b.typeOrRef(m.API.Error), "$defs", b.defs)
	// Read again, so that every value knows its place.
	return spec.Parse("baseline.json", whole.AppendJSON(nil))
}

// indented is how a bundle is kept on the disk: a change is a line.
func indented(whole *spec.Node) ([]byte, error) {
	out := jsontext.Value(whole.AppendJSON(nil))
	if err := out.Indent(jsontext.WithIndent(" ")); err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}

type bundler struct {
	defs *spec.Node
}

// addCommon adds the shared definitions; those of a file are added with it.
func (b *bundler) addCommon(m *spec.Model) {
	for _, f := range m.Files {
		b.addDefinitions(f)
	}
}

func (b *bundler) addDefinitions(f *spec.Node) {
	defs := f.Get("$defs")
	if defs == nil {
		return
	}
	for _, key := range defs.Keys {
		set(b.defs, definitionName(f.File, key), b.schema(defs.Members[key]))
	}
}

// definitionName keeps the definitions of different files apart.
func definitionName(file, key string) string {
	if file == "common"+schema.Suffix {
		return key
	}
	return strings.TrimSuffix(path.Base(file), schema.Suffix) + "." + key
}

// typeOrRef is a schema, or a reference if it is a shared definition.
func (b *bundler) typeOrRef(t *spec.Type) *spec.Node {
	if key, ok := strings.CutPrefix(t.Node.Pointer, "/$defs/"); ok && !strings.Contains(key, "/") {
		return object("$ref", text("#/$defs/"+definitionName(t.Node.File, key)))
	}
	return b.schema(t.Node)
}

// unnoticed are the keywords that no peer can notice.
var unnoticed = map[string]bool{
	"$schema": true, "$id": true, "$defs": true, "title": true, "description": true, "examples": true,
	"x-from": true, "x-lane": true, "x-section": true, "x-enum-varnames": true,
}

// schema copies a schema without what nobody notices.
func (b *bundler) schema(n *spec.Node) *spec.Node {
	out := &spec.Node{Kind: n.Kind, Text: n.Text}
	for _, item := range n.Items {
		out.Items = append(out.Items, b.schema(item))
	}
	if n.Kind != '{' {
		return out
	}
	out.Members = map[string]*spec.Node{}
	names := strings.HasSuffix(n.Pointer, "/properties")
	for _, key := range n.Keys {
		member := n.Members[key]
		switch {
		case names:
			set(out, key, b.schema(member))
		case key == "$ref":
			set(out, key, text("#/$defs/"+referredName(member)))
		case key == "x-feature" && n.Pointer == "": // stands beside the frame's schema
		case !unnoticed[key]:
			set(out, key, b.schema(member))
		}
	}
	return out
}

func referredName(ref *spec.Node) string {
	file, key, _ := strings.Cut(ref.Text, "#/$defs/")
	if file == "" {
		return definitionName(ref.File, key)
	}
	return definitionName(path.Join(path.Dir(ref.File), file), key)
}

func text(s string) *spec.Node { return &spec.Node{Kind: '"', Text: s} }

// object takes keys and values in turn.
func object(pairs ...any) *spec.Node {
	n := &spec.Node{Kind: '{', Members: map[string]*spec.Node{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		set(n, pairs[i].(string), pairs[i+1].(*spec.Node))
	}
	return n
}

func set(n *spec.Node, key string, value *spec.Node) {
	if n.Members[key] == nil {
		n.Keys = append(n.Keys, key)
	}
	n.Members[key] = value
}

package main

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vancetope/transfer/schema"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

// generateToolSchemas returns schemas.go of gen/tools: what an LLM client is told
// of each tool, without a reference to anything else.
func generateToolSchemas(m *spec.Model) ([]byte, error) {
	var out strings.Builder
	out.WriteString(codeHeader + "package tools\n\nimport \"encoding/json\"\n\n")
	out.WriteString("// Schema is what a client is told of a tool. The schemas refer to nothing\n// outside themselves.\ntype Schema struct {\nDescription string\nInput, Output json.RawMessage\n}\n\n")
	out.WriteString("// Names lists the tools in alphabetical order.\nvar Names = []string{\n")
	for _, tool := range m.Tools {
		fmt.Fprintf(&out, "%q,\n", tool.Name)
	}
	out.WriteString("}\n\n// Schemas has every tool by its name.\nvar Schemas = map[string]Schema{\n")
	inliner := spec.NewInliner(m)
	for _, tool := range m.Tools {
		fmt.Fprintf(&out, "%q: {\nDescription: %q,\n", tool.Name, tool.Input.Description)
		for _, side := range []struct {
			name string
			t    *spec.Type
		}{{"Input", tool.Input}, {"Output", tool.Output}} {
			text := appendSchema(nil, inliner.Inline(side.t.Node), side.t.Node.Pointer == "")
			if !jsontext.Value(text).IsValid() {
				return nil, fmt.Errorf("schema of %s: inlined to invalid JSON", tool.Name)
			}
			fmt.Fprintf(&out, "%s: json.RawMessage(%s),\n", side.name, goString(string(text)))
		}
		out.WriteString("},\n")
	}
	out.WriteString("}\n")
	return formatGo("tools/schemas.go", out.String())
}

// appendSchema writes a schema as JSON, without what means nothing outside
// schema/. The outermost title and description are the tool's own business.
func appendSchema(dst []byte, n *spec.Node, outermost bool) []byte {
	switch n.Kind {
	case '{':
		dst = append(dst, '{')
		inProperties := strings.HasSuffix(n.Pointer, "/properties")
		first := true
		for _, key := range n.Keys {
			if !inProperties && (notInDocuments[key] || outermost && key == "description") {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendString(dst, key)
			dst = append(dst, ':')
			dst = appendSchema(dst, n.Members[key], false)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSchema(dst, item, false)
		}
		return append(dst, ']')
	case '"':
		return appendString(dst, n.Text)
	case 't':
		return append(dst, "true"...)
	case 'f':
		return append(dst, "false"...)
	case 'n':
		return append(dst, "null"...)
	}
	return append(dst, n.Text...)
}

func appendString(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		panic("schema " + schema.Base + " holds invalid UTF-8") // the reader has refused it
	}
	return out
}

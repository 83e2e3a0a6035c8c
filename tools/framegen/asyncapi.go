package main

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// generateAsyncAPI returns gen/asyncapi.yaml: the WebSocket as AsyncAPI 3, told
// from Brain's side. What Brain receives a Foot sends, and the other way round.
func generateAsyncAPI(m *spec.Model) ([]byte, error) {
	doc := mapping(
		"asyncapi", scalar("3.1.0"),
		"info", mapping(
			"title", scalar("Vancetope transfer: the WebSocket between Foot and Brain"),
			"version", quotedScalar("1"),
			"description", scalar("Foot dials, says hello and is welcomed; then either side sends files. Told from Brain's side: what Brain receives, a Foot sends. x-lane says in which queue a sender keeps a message (control goes first), x-feature which extension has to be in force, x-section where the specification speaks of it, x-emit-null that an absent member reads as null and null is always written, x-error-code which error code a broken rule gets."),
			"license", mapping("name", scalar("Apache-2.0"))),
		"defaultContentType", scalar("application/json"),
		"servers", mapping("brain", mapping(
			"host", scalar("127.0.0.1:9990"), "protocol", scalar("ws"),
			"description", scalar("A Brain with its default settings; beyond loopback the protocol is wss."),
			"security", sequence(ref("#/components/securitySchemes/bearer")))),
		"channels", mapping("connection", asyncChannel(m)),
		"operations", asyncOperations(m),
		"components", mapping(
			"securitySchemes", mapping("bearer", mapping("type", scalar("http"), "scheme", scalar("bearer"), "description", scalar("A token of role foot."))),
			"messages", asyncMessages(m),
			"schemas", asyncSchemas(m)))
	return yamlText(doc)
}

func ref(to string) *yaml.Node { return mapping("$ref", scalar(to)) }

func asyncChannel(m *spec.Model) *yaml.Node {
	messages := mapping()
	for _, f := range m.Frames {
		put(messages, f.Type.Name, ref("#/components/messages/"+f.Type.Name))
	}
	return mapping(
		"address", scalar("/brain/{tenant}/ws"),
		"description", scalar("One connection of a Foot: text messages, each one JSON object."),
		"parameters", mapping("tenant", mapping("description", scalar("The tenant of the token."))),
		"messages", messages,
		"bindings", mapping("ws", mapping("method", scalar("GET"), "headers", mapping(
			"type", scalar("object"),
			"required", sequence(scalar("Sec-WebSocket-Protocol")),
			"properties", mapping("Sec-WebSocket-Protocol", mapping("type", scalar("string"), "const", scalar("vancetope.v1")))))))
}

// asyncOperations names one operation for each frame and direction.
func asyncOperations(m *spec.Model) *yaml.Node {
	out := mapping()
	for _, side := range []struct {
		action  string
		belongs func(*spec.Frame) bool
	}{{"receive", (*spec.Frame).ToBrain}, {"send", (*spec.Frame).ToFoot}} {
		for _, f := range m.Frames {
			if side.belongs(f) {
				put(out, side.action+f.Type.Name, mapping(
					"action", scalar(side.action), "channel", ref("#/channels/connection"),
					"summary", scalar(f.Type.Description),
					"messages", sequence(ref("#/channels/connection/messages/"+f.Type.Name))))
			}
		}
	}
	return out
}

func asyncMessages(m *spec.Model) *yaml.Node {
	out := mapping()
	for _, f := range m.Frames {
		examples := sequence()
		for _, example := range f.Type.Node.Get("examples").Items {
			examples.Content = append(examples.Content, mapping("payload", asyncNode(example, false)))
		}
		message := mapping("name", scalar(f.Tag), "title", scalar(f.Type.Name), "summary", scalar(f.Type.Description),
			"payload", ref("#/components/schemas/"+f.Type.Name), "examples", examples,
			"x-from", scalar(f.From), "x-lane", scalar(f.Lane), "x-section", scalar(f.Section))
		if f.Feature != "" {
			put(message, "x-feature", scalar(f.Feature))
		}
		put(out, f.Type.Name, message)
	}
	return out
}

// asyncSchemas is every schema that a frame refers to. AsyncAPI's own schema
// object is one of JSON Schema draft 7, in which what stands beside a $ref does
// not count; there it becomes a schema of its own.
func asyncSchemas(m *spec.Model) *yaml.Node {
	out, seen := mapping(), map[*spec.Type]bool{}
	var add func(t *spec.Type)
	add = func(t *spec.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		if isDefinition(t) {
			put(out, componentName(t), asyncNode(t.Node, true))
		}
		for _, f := range t.Fields {
			add(f.Type)
		}
		if t.Items != nil {
			add(t.Items)
		}
	}
	for _, f := range m.Frames {
		add(f.Type)
	}
	return out
}

// isDefinition reports whether a schema can be referred to: it is a file or one
// of a file's definitions.
func isDefinition(t *spec.Type) bool {
	name, ok := strings.CutPrefix(t.Node.Pointer, "/$defs/")
	return t.Node.Pointer == "" || ok && !strings.Contains(name, "/")
}

// notInAsyncAPI are the keywords of a file that the message says, or that name
// the file itself.
var notInAsyncAPI = map[string]bool{
	"$schema": true, "$id": true, "$defs": true, "examples": true, "x-from": true, "x-lane": true, "x-section": true, "x-enum-varnames": true,
}

// asyncNode writes a schema or, with isSchema false, any value.
func asyncNode(n *spec.Node, isSchema bool) *yaml.Node {
	if n.Kind != '{' && n.Kind != '[' {
		return schemaNode(n)
	}
	if n.Kind == '[' {
		out := sequence()
		for _, item := range n.Items {
			out.Content = append(out.Content, asyncNode(item, isSchema))
		}
		return out
	}
	out := mapping()
	names := strings.HasSuffix(n.Pointer, "/properties")
	for _, key := range n.Keys {
		member := n.Members[key]
		switch {
		case isSchema && !names && notInAsyncAPI[key]:
		case isSchema && !names && key == "$ref":
			target := ref("#/components/schemas/" + refersTo(member))
			if len(n.Keys) == 1 {
				return target
			}
			put(out, "allOf", sequence(target))
		default:
			put(out, key, asyncNode(member, isSchema && key != "const" && key != "enum"))
		}
	}
	return out
}

// refersTo is the name of the definition that a $ref names.
func refersTo(n *spec.Node) string {
	_, name, _ := strings.Cut(n.Text, "#/$defs/")
	return name
}

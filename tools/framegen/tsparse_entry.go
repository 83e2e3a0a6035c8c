package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// generateParse returns parse.ts: the tables of frames, tools and bodies, and the
// functions of the template that go by them.
func generateParse(m *spec.Model) []byte {
	var out strings.Builder
	out.WriteString(tsParseHeader)
	frames, tools, bodies := frameTable(m), toolTables(m), bodyTables(m)
	imports(&out, m)
	out.WriteString(featureType(m))
	template, err := sources.ReadFile("templates/parse.ts.txt")
	if err != nil {
		panic(err) // it is embedded
	}
	out.Write(template)
	out.WriteString("\n" + frames + "\n" + tools + "\n" + bodies)
	return []byte(out.String())
}

func imports(out *strings.Builder, m *spec.Model) {
	var api, tools []string
	for _, t := range apiBodies(m) {
		api = append(api, t.Name)
	}
	for _, tool := range m.Tools {
		tools = append(tools, tool.Input.Name, tool.Output.Name)
	}
	fmt.Fprintf(out, "import type {\n  %s,\n} from \"./api.js\";\n", strings.Join(api, ",\n  "))
	out.WriteString("import type { ErrorCode, TransferID } from \"./common.js\";\nimport { Fault, type Rule } from \"./fault.js\";\n")
	out.WriteString("import type { FrameType } from \"./frames.js\";\nimport type { Frame, FrameToBrain, FrameToFoot } from \"./guards.js\";\n")
	out.WriteString("import { scan } from \"./json.js\";\nimport { isValid, membersOf, read, type ObjectShape } from \"./read.js\";\nimport * as shapes from \"./shapes.js\";\n")
	fmt.Fprintf(out, "import type {\n  %s,\n} from \"./tools.js\";\n\n", strings.Join(tools, ",\n  "))
}

func featureType(m *spec.Model) string {
	return "/** A feature that the schemas speak of. */\nexport type Feature = " + strings.Join(quotedAll(m.Features), " | ") + ";\n"
}

func quotedAll(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = tsString(s)
	}
	return out
}

func frameTable(m *spec.Model) string {
	var out strings.Builder
	out.WriteString("const kinds: { readonly [T in FrameType]: Kind } = {\n")
	for _, f := range m.Frames {
		from, feature := "", ""
		if f.From != "both" {
			from = fmt.Sprintf(", from: %q", f.From)
		}
		if f.Feature != "" {
			feature = fmt.Sprintf(", feature: %q", f.Feature)
		}
		fmt.Fprintf(&out, "  %q: { shape: shapes.%s%s%s },\n", f.Tag, f.Type.Name, from, feature)
	}
	out.WriteString("};\n")
	return out.String()
}

func toolTables(m *spec.Model) string {
	var names, inputs, outputs, table strings.Builder
	for i, tool := range m.Tools {
		if i > 0 {
			names.WriteString(" | ")
		}
		fmt.Fprintf(&names, "%q", tool.Name)
		fmt.Fprintf(&inputs, "  %s: %s;\n", tool.Name, tool.Input.Name)
		fmt.Fprintf(&outputs, "  %s: %s;\n", tool.Name, tool.Output.Name)
		fmt.Fprintf(&table, "  %s: [shapes.%s, shapes.%s],\n", tool.Name, tool.Input.Name, tool.Output.Name)
	}
	return "/** The name of a tool. */\nexport type ToolName = " + names.String() + ";\n" +
		"\n/** The arguments of each tool. */\nexport interface ToolInputs {\n" + inputs.String() + "}\n" +
		"\n/** The result of each tool. */\nexport interface ToolOutputs {\n" + outputs.String() + "}\n" +
		"\nconst tools: { readonly [N in ToolName]: readonly [ObjectShape, ObjectShape] } = {\n" + table.String() + "};\n"
}

func bodyTables(m *spec.Model) string {
	var types, table strings.Builder
	for _, t := range apiBodies(m) {
		fmt.Fprintf(&types, "  %s: %s;\n", t.Name, t.Name)
		fmt.Fprintf(&table, "  %s: shapes.%s,\n", t.Name, t.Name)
	}
	return "/** The bodies of the HTTP API, by the names of their types. */\nexport interface Bodies {\n" + types.String() + "}\n" +
		"\nconst bodies: { readonly [N in keyof Bodies]: ObjectShape } = {\n" + table.String() + "};\n"
}

// apiBodies are the bodies of the HTTP API, without the definitions in them.
func apiBodies(m *spec.Model) []*spec.Type {
	return slices.DeleteFunc(m.InPackage("api"), func(t *spec.Type) bool { return t.Node.Pointer != "" })
}

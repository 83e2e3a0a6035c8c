package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/format"
	"regexp"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

//go:embed templates/imports.tmpl
var importsTemplate string

// object is a JSON object of an OpenAPI document.
type object = map[string]any

// dtoDocument assembles the OpenAPI document that oapi-codegen makes the structs
// and enums of one package from. It says nothing that a struct does not show:
// the rules are the decoders' business.
func dtoDocument(m *spec.Model, pkg string) object {
	schemas := object{}
	for i, t := range m.InPackage(pkg) {
		if isGoType(t) {
			schemas[t.Name] = withOrder(component(t, m, pkg), i)
		}
	}
	if pkg == "frames" {
		schemas["FrameType"] = frameTypeComponent(m)
	}
	return object{
		"openapi": "3.1.0", "info": object{"title": pkg, "version": "1"},
		"paths": object{}, "components": object{"schemas": schemas},
	}
}

func withOrder(o object, i int) object {
	o["x-order"] = i + 1
	return o
}

// component is the schema of a named type.
func component(t *spec.Type, m *spec.Model, pkg string) object {
	o := object{"description": lowerFirst(t.Description)}
	switch {
	case len(t.Enum) > 0:
		o["type"], o["enum"], o["x-enum-varnames"] = "string", t.Enum, varNames(t)
	case t.Format == "uuid":
		o["type"], o["format"] = "string", "uuid"
	default:
		var required []string
		properties := object{}
		for i, f := range t.Fields {
			properties[f.Name] = withOrder(property(f, pkg), i)
			if f.Required {
				required = append(required, f.Name)
			}
		}
		o["type"], o["properties"] = "object", properties
		if len(required) > 0 {
			o["required"] = required
		}
	}
	return o
}

// property is the schema of a field: a Go type, and the tags that Go and
// TypeScript need.
func property(f *spec.Field, pkg string) object {
	o := object{"x-go-name": goName(f.Name), "description": lowerFirst(f.Description)}
	goType := baseType(f.Type, pkg)
	switch {
	case f.Type.Const != "":
		o["type"], o["x-go-type"] = "string", "FrameType"
		o["x-oapi-codegen-extra-tags"] = object{"tstype": "'" + f.Type.Const + "',required"}
		return o
	case f.Type.Kind == spec.Array:
		o["type"] = "array"
		o["items"] = object{"type": jsonType(f.Type.Items), "x-go-type": goType[2:]}
	case f.Type.Base64:
		o["type"], o["x-go-type"], o["x-go-type-skip-optional-pointer"] = "string", goType, true
	default:
		o["type"], o["x-go-type"] = jsonType(f.Type), goType
	}
	if f.Type.Nullable {
		o["type"] = []string{jsonType(f.Type), "null"}
		tag := tsType(f.Type) + " | null"
		if !f.Optional() {
			tag += ",required"
			o["x-omitempty"] = false
		}
		o["x-oapi-codegen-extra-tags"] = object{"tstype": tag}
	}
	return o
}

func jsonType(t *spec.Type) string {
	return string(t.Kind)
}

// frameTypeComponent is the enum of all tags.
func frameTypeComponent(m *spec.Model) object {
	var tags, names []string
	for _, f := range m.Frames {
		tags = append(tags, f.Tag)
		names = append(names, varName(f.Tag))
	}
	return object{
		"type": "string", "description": "is the tag of a frame.",
		"enum": tags, "x-enum-varnames": names, "x-order": 0,
	}
}

// generateDTO runs oapi-codegen over an assembled document.
func generateDTO(document object, pkg string, options codegen.GenerateOptions) ([]byte, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("assembled document of %s: %w", pkg, err)
	}
	version := "DO NOT EDIT"
	imports := []codegen.AdditionalImport{{Package: "github.com/google/uuid"}}
	if pkg != "common" {
		imports = append(imports, codegen.AdditionalImport{Package: module + "/gen/common"})
	}
	code, err := codegen.Generate(doc, codegen.Configuration{
		PackageName:          pkg,
		Generate:             options,
		AdditionalImports:    imports,
		NoVCSVersionOverride: &version,
		Compatibility:        codegen.CompatibilityOptions{AlwaysPrefixEnumValues: true},
		OutputOptions: codegen.OutputOptions{
			SkipPrune:        true,
			SkipEnumValidate: true,
			NameNormalizer:   "ToCamelCaseWithInitialisms",
			PreferSkipOptionalPointerOnContainerTypes: true,
			UserTemplates: map[string]string{"imports.tmpl": importsTemplate},
			TypeMapping: &codegen.TypeMapping{String: codegen.FormatMapping{
				Formats: map[string]codegen.SimpleTypeSpec{"uuid": {Type: "uuid.UUID"}},
			}},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("oapi-codegen on %s: %w", pkg, err)
	}
	return format.Source(emptyStructs(bytes.TrimSpace([]byte(code))))
}

func tsType(t *spec.Type) string {
	if len(t.Enum) > 0 {
		return t.Name
	}
	return map[spec.Kind]string{spec.Integer: "number", spec.Boolean: "boolean"}[t.Kind] + map[bool]string{true: "string"}[t.Kind == spec.String]
}

var emptyObject = regexp.MustCompile(`(?m)^type (\w+) = map\[string\]interface\{\}$`)

// emptyStructs makes structs of objects without properties, which oapi-codegen
// takes for maps: our objects hold what their schema names and nothing else.
func emptyStructs(code []byte) []byte {
	return emptyObject.ReplaceAll(code, []byte("type $1 struct{}"))
}

package main

import (
	"strings"

	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// module is the import path of this module.
const module = "github.com/vancetope/transfer"

// goName returns the Go name of a JSON member, as the generator of the DTOs makes
// it: transferId is TransferID, eof is EOF.
func goName(member string) string { return codegen.ToCamelCaseWithInitialisms(member) }

// varName returns the part of a Go constant's name that stands for one value of
// an enum: client.file.upload.request is ClientFileUploadRequest.
func varName(value string) string {
	words := strings.FieldsFunc(value, func(c rune) bool {
		return c == '.' || c == '_' || c == '-' || c == ' '
	})
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// varNames returns the constants' names of an enum, without the type's name.
func varNames(t *spec.Type) []string {
	if names := t.Node.Strings("x-enum-varnames"); len(names) > 0 {
		return names
	}
	var names []string
	for _, value := range t.Enum {
		names = append(names, varName(value))
	}
	return names
}

// isGoType reports whether a schema has a Go type of its own: objects, enums and
// named ids. Other named schemas only share their rules; in Go they are plain
// strings and numbers.
func isGoType(t *spec.Type) bool {
	return t.Name != "" && (t.Kind == spec.Object || len(t.Enum) > 0 || t.Format == "uuid")
}

// baseType returns the Go type of a schema as written in package pkg, without
// the pointer that stands for absence.
func baseType(t *spec.Type, pkg string) string {
	switch {
	case isGoType(t) && t.Package == pkg:
		return t.Name
	case isGoType(t):
		return t.Package + "." + t.Name
	case t.Kind == spec.Array:
		return "[]" + baseType(t.Items, pkg)
	case t.Kind == spec.Integer:
		return "int64"
	case t.Kind == spec.Boolean:
		return "bool"
	case t.Format == "uuid":
		return "uuid.UUID"
	case t.Format == "date-time":
		return "time.Time"
	case t.Base64:
		return "[]byte"
	}
	return "string"
}

// isPointer reports whether a field is a pointer, nil for absent or null. A slice
// needs none.
func isPointer(f *spec.Field) bool {
	return (!f.Required || f.Type.Nullable) && f.Type.Kind != spec.Array && !f.Type.Base64
}

// lowerFirst makes a description go on after a name.
func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// Package schema holds the one definition of every message: the frames of the
// WebSocket, the LLM tools, the HTTP API. The rest of the project is generated
// from the files in this folder; the compiled schemas serve tests and tools as
// the second opinion. They never judge the bytes of a live peer: a few hundred
// hostile bytes can cost them seconds.
package schema

import (
	"bytes"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:generate go run ../tools/framegen

// Base is the beginning of every $id; the rest is the path below this folder.
const Base = "https://github.com/vancetope/transfer/schema/"

// Suffix is how the name of a schema file ends.
const Suffix = ".schema.json"

//go:embed common.schema.json frames tools api
var files embed.FS

// Files are the schema files.
func Files() fs.FS { return files }

// Set is all schemas, compiled.
type Set struct {
	byName map[string]*jsonschema.Schema
}

// Lookup returns the schema of a file, for example "frames/hello.schema.json".
func (s *Set) Lookup(name string) (*jsonschema.Schema, error) {
	if compiled, ok := s.byName[name]; ok {
		return compiled, nil
	}
	return nil, fmt.Errorf("schema: no file %s", name)
}

// Check holds JSON against a file, which is named without Suffix, for example
// "frames/hello".
func (s *Set) Check(name string, message []byte) error {
	file, err := s.Lookup(name + Suffix)
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
	if err != nil {
		return fmt.Errorf("no JSON: %w", err)
	}
	return file.Validate(instance)
}

// Compile compiles the files of this folder.
func Compile() (*Set, error) { return CompileFS(files) }

// CompileFS compiles the schema files of any folder. Formats and contents are
// asserted; nothing outside the folder is ever loaded.
func CompileFS(folder fs.FS) (*Set, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.AssertFormat()
	compiler.AssertContent()
	compiler.RegisterContentEncoding(&jsonschema.Decoder{Name: "base64", Decode: strictBase64})
	var names []string
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, Suffix) {
			return err
		}
		names = append(names, name)
		return addFile(compiler, folder, name)
	})
	if err != nil {
		return nil, err
	}
	set := &Set{byName: map[string]*jsonschema.Schema{}}
	for _, name := range names {
		if set.byName[name], err = compiler.Compile(Base + name); err != nil {
			return nil, fmt.Errorf("schema/%s: %w", name, err)
		}
	}
	return set, nil
}

func addFile(compiler *jsonschema.Compiler, folder fs.FS, name string) error {
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("schema/%s: %w", name, err)
	}
	if err := compiler.AddResource(Base+path.Clean(name), doc); err != nil {
		return fmt.Errorf("schema/%s: %w", name, err)
	}
	return nil
}

// noLoader refuses what is not embedded.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not a file of schema/", url)
}

// strictBase64 is RFC 4648 section 4 to the letter; the library's own decoder
// passes over line breaks and loose bits at the end.
func strictBase64(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("line break in base64")
	}
	return base64.StdEncoding.Strict().DecodeString(text)
}

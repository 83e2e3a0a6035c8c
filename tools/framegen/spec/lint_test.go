package spec

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vancetope/transfer/schema"
)

// edited returns the project's schemas with one text replaced in one file.
func edited(t *testing.T, file, from, to string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(schema.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(schema.Files(), name)
		out[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	old, ok := out[file]
	if !ok {
		out[file] = &fstest.MapFile{Data: []byte(to)}
		return out
	}
	if from == "" {
		delete(out, file)
		return out
	}
	text := string(old.Data)
	if !strings.Contains(text, from) {
		t.Fatalf("%s does not contain %q: the test is out of date", file, from)
	}
	out[file] = &fstest.MapFile{Data: []byte(strings.Replace(text, from, to, 1))}
	return out
}

func TestTheSchemasOfTheProjectAreClean(t *testing.T) {
	if _, err := Load(schema.Files()); err != nil {
		t.Fatal(err)
	}
}

// TestEachLintRuleNamesFilePlaceAndRemedy breaks one rule at a time.
func TestEachLintRuleNamesFilePlaceAndRemedy(t *testing.T) {
	const (
		common   = "common.schema.json"
		hello    = "frames/hello.schema.json"
		chunk    = "frames/transfer_chunk.schema.json"
		init     = "frames/transfer_init.schema.json"
		progress = "frames/transfer_progress.schema.json"
		done     = "frames/transfer_complete.schema.json"
		input    = "tools/client_file_upload.input.schema.json"
		output   = "tools/client_list.output.schema.json"
		routes   = "api/operations.json"
	)
	for rule, test := range map[string]struct {
		file, from, to string
		place          string // JSON pointer
		what, remedy   string // parts of the text
	}{
		"a misspelt keyword":               {common, `"maxLength": 71`, `"maxLenght": 71`, "/$defs/Hash/maxLenght", `keyword "maxLenght" is not known`, `write "maxLength"`},
		"an unknown keyword":               {common, `"maxLength": 71`, `"maxLength": 71, "contentMediaType": "text/plain"`, "/$defs/Hash/contentMediaType", "is not known", "teach framegen"},
		"a known keyword out of place":     {hello, `"maxLength": 64}`, `"maxLength": 64, "minimum": 1}`, "/properties/clientVersion/minimum", `keyword "minimum" is not known here`, "remove it"},
		"an unknown extension":             {hello, `"x-lane"`, `"x-priority": 1, "x-lane"`, "/x-priority", `"x-priority" is not known`, "remove it"},
		"a foreign $id":                    {hello, `"$id": "https://github.com`, `"$id": "https://example.com`, "", "$id is", "frames/hello.schema.json"},
		"another dialect":                  {hello, "2020-12", "2019-09", "", "$schema is", "2020-12"},
		"no title":                         {hello, `"title": "Hello",`, ``, "", "is no exported Go name", "give it a title"},
		"one title, two shapes":            {hello, `"title": "Hello"`, `"title": "Welcome"`, "", "title Welcome is also the title", "another title"},
		"no description":                   {hello, `"description": "Opens the session: a Foot says who and what it is.",`, ``, "", "has no description", "beginning with a verb"},
		"a description without a verb":     {hello, "Opens the session", "The session", "/description", `begins with "The"`, "begin with a verb"},
		"a property without a description": {chunk, `"description": "Marks the final chunk.", `, ``, "/properties/last", "has no description", "beginning with a verb"},
		"const without type":               {hello, `"type": "string", "const": "hello"`, `"const": "hello"`, "/properties/type", "has no single type", "beside its const"},
		"enum without type":                {common, "\"type\": \"string\",\n      \"enum\": [\"read\", \"edit\"]", `"enum": ["read", "edit"]`, "/$defs/Access", "has no single type", "beside its const or enum"},
		"no type":                          {chunk, `, "type": "boolean"`, ``, "/properties/last", "has no single type", "give it a type"},
		"several types":                    {chunk, `"type": "boolean"`, `"type": ["boolean", "string"]`, "/properties/last", "has no single type", `and "null"`},
		"a type without generated code":    {chunk, `"type": "boolean"`, `"type": "number"`, "/properties/last", `type "number" has no generated code`, "use object"},
		"no word on openness":              {hello, `"additionalProperties": true,`, ``, "", "does not say whether it is open", "additionalProperties"},
		"a closed frame":                   {hello, `"additionalProperties": true`, `"additionalProperties": false`, "/additionalProperties", "a frame or answer is closed", "write true"},
		"an open input":                    {input, `"additionalProperties": false`, `"additionalProperties": true`, "/additionalProperties", "an input is open", "write false"},
		"a frame with a closed part":       {init, "$defs/FileAttrs", "$defs/FileAttrsInput", "/properties/attrs/$ref", "refers to a closed object", "open definition"},
		"an input with an open part":       {input, "$defs/FileAttrsInput", "$defs/FileAttrs", "/properties/attrs/$ref", "refers to an open object", "closed definition"},
		"an integer without bounds":        {chunk, `"maximum": 9007199254740991`, `"x-emit-null": false`, "/properties/seq", "has no maximum within 2^53-1", "bound it"},
		"an integer beyond 2^53-1":         {chunk, `9007199254740991`, `9007199254740992`, "/properties/seq", "has no maximum within 2^53-1", "round"},
		"bounds crossed": {chunk, `"minimum": 0,
      "maximum": 9007199254740991`, `"minimum": 5, "maximum": 4`, "/properties/seq", "maximum below its minimum", "correct"},
		"a string without maxLength":                  {hello, `"type": "string", "maxLength": 64}`, `"type": "string"}`, "/properties/clientVersion", "has no maxLength", "bound it"},
		"an array without maxItems":                   {output, `"maxItems": 1000,`, ``, "/properties/feet", "has no maxItems", "bound it"},
		"an array without items":                      {output, `"items": {"$ref": "../common.schema.json#/$defs/ConnectedFoot"}`, `"minItems": 0`, "/properties/feet", "has no items", "say what it holds"},
		"a uuid without its pattern":                  {common, UUIDPattern, "^[0-9a-f-]{36}$", "/$defs/TransferID", "several spellings", UUIDPattern},
		"a time without its pattern":                  {common, `(\\.[0-9]{1,9})?Z$`, `(\\.[0-9]{1,9})?$`, "/$defs/Timestamp", "several spellings", "Z$"},
		"another format":                              {common, `"format": "uuid"`, `"format": "email"`, "/$defs/TransferID/format", `format "email" has no generated code`, "use uuid"},
		"base64 without its pattern":                  {chunk, "[AQgw]==", "[A-Z]==", "/properties/bytes", "without its pattern", "[AQgw]=="},
		"base64 without a decoded limit":              {chunk, `"maxLength": 1398103`, `"maxLength": 1398102`, "/properties/bytes", "does not bound the decoded size", `{"maxLength": 1398103}`},
		"another content encoding":                    {chunk, `"contentEncoding": "base64"`, `"contentEncoding": "base32"`, "/properties/bytes/contentEncoding", "has no generated code", "use base64"},
		"a pattern without anchors":                   {common, `"^(0o)?[0-7]{1,5}$"`, `"(0o)?[0-7]{1,5}"`, "/$defs/FileMode/pattern", "not anchored", "^"},
		"a pattern that JavaScript reads differently": {common, `[0-7]{1,5}$`, `\\d{1,5}$`, "/$defs/FileMode/pattern", "read differently", "[0-9]"},
		"a pattern that looks ahead":                  {common, `^(0o)?[0-7]{1,5}$`, `^(?!9)[0-7]{1,5}$`, "/$defs/FileMode/pattern", "read differently", "spell it out"},
		"a pattern that does not compile":             {common, `^(0o)?[0-7]{1,5}$`, `^(0o?[0-7]{1,5}$`, "/$defs/FileMode/pattern", "does not compile", "correct it"},
		"a condition on something else":               {output, `"ok": {"const": true}`, `"ok": {"const": 1}`, "/if/properties/ok", "is not a constant of a required boolean", "write"},
		"a condition that does not require what it tests": {output, `"if": {
    "required": ["ok"]`, `"if": {
    "required": ["error"]`, "/if", "does not require exactly", "write"},
		"half a condition":                            {output, `"then"`, `"x-then"`, "", "has half a condition", "both if and then"},
		"a consequence other than required":           {output, `"required": ["feet"]`, `"minProperties": 3`, "/then", "requires nothing", "list"},
		"a member that is required and reads as null": {done, `"required": ["type"`, `"required": ["type", "error"`, "/required", "which has x-emit-null", "take it out"},
		"a required member that does not exist":       {done, `"bytesWritten"]`, `"bytesWriten"]`, "/required", `requires "bytesWriten"`, "correct the name"},
		"x-emit-null without null":                    {chunk, `"description": "Marks the final chunk.",`, `"description": "Marks the final chunk.", "x-emit-null": true,`, "/properties/last/x-emit-null", "for values that may be null", `["string", "null"]`},
		"x-feature of a required member":              {init, `"description": "Counts the bytes of the file, exactly.",`, `"x-feature": "resume", "description": "Counts the bytes of the file, exactly.",`, "/properties/totalSize/x-feature", "to which feature it belongs", `optional property`},
		"x-feature outside of a frame":                {input, `"description": "Names the Foot; may be left out when only one is connected.",`, `"x-feature": "resume", "description": "Names the Foot; may be left out when only one is connected.",`, "/properties/foot/x-feature", "to which feature it belongs", `optional property`},
		"x-feature that is no feature's name":         {init, `{"null": "trailing-hash"}`, `{"null": "Trailing Hash"}`, "/properties/hash/x-feature/null", "is no name of a feature", `hyphens`},
		"x-feature of a frame that is no name":        {progress, `"x-feature": "progress"`, `"x-feature": "No Tes"`, "/x-feature", "is no name of a feature", `hyphens`},
		"x-feature of another form":                   {init, `{"null": "trailing-hash"}`, `"trailing-hash"`, "/properties/hash/x-feature", "which feature allows null", `{"null"`},
		"an error code that does not exist":           {init, `{"null": "hash_required"}`, `{"null": "hash_needed"}`, "/properties/hash/x-error-code/null", `"hash_needed" is no error code`, "ErrorCode"},
		"an error code for no rule":                   {init, `{"null": "hash_required"}`, `{"maximum": "hash_required"}`, "/properties/hash/x-error-code/maximum", "which is no keyword here", "name a keyword"},
		"an enum without a name":                      {done, `"title": "HashCheck",`, ``, "/properties/hashCheck", "enum without a name", "title"},
		"an enum with null and no such type": {done, `"type": ["string", "null"],
      "enum"`, `"type": "string",
      "enum"`, "/properties/hashCheck/enum", "does not go with the type", "null"},
		"an enum with a double":  {common, `["read", "edit"]`, `["read", "read"]`, "/$defs/Access/enum", `has "read" twice`, "remove one"},
		"an enum of one":         {common, `["read", "edit"]`, `["read"]`, "/$defs/Access/enum", "fewer than two", "const"},
		"names for no enum":      {common, `"maxLength": 71`, `"maxLength": 71, "x-enum-varnames": ["A"]`, "/$defs/Hash", "names for an enum", "remove"},
		"names for half an enum": {common, `"enum": ["read", "edit"]`, `"enum": ["read", "edit"], "x-enum-varnames": ["A"]`, "/$defs/Access/x-enum-varnames", "not one name for each", "name them all"},
		"an exclusion of another form": {common, `"not": {
        "enum": [".", ".."]
      }`, `"not": {"const": "."}`, "/$defs/Segment/not", "not a list of excluded strings", "enum"},
		"anyOf elsewhere":                       {common, `"maxLength": 71`, `"maxLength": 71, "anyOf": [{"maxLength": 3}]`, "/$defs/Hash/anyOf", "known for base64 only", "remove"},
		"a frame without a sender":              {hello, `"x-from": "foot"`, `"x-from": "feet"`, "", `x-from is "feet"`, "foot, brain, both"},
		"a frame without a lane":                {hello, `"x-lane": "control"`, `"x-lane": "fast"`, "", `x-lane is "fast"`, "control, data"},
		"a frame without a section":             {hello, `"x-section": "protocol 1"`, `"x-section": ""`, "", "has no x-section", "specification"},
		"a frame without a tag":                 {hello, `"type": "string", "const": "hello"`, `"type": "string", "maxLength": 5`, "", "has no tag", "const"},
		"a tag that is not the file's name":     {hello, `"const": "hello"`, `"const": "hallo"`, "", `its tag is "hallo"`, "frames/hallo.schema.json"},
		"a frame that does not require its tag": {hello, `"required": ["type", `, `"required": [`, "", "does not require type", "first in required"},
		"an object without a name":              {chunk, `"type": "boolean"`, `"type": "object", "additionalProperties": true, "properties": {}`, "/properties/last", "object without a name", "$defs"},
		"an object without properties": {common, `"properties": {
        "mode"`, `"x-error-code": {}, "required": [], "if": {
        "mode"`, "/$defs/FileAttrs", "has no properties", "state them"},
		"a reference to nothing":       {init, "$defs/FileAttrs", "$defs/FileAttributes", "/properties/attrs/$ref", "names no definition", "exists"},
		"something beside a reference": {init, `"$ref": "../common.schema.json#/$defs/FileAttrs"`, `"$ref": "../common.schema.json#/$defs/FileAttrs", "maxItems": 1`, "/properties/attrs/maxItems", "is not known here", "remove"},
		"an array of arrays":           {output, `"items": {"$ref": "../common.schema.json#/$defs/ConnectedFoot"}`, `"items": {"type": "array", "maxItems": 1, "items": {"type": "boolean"}}`, "/properties/feet/items", "has no generated code", "$ref"},
		"a file that is no schema":     {"frames/notes.json", "", `{"title": "Notes"}`, "", "is no schema file", "name it"},
		"a file that is not an object": {hello, `"type": "object"`, `"type": "array"`, "", "is not an object", "$defs"},
		"a file that is not JSON":      {"frames/x.schema.json", "", `{"title": }`, "", "missing value", "write one valid JSON value"},
		"half a tool":                  {"tools/client_list.input.schema.json", "", "", "", "is half a tool", "write both"},
		"a route with an unknown key":  {routes, `"method": "get"`, `"method": "get", "deprecated": true`, "/operations/0/deprecated", "is not known here", "remove"},
		"a route with another method":  {routes, `"method": "get"`, `"method": "trace"`, "/operations/0", `method is "trace"`, "get, put"},
		"a route without a body":       {routes, `"response": "api/feet.schema.json"`, `"response": "api/foots.schema.json"`, "/operations/0", "names no schema file", "path of one"},
		"a route with a parameter unlisted": {routes, `"parameters": [
    "projectId"
   ]`, `"parameters": ["project"]`, "/operations/0", "that is not listed", "add it"},
		"a path parameter that is not in the path": {routes, `/projects/{projectId}`, `/projects/x`, "/operations/0", "but the path is", "correct"},
		"a frame without an example":               {hello, `"examples"`, `"exampels"`, "", "has no example", "the documents print it"},
		"an example that is not valid":             {hello, `"os": "linux"`, `"os": "plan9"`, "/examples/0", "the example is not valid", "correct the example"},
		"a route with another credential":          {routes, `"credential": "none"`, `"credential": "token"`, "/operations/4", `credential is "token"`, "none"},
		"a route without its request":              {routes, `"request": "api/login.request.schema.json"`, `"request": "api/x.schema.json"`, "/operations/4", "names no schema file", "path of one"},
		"a route without an id":                    {routes, `"id": "listFeet"`, `"id": ""`, "/operations/0", "has no id", "state all three"},
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := Load(edited(t, test.file, test.from, test.to))
			if err == nil {
				t.Fatal("the lint passes it over")
			}
			var all Problems
			var one *Problem
			if !errors.As(err, &all) && errors.As(err, &one) {
				all = Problems{one}
			}
			for _, p := range all {
				sameFile := p.File == test.file || rule == "half a tool" || rule == "one title, two shapes"
				if sameFile && p.Pointer == test.place && strings.Contains(p.What, test.what) && strings.Contains(p.Remedy, test.remedy) {
					return
				}
			}
			t.Errorf("want %s at schema/%s#%s with remedy %q, got:\n%v", test.what, test.file, test.place, test.remedy, err)
		})
	}
}

func TestAProblemIsOneLineWithFilePlaceAndRemedy(t *testing.T) {
	_, err := Load(edited(t, "common.schema.json", `"maxLength": 71`, `"maxLenght": 71`))
	want := `schema/common.schema.json#/$defs/Hash/maxLenght: keyword "maxLenght" is not known here; write "maxLength" if that is meant, or remove it`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

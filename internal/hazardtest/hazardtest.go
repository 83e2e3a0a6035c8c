// Package hazardtest holds the corpora that tests all over the project run
// through: names, path forms, sizes, and the special files of a Unix system. It
// is never linked into a binary.
package hazardtest

import (
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed testdata/*.json
var testdata embed.FS

// Outcomes of a path besides an error code.
const OK = "ok"

// Name is one component as a hostile or merely unusual peer may send it.
type Name struct {
	Value   string
	Why     string // what it was taken into the corpus for
	Unix    string // OK, or the error code with which cleaning it ends
	Windows string
	Write   string // on Unix, in a folder that protects .git: as Unix if empty
}

// PathForm is a path of several components, or of a form that is no plain path.
type PathForm struct {
	Value   string
	Why     string
	Unix    string
	Windows string
	Cleaned string // what is left of it on Unix when that is OK
}

// Size is a number of bytes around which something changes.
type Size struct {
	Bytes  int64
	Sparse bool // too large to be written in a test but as a hole
}

// text is a string of any bytes in JSON: as it is, in hex, or a unit repeated.
type text struct {
	Value string `json:"value"`
	Hex   string `json:"hex"`
	Unit  string `json:"unit"`
	Count int    `json:"count"`
}

func (t text) string() string {
	switch {
	case t.Unit != "":
		return strings.Repeat(t.Unit, t.Count) + t.Value
	case t.Hex != "":
		raw, err := hex.DecodeString(t.Hex)
		if err != nil {
			panic(fmt.Sprintf("hazardtest: %q: %v", t.Hex, err))
		}
		return string(raw)
	}
	return t.Value
}

// Names returns the corpus of single names.
func Names() []Name {
	rows := load[struct {
		text
		Why     string `json:"why"`
		Unix    string `json:"unix"`
		Windows string `json:"windows"`
		Write   string `json:"write"`
	}]("names.json")
	names := make([]Name, len(rows))
	for i, r := range rows {
		names[i] = Name{Value: r.string(), Why: r.Why, Unix: orOK(r.Unix), Windows: orOK(r.Windows), Write: r.Write}
		if r.Write == "" {
			names[i].Write = names[i].Unix
		}
	}
	return names
}

// PathForms returns the corpus of whole paths.
func PathForms() []PathForm {
	rows := load[struct {
		text
		Why     string `json:"why"`
		Unix    string `json:"unix"`
		Windows string `json:"windows"`
		Cleaned string `json:"cleaned"`
	}]("paths.json")
	paths := make([]PathForm, len(rows))
	for i, r := range rows {
		paths[i] = PathForm{r.string(), r.Why, orOK(r.Unix), orOK(r.Windows), r.Cleaned}
		if r.Cleaned == "" {
			paths[i].Cleaned = paths[i].Value
		}
	}
	return paths
}

// Sizes returns the sizes at which transfers went wrong somewhere.
func Sizes() []Size {
	rows := load[struct {
		Bytes  int64 `json:"bytes"`
		Sparse bool  `json:"sparse"`
	}]("sizes.json")
	sizes := make([]Size, len(rows))
	for i, r := range rows {
		sizes[i] = Size(r)
	}
	return sizes
}

func orOK(code string) string {
	if code == "" {
		return OK
	}
	return code
}

// load reads a corpus. A broken one is a broken test binary, so it panics.
func load[T any](file string) []T {
	raw, err := testdata.ReadFile("testdata/" + file)
	if err != nil {
		panic(err)
	}
	var rows []T
	if err := json.Unmarshal(raw, &rows); err != nil {
		panic(fmt.Sprintf("hazardtest: %s: %v", file, err))
	}
	return rows
}

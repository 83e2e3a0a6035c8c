package rootfs

import (
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

// maxPath is the longest path a peer may send, in bytes.
const maxPath = 4096

// Path is a cleaned path below a root: components separated by "/", none of
// them empty, "." or "..". The zero Path is the root itself. A Path says nothing
// about what is on the disk.
type Path struct{ s string }

func (p Path) String() string { return p.s }

// IsRoot reports whether p is the root itself.
func (p Path) IsRoot() bool { return p.s == "" }

// Base returns the last component, "" for the root.
func (p Path) Base() string { return p.s[strings.LastIndexByte(p.s, '/')+1:] }

// Dir returns the path without its last component.
func (p Path) Dir() Path { return Path{p.s[:max(strings.LastIndexByte(p.s, '/'), 0)]} }

// Join returns the path of a name in the folder p, cleaned like any other.
func (p Path) Join(name string) (Path, error) {
	if p.IsRoot() {
		return CleanPath(name)
	}
	return CleanPath(p.s + "/" + name)
}

func (p Path) sibling(name string) Path {
	if d := p.Dir(); !d.IsRoot() {
		return Path{d.s + "/" + name}
	}
	return Path{name}
}

func (p Path) components() iter.Seq[string] {
	if p.IsRoot() {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(p.s, "/")
}

// CleanPath cleans the path of a file. Inner ".." are resolved; one that leaves
// the root is an escape, and so are an absolute path and a NUL. The empty path,
// the root itself, a path that ends in "/", a name that is ours and one that this
// system cannot hold are invalid.
func CleanPath(p string) (Path, error) { return cleanFile(p, thisSystem) }

func cleanFile(p string, sys nameRules) (Path, error) {
	cleaned, err := clean(p, sys)
	if err != nil {
		return Path{}, err
	}
	switch {
	case p == "":
		return Path{}, fault.Newf(common.ErrorCodeInvalidPath, "the path is empty")
	case cleaned.IsRoot():
		return Path{}, fault.Newf(common.ErrorCodeInvalidPath, "the path is the folder itself")
	case sys.separator(rune(p[len(p)-1])):
		return Path{}, fault.Newf(common.ErrorCodeInvalidPath, "a file's path must not end in \"/\"")
	}
	return cleaned, nil
}

// CleanDir cleans the path of a folder. Other than for a file, the empty path
// and "." are the root and a "/" at the end is allowed.
func CleanDir(p string) (Path, error) { return clean(p, thisSystem) }

// clean resolves a path lexically. The escape is looked for first and in the
// whole path, so that no other complaint can hide it.
func clean(p string, sys nameRules) (Path, error) {
	if i := strings.IndexByte(p, 0); i >= 0 {
		return Path{}, fault.Newf(common.ErrorCodePathEscapesSandbox, "NUL at byte %d", i)
	}
	if sys.absolute(p) {
		return Path{}, fault.Newf(common.ErrorCodePathEscapesSandbox, "the path is absolute")
	}
	var parts []string
	for part := range strings.FieldsFuncSeq(p, sys.separator) {
		switch part {
		case ".":
		case "..":
			if len(parts) == 0 {
				return Path{}, fault.New(common.ErrorCodePathEscapesSandbox)
			}
			parts = parts[:len(parts)-1]
		default:
			parts = append(parts, part)
		}
	}
	for _, part := range parts {
		if reason := badName(part, sys); reason != "" {
			return Path{}, fault.Newf(common.ErrorCodeInvalidPath, "%s", reason)
		}
	}
	cleaned := strings.Join(parts, "/")
	if len(cleaned) > maxPath {
		return Path{}, fault.Newf(common.ErrorCodeInvalidPath, "longer than %d bytes", maxPath)
	}
	return Path{cleaned}, nil
}

// badName says why a component cannot be a name here, "" if it can.
func badName(name string, sys nameRules) string {
	if !utf8.ValidString(name) {
		return fmt.Sprintf("%s is not valid UTF-8", safetext.Quote(name))
	}
	if Reserved(name) {
		return fmt.Sprintf("%s: names that begin with %q are reserved", safetext.Quote(name), reservedPrefix)
	}
	return sys.reason(name)
}

// CheckSegment checks an id that becomes one component of a path: a tenant, a
// project, a dirName. What names the id in the error.
func CheckSegment(what, s string) error {
	if len(s) == 0 || len(s) > 64 || s == "." || s == ".." || strings.IndexFunc(s, notInSegment) >= 0 {
		return fault.Newf(common.ErrorCodeInvalidPath,
			"%s must be 1 to 64 of A-Z a-z 0-9 . _ - and not \".\" or \"..\", got %s", what, safetext.Quote(s))
	}
	if reason := badName(s, thisSystem); reason != "" {
		return fault.Newf(common.ErrorCodeInvalidPath, "%s %s", what, reason)
	}
	return nil
}

func notInSegment(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
		return false
	}
	return true
}

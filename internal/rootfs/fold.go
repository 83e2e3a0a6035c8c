package rootfs

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// foldsByName reports whether the file system of a folder folds case, found out
// without writing: the nearest existing folder whose name has letters is looked
// up again with their case turned.
func foldsByName(path string) bool {
	for {
		parent, name := filepath.Dir(path), filepath.Base(path)
		turned := turnCase(name)
		if here, err := os.Stat(path); err == nil && turned != name {
			there, err := os.Stat(filepath.Join(parent, turned))
			return err == nil && os.SameFile(here, there)
		}
		if parent == path {
			return false
		}
		path = parent
	}
}

func turnCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsUpper(r):
			return unicode.ToLower(r)
		case unicode.IsLower(r):
			return unicode.ToUpper(r)
		}
		return r
	}, s)
}

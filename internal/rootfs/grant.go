package rootfs

import "strings"

// SplitGrant takes a path of the form @NAME/rest apart: a path in a folder that
// its owner granted by that name. A file whose own name begins with @ is written
// ./@name.
func SplitGrant(p string) (name, rest string, ok bool) {
	after, ok := strings.CutPrefix(p, "@")
	if !ok {
		return "", "", false
	}
	name, rest, _ = strings.Cut(after, "/")
	return name, rest, true
}

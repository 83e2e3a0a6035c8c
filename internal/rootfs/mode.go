package rootfs

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

// defaultMode is the mode of a new file for which none was given.
const defaultMode fs.FileMode = 0o644

// ParseMode reads an octal mode: "755", "0755" or "0o755". Bits above the nine
// of permission are legal and dropped.
func ParseMode(s string) (fs.FileMode, error) {
	digits := strings.TrimPrefix(s, "0o")
	v, err := strconv.ParseUint(digits, 8, 16)
	if err != nil || len(digits) > 5 || v > 0o7777 {
		return 0, fault.Newf(common.ErrorCodeInvalidRequest, "mode %s is not an octal mode such as 0644", safetext.Quote(s))
	}
	return fs.FileMode(v) & fs.ModePerm, nil
}

// FormatMode writes a mode as the wire does: four octal digits.
func FormatMode(m fs.FileMode) string {
	s := strconv.FormatUint(uint64(m.Perm()), 8)
	return strings.Repeat("0", 4-len(s)) + s
}

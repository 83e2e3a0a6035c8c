package rootfs

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/vancetope/transfer/internal/safetext"
)

const (
	reservedPrefix = ".vance-"
	stagingPrefix  = ".vance-part-"
	maxNameBytes   = 255
)

// Reserved reports whether a name is one of ours: such names are hidden from
// every listing and nobody else may use them. A file system that folds case or
// drops invisible runes would take variants for the same name, so they are ours
// as well.
func Reserved(name string) bool {
	if len(name) < len(reservedPrefix) || strings.IndexByte(name, '-') < 0 {
		return false
	}
	visible := dropIgnorable(name)
	return len(visible) >= len(reservedPrefix) && strings.EqualFold(visible[:len(reservedPrefix)], reservedPrefix)
}

func stagingName(id uuid.UUID) string { return stagingPrefix + id.String() }

// stagingID returns the transfer to which a staging file belongs.
func stagingID(name string) (uuid.UUID, bool) {
	rest, ok := strings.CutPrefix(name, stagingPrefix)
	if !ok || len(rest) != 36 {
		return uuid.UUID{}, false
	}
	id, err := uuid.Parse(rest)
	return id, err == nil
}

// gitFolder reports whether git, on one of the systems it runs on, would take
// the name for its own folder: ".git" in any case, with invisible runes or with
// dots and spaces at the end, or its short name on NTFS.
func gitFolder(name string) bool {
	if len(name) < len(".git") {
		return false
	}
	visible := strings.TrimRight(dropIgnorable(name), ". ")
	return strings.EqualFold(visible, ".git") || strings.EqualFold(visible, "git~1")
}

func touchesGit(p Path) bool {
	for c := range p.components() {
		if gitFolder(c) {
			return true
		}
	}
	return false
}

// dropIgnorable removes the runes that some file systems do not look at when
// they compare names.
func dropIgnorable(s string) string {
	if strings.IndexFunc(s, ignorable) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if ignorable(r) {
			return -1
		}
		return r
	}, s)
}

func ignorable(r rune) bool {
	return r >= 0x80 && unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// FoldKey returns a key that is equal for names that a folding file system takes
// for the same.
func FoldKey(name string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))
}

// nameRules are what a system asks of names beyond what all of them do.
type nameRules struct {
	windows bool // backslashes separate, drives exist, many names are devices
	utf16   bool // the length of a name counts in UTF-16 units
}

func (n nameRules) separator(r rune) bool { return r == '/' || n.windows && r == '\\' }

func (n nameRules) absolute(p string) bool {
	if p == "" {
		return false
	}
	if n.separator(rune(p[0])) {
		return true
	}
	return n.windows && len(p) >= 2 && p[1] == ':' && asciiLetter(p[0])
}

func asciiLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// reason says why the system cannot hold a name, "" if it can.
func (n nameRules) reason(name string) string {
	length := len(name)
	if n.utf16 {
		length = 0
		for _, r := range name {
			length += utf16.RuneLen(r)
		}
	}
	if length > maxNameBytes {
		return fmt.Sprintf("name too long: %d of at most %d", length, maxNameBytes)
	}
	if n.windows {
		return windowsReason(name)
	}
	return ""
}

func windowsReason(name string) string {
	for i, r := range name {
		if r < 0x20 || strings.ContainsRune(`<>:"|?*\`, r) {
			return fmt.Sprintf("%s at byte %d of %s cannot be in a name on this system",
				safetext.Quote(string(r)), i, safetext.Quote(name))
		}
	}
	if last := name[len(name)-1]; last == '.' || last == ' ' {
		return fmt.Sprintf("%s at byte %d of %s cannot end a name on this system",
			safetext.Quote(string(last)), len(name)-1, safetext.Quote(name))
	}
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	if windowsDevice(stem) {
		return fmt.Sprintf("%s is the name of a device on this system", safetext.Quote(name))
	}
	return ""
}

func windowsDevice(stem string) bool {
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	port, ok := strings.CutPrefix(stem, "COM")
	if !ok {
		port, ok = strings.CutPrefix(stem, "LPT")
	}
	if !ok || utf8.RuneCountInString(port) != 1 {
		return false
	}
	// The superscript digits one to three count as digits there.
	return strings.Contains("0123456789\u00b9\u00b2\u00b3", port)
}

// doubleExtensions are split off as a whole when a copy is named.
var doubleExtensions = []string{".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar.lz4"}

// splitExtension parts a name where the number of a copy goes.
func splitExtension(name string) (stem, ext string) {
	for _, double := range doubleExtensions {
		if at := len(name) - len(double); at > 0 && strings.EqualFold(name[at:], double) {
			return name[:at], name[at:]
		}
	}
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && dot < len(name)-1 {
		return name[:dot], name[dot:]
	}
	return name, ""
}

// copyName returns the name of the n-th copy kept beside a file: the plain name
// for 0, then stem-n.ext. The stem is cut so that the name still fits.
func copyName(name string, n int) string {
	if n == 0 {
		return name
	}
	number := fmt.Sprintf("-%d", n)
	stem, ext := splitExtension(name)
	if len(number)+len(ext) >= maxNameBytes {
		stem, ext = name, "" // an extension that leaves no room is no extension
	}
	return cutAtRune(stem, maxNameBytes-len(number)-len(ext)) + number + ext
}

func cutAtRune(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// Package safetext makes names and texts that came from a peer or from a disk
// harmless before a person, a log or a language model reads them. It changes how
// a name is shown, never the name.
package safetext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns s with every rune that could move a cursor, start a line, hide
// or reorder text written as an escape. Harmless text is returned as it is,
// backslashes too: the result is for reading, not for parsing.
func Escape(s string) string { return escape(s, false) }

// Quote returns s in double quotes, escaped so that the text between them can be
// read back without doubt.
func Quote(s string) string { return `"` + escape(s, true) + `"` }

func escape(s string, exact bool) string {
	if !needsEscape(s, exact) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + hex(uint64(s[i]), 2))
		case exact && (r == '\\' || r == '"'):
			b.WriteByte('\\')
			b.WriteRune(r)
		case harmful(r):
			b.WriteString(escapeRune(r))
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

func needsEscape(s string, exact bool) bool {
	if !utf8.ValidString(s) {
		return true
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return harmful(r) || exact && (r == '\\' || r == '"')
	}) >= 0
}

// harmful reports whether a rune does something else than show itself: controls
// of both sets, line and paragraph separators, marks and overrides of direction,
// joiners and other invisible format runes, and what is no character at all.
func harmful(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r < 0x80:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Noncharacter_Code_Point,
		unicode.Other_Default_Ignorable_Code_Point)
}

func escapeRune(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	switch {
	case r < 0x80:
		return `\x` + hex(uint64(r), 2)
	case r > 0xffff:
		return `\U` + hex(uint64(r), 8)
	}
	return `\u` + hex(uint64(r), 4)
}

func hex(v uint64, width int) string {
	digits := strconv.FormatUint(v, 16)
	return strings.Repeat("0", max(width-len(digits), 0)) + digits
}

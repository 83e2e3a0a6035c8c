package ui

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes a name that came from a peer safe to show: whatever could move
// the cursor, colour the screen, start a new line or reverse the reading
// direction is written as an escape, as are broken UTF-8 and the backslash
// itself, so that two different names never look the same. Letters of every
// script stay as they are.
func Escape(s string) string {
	if !needsEscape(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x`)
			b.WriteString(hex(uint32(s[0]), 2))
		case r == '\\':
			b.WriteString(`\\`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(escapeRune(r))
		}
		s = s[size:]
	}
	return b.String()
}

func needsEscape(s string) bool {
	if !utf8.ValidString(s) {
		return true
	}
	for _, r := range s {
		if r == '\\' || !unicode.IsPrint(r) {
			return true
		}
	}
	return false
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
		return `\x` + hex(uint32(r), 2)
	case r <= 0xffff:
		return `\u` + hex(uint32(r), 4)
	}
	return `\U` + hex(uint32(r), 8)
}

func hex(v uint32, width int) string {
	digits := strconv.FormatUint(uint64(v), 16)
	return strings.Repeat("0", max(0, width-len(digits))) + digits
}

package safetext

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/vancetope/transfer/internal/hazardtest"
)

func TestHarmlessTextIsShownAsItIs(t *testing.T) {
	for _, s := range []string{"", "a.txt", " a ", `a\b`, `say "x"`, "é", "e\u0301", "日本", "אב", "🙂"} {
		if got := Escape(s); got != s {
			t.Errorf("Escape(%q) = %q", s, got)
		}
	}
}

func TestHarmfulRunesAreShownAsEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb":           `a\nb`,
		"a\rb\t":         `a\rb\t`,
		"\x1b[2J":        `\x1b[2J`,
		"\x07\x00\x7f":   `\x07\x00\x7f`,
		"\u009b2J":       `\u009b2J`,
		"fdp\u202egpj":   `fdp\u202egpj`,
		"\u2066a\u2069":  `\u2066a\u2069`,
		"a\u200bb\ufeff": `a\u200bb\ufeff`,
		"a\u2028b":       `a\u2028b`,
		"a\xffb":         `a\xffb`,
		"\U000e0041":     `\U000e0041`,
		"\u200d\u200f":   `\u200d\u200f`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestQuotedTextCannotBeMistaken(t *testing.T) {
	for in, want := range map[string]string{`a"b`: `"a\"b"`, `a\nb`: `"a\\nb"`, "a\nb": `"a\nb"`, "": `""`} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestNoNameOfTheCorpusKeepsAnythingThatATerminalObeys(t *testing.T) {
	for _, n := range hazardtest.Names() {
		for _, shown := range []string{Escape(n.Value), Quote(n.Value)} {
			if !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool {
				return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
			}) {
				t.Errorf("%q is shown as %q", n.Value, shown)
			}
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, n := range hazardtest.Names() {
		f.Add(n.Value)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, shown := range []string{Escape(in), Quote(in)} {
			if !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
				t.Fatalf("%q is shown as %q", in, shown)
			}
		}
	})
}

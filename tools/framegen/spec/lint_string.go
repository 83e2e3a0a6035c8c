package spec

import (
	"fmt"
	"regexp"
	"strings"
)

func (l *linter) stringSchema(n *Node, nullable bool) {
	l.enum(n, nullable)
	if n.Get("enum") == nil && n.Get("const") == nil {
		if most, ok := n.Int("maxLength"); !ok || most < 1 {
			l.report(n, "has no maxLength", "bound it, so that no message makes its reader allocate without end")
		}
	}
	if pattern := n.Get("pattern"); pattern != nil {
		l.pattern(pattern)
	}
	if not := n.Get("not"); not != nil && (len(not.Keys) != 1 || len(not.Strings("enum")) == 0) {
		l.report(not, "is not a list of excluded strings", "write {\"enum\": [\"...\"]}")
	}
	l.format(n)
	l.base64(n)
}

func (l *linter) enum(n *Node, nullable bool) {
	enum := n.Get("enum")
	if enum == nil {
		if n.Get("x-enum-varnames") != nil {
			l.report(n, "has names for an enum it does not have", "remove x-enum-varnames")
		}
		return
	}
	if n.Str("title") == "" {
		l.report(n, "is an enum without a name", "give it a title: the Go and TypeScript types are named by it")
	}
	members := n.Strings("enum")
	if len(members) < 2 {
		l.report(enum, "has fewer than two members", "use const for a single one")
	}
	seen := map[string]bool{}
	for _, m := range members {
		if seen[m] {
			l.report(enum, fmt.Sprintf("has %q twice", m), "remove one")
		}
		seen[m] = true
	}
	hasNull := len(members) < len(enum.Items)
	if hasNull != nullable || len(members) < len(enum.Items)-1 {
		l.report(enum, "does not go with the type", "list null exactly when the type has it, and strings otherwise")
	}
	if names := n.Get("x-enum-varnames"); names != nil && len(names.Items) != len(members) {
		l.report(names, "has not one name for each member", "name them all")
	}
}

// pattern checks that Go and JavaScript read the pattern alike.
func (l *linter) pattern(n *Node) {
	if !strings.HasPrefix(n.Text, "^") || !strings.HasSuffix(n.Text, "$") {
		l.report(n, "the pattern is not anchored", "begin with ^ and end with $: JSON Schema searches, it does not match")
	}
	if bad := unportable.FindString(n.Text); bad != "" {
		l.report(n, fmt.Sprintf("the pattern has %q, which Go and JavaScript read differently or not at all", bad), "spell it out with character classes, for example [0-9]")
	}
	if _, err := regexp.Compile(n.Text); err != nil {
		l.report(n, "the pattern does not compile", "correct it: %v", err)
	}
}

func (l *linter) format(n *Node) {
	want := map[string]string{"uuid": UUIDPattern, "date-time": TimePattern}
	format := n.Get("format")
	if format == nil {
		return
	}
	pattern, ok := want[format.Text]
	switch {
	case !ok:
		l.report(format, fmt.Sprintf("format %q has no generated code", format.Text), "use uuid, date-time or a pattern")
	case n.Str("pattern") != pattern:
		l.report(n, "the format allows several spellings of one value", "add \"pattern\": %q", pattern)
	}
}

func (l *linter) base64(n *Node) {
	encoding := n.Get("contentEncoding")
	if encoding == nil {
		if n.Get("anyOf") != nil {
			l.report(n.Get("anyOf"), "anyOf is known for base64 only", "remove it")
		}
		return
	}
	if encoding.Text != "base64" {
		l.report(encoding, fmt.Sprintf("contentEncoding %q has no generated code", encoding.Text), "use base64")
		return
	}
	if n.Str("pattern") != Base64Pattern {
		l.report(n, "says base64 without its pattern", "add \"pattern\": %q", Base64Pattern)
	}
	if _, ok := DecodedLimit(n); !ok {
		most, _ := n.Int("maxLength")
		l.report(n, "does not bound the decoded size", "let maxLength be 4*(N/3+1) with N the most bytes and N mod 3 = 1, and add \"anyOf\": [{\"maxLength\": %d}, {\"pattern\": \"==$\"}]", most-1)
	}
}

// DecodedLimit returns the most bytes that a base64 schema lets through. Its
// maxLength counts whole groups of four characters; the longest text must end in
// two paddings, which leaves one byte in its last group.
func DecodedLimit(n *Node) (int, bool) {
	most, ok := n.Int("maxLength")
	anyOf := n.Get("anyOf")
	if !ok || most%4 != 0 || anyOf == nil || len(anyOf.Items) != 2 {
		return 0, false
	}
	short, padded := anyOf.Items[0], anyOf.Items[1]
	below, ok := short.Int("maxLength")
	if !ok || below != most-1 || len(short.Keys) != 1 || padded.Str("pattern") != "==$" || len(padded.Keys) != 1 {
		return 0, false
	}
	return int(most/4*3 - 2), true
}

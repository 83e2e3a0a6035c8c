package wirejson

import (
	"strconv"
	"strings"
)

// Rule names the keyword of JSON Schema that a value broke; the generated code
// looks up by it which error code a schema gives to the breach.
type Rule string

// The rules beside the schema keywords, which go by their own names.
const (
	RuleNull       Rule = "null"       // null where a feature would have to allow it
	RuleUnknown    Rule = "unknown"    // a member that a closed object does not have
	RuleDuplicate  Rule = "duplicate"  // a member that stands twice
	RuleSyntax     Rule = "syntax"     // the message is not JSON at all
	RuleNumberForm Rule = "numberForm" // a number spelt too long to be looked at
)

// Fault says what is wrong with a message, and where.
type Fault struct {
	Rule   Rule
	Code   string // an error code from the schema (x-error-code), else ""
	Place  string // JSON pointer
	Reason string // never holds a peer's bytes unescaped
}

func (f *Fault) Error() string {
	if f.Place == "" {
		return f.Reason
	}
	return f.Place + ": " + f.Reason
}

// New returns a fault of the value at hand; At tells the place on the way out.
func New(rule Rule, reason string) *Fault { return &Fault{Rule: rule, Reason: reason} }

// At puts the name of a member before the place of f.
func (f *Fault) At(name string) *Fault {
	f.Place = "/" + pointerToken(name) + f.Place
	return f
}

// AtIndex puts the index of an item before the place of f.
func (f *Fault) AtIndex(i int) *Fault {
	f.Place = "/" + strconv.Itoa(i) + f.Place
	return f
}

// Coded gives f the error code of a schema when rule is the broken one and nothing
// below has given it one.
func (f *Fault) Coded(rule Rule, code string) *Fault {
	if f.Rule == rule && f.Code == "" && f.Place == "" {
		f.Code = code
	}
	return f
}

// CodedAny gives f the error code of a schema whatever rule was broken.
func (f *Fault) CodedAny(code string) *Fault {
	if f.Code == "" && f.Rule != RuleSyntax && f.Rule != RuleDuplicate {
		f.Code = code
	}
	return f
}

// Missing is the fault of a required member that is absent; code may be "".
func Missing(name, code string) *Fault {
	f := New("required", "is required")
	f.Code = code
	return f.At(name)
}

// pointerToken escapes a member's name for a JSON pointer. Names that are not
// the schema's come from a peer: they are cut and made printable ASCII.
func pointerToken(name string) string {
	const longest = 64
	plain := len(name) <= longest
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = c > ' ' && c < 0x7f && c != '~' && c != '/' && c != '"' && c != '\\'
	}
	if plain {
		return name
	}
	cut := ""
	if len(name) > longest {
		name, cut = name[:longest], "..."
	}
	quoted := strconv.QuoteToASCII(name)
	quoted = strings.NewReplacer("~", "~0", "/", "~1").Replace(quoted[1 : len(quoted)-1])
	return quoted + cut
}

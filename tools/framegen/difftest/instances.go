package difftest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// Instances calls try with each text that is worth trying for a schema, given a
// tree that is valid for it: every limit of the schema and its neighbours at every
// place, every deletion, null, unknown, case-folded and double names, and the pool
// of nasty values.
func Instances(schema *spec.Type, whole *Tree, try func(text string)) {
	try(whole.String())
	for _, text := range surroundings(whole.String()) {
		try(text)
	}
	w := &walker{whole: whole, try: try}
	w.place(schema, whole)
}

// surroundings are texts that are wrong or right as a whole.
func surroundings(text string) []string {
	return []string{
		" \t\r\n" + text + "\n ", text + text, text + ",", text + "x", "[" + text + "]", "\ufeff" + text,
		text[:len(text)-1], text[1:], strings.Replace(text, ":", "::", 1), strings.Replace(text, ",", ",,", 1),
		strings.Replace(text, "{", "{,", 1), text[:len(text)-1] + ",}", strings.ReplaceAll(text, "\"", "'"),
		strings.ReplaceAll(text, ":", " :\n"), "", "null", "0", `""`, "{}", "[]", "true", "{", "\x00", "\xff",
		strings.Replace(text, "\"", "\"\xff", 1),
	}
}

type walker struct {
	whole *Tree
	try   func(string)
}

// with tries the whole with one place changed; restore puts it back.
func (w *walker) with(at *Tree, change func(*Tree)) {
	saved := *at
	saved.Names = append([]string(nil), at.Names...)
	saved.Below = append([]*Tree(nil), at.Below...)
	change(at)
	w.try(w.whole.String())
	*at = saved
}

func (w *walker) leaf(at *Tree, raw string) {
	w.with(at, func(t *Tree) { *t = Tree{Raw: raw} })
}

// place tries everything at one place.
func (w *walker) place(t *spec.Type, at *Tree) {
	for _, raw := range pool {
		w.leaf(at, raw)
	}
	switch t.Kind {
	case spec.Object:
		w.object(t, at)
	case spec.Array:
		w.array(t, at)
	case spec.Integer:
		for _, raw := range numbersAround(t.Min, t.Max) {
			w.leaf(at, raw)
		}
	case spec.String:
		for _, s := range stringsAround(t) {
			w.leaf(at, Text(s).Raw)
		}
		w.spellings(at)
	}
}

// spellings tries other ways to write the same string.
func (w *walker) spellings(at *Tree) {
	inner := strings.TrimSuffix(strings.TrimPrefix(at.Raw, `"`), `"`)
	for i, c := range inner {
		if c < 0x80 && c != '\\' && c != '"' {
			w.leaf(at, `"`+inner[:i]+fmt.Sprintf(`\u%04x`, c)+inner[i+1:]+`"`)
			break
		}
	}
	for _, changed := range []string{
		strings.ToUpper(inner), strings.ToLower(inner), " " + inner, inner + " ", inner + `\n`, `\n` + inner,
		inner + `\u0000`, inner + inner, inner + `\ud83d\ude00`, inner + `\ud83d`, inner + "\xff", inner + "=",
		strings.Replace(inner, "-", "", 4), "{" + inner + "}", "urn:uuid:" + inner, strings.Replace(inner, "T", "t", 1),
		strings.Replace(inner, "Z", "z", 1), strings.Replace(inner, "Z", "+00:00", 1), strings.Replace(inner, "Z", ".5Z", 1),
		strings.Replace(inner, "Z", ".1234567890Z", 1), strings.Replace(inner, "Z", ".123456789Z", 1), strings.Replace(inner, "Z", ",5Z", 1),
	} {
		w.leaf(at, `"`+changed+`"`)
	}
}

func (w *walker) array(t *spec.Type, at *Tree) {
	item := Sample(t.Items, true)
	if len(at.Below) > 0 {
		item = at.Below[0]
	}
	for _, n := range []int{0, 1, 2, t.MinItems - 1, t.MinItems, t.MaxItems - 1, t.MaxItems, t.MaxItems + 1} {
		if n < 0 {
			continue
		}
		w.with(at, func(a *Tree) {
			a.Below = nil
			for range n {
				a.Below = append(a.Below, item)
			}
		})
	}
	for i := range at.Below {
		w.place(t.Items, at.Below[i])
	}
}

func (w *walker) object(t *spec.Type, at *Tree) {
	for i := range at.Below {
		w.with(at, func(o *Tree) { o.Drop(i) })
		name := at.Names[i]
		for _, other := range otherNames(name) {
			w.with(at, func(o *Tree) { o.Names[i] = other })
			w.with(at, func(o *Tree) { o.Add(other, o.Below[i]) })
		}
		w.with(at, func(o *Tree) { o.Add(name, o.Below[i]) })
		w.with(at, func(o *Tree) { o.Add(name, Leaf("null")) })
		w.with(at, func(o *Tree) { o.Add(escapeFirst(name), o.Below[i]) })
		w.with(at, func(o *Tree) { o.Names[i] = escapeFirst(name) })
		// Two members missing at once.
		for j := range i {
			w.with(at, func(o *Tree) { o.Drop(i); o.Drop(j) })
		}
	}
	for _, raw := range unknownValues {
		w.with(at, func(o *Tree) { o.Add(`"unknown"`, Leaf(raw)) })
		w.with(at, func(o *Tree) {
			o.Names = append([]string{`"unknown"`}, o.Names...)
			o.Below = append([]*Tree{Leaf(raw)}, o.Below...)
		})
	}
	w.with(at, func(o *Tree) { o.Add(`"u"`, Leaf("1")); o.Add(`"\u0075"`, Leaf("1")) })
	w.with(at, func(o *Tree) { // the order of members means nothing
		for i, j := 0, len(o.Below)-1; i < j; i, j = i+1, j-1 {
			o.Names[i], o.Names[j] = o.Names[j], o.Names[i]
			o.Below[i], o.Below[j] = o.Below[j], o.Below[i]
		}
	})
	for _, f := range t.Fields {
		if below := at.Member(f.Name); below != nil {
			w.place(f.Type, below)
		}
	}
}

// otherNames are names that a lax reader would take for name.
func otherNames(name string) []string {
	inner := name[1 : len(name)-1]
	if inner == "" { // an earlier edit emptied it
		return []string{`"X"`, `" "`}
	}
	return []string{
		`"` + strings.ToUpper(inner) + `"`, `"` + strings.ToUpper(inner[:1]) + inner[1:] + `"`,
		`"` + strings.ToLower(inner) + `X"`, `"` + inner + ` "`, `"` + inner + `\u0000"`,
		`"` + strings.Replace(inner, "s", "ſ", 1) + `"`, `"` + strings.Replace(inner, "k", "\u212a", 1) + `"`, `""`,
	}
}

// escapeFirst spells the first character of a name by its number; an empty name
// has none.
func escapeFirst(name string) string {
	if name == `""` {
		return name
	}
	return fmt.Sprintf(`"\u%04x`, name[1]) + name[2:]
}

// numbersAround are the limits, their neighbours and their spellings.
func numbersAround(least, most int64) []string {
	var out []string
	for _, n := range []int64{least - 1, least, least + 1, most - 1, most, most + 1, 0, 1, -1, 10, 100} {
		s := strconv.FormatInt(n, 10)
		out = append(out, s, s+".0", s+".5", s+"e0", s+"E+0", s+"0e-1", s+"00.00e-2", s+".0000000000000000000000000000000000000000", s+".00000000000000000000000000000000000000001")
	}
	return append(out, "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616")
}

// stringsAround are lengths at the limits in runes of one, two and four bytes,
// and what each other keyword speaks of.
func stringsAround(t *spec.Type) []string {
	out := append([]string{}, t.Enum...)
	out = append(out, t.Not...)
	for _, n := range []int{0, 1, 2, t.MinLength - 1, t.MinLength, t.MinLength + 1, t.MaxLength - 1, t.MaxLength, t.MaxLength + 1} {
		if n < 0 {
			continue
		}
		for _, r := range []string{"x", "é", "😀", "0", "A", "="} {
			if n > 1<<16 && r != "A" && r != "é" {
				continue // a megabyte of each would only take time
			}
			out = append(out, strings.Repeat(r, n))
		}
	}
	if t.Base64 {
		for n := range 9 {
			out = append(out, strings.Repeat("A", n), strings.Repeat("A", n)+"=", strings.Repeat("A", n)+"==")
		}
		out = append(out, strings.Repeat("A", t.MaxLength-2)+"==", strings.Repeat("A", t.MaxLength-1)+"=",
			strings.Repeat("A", t.MaxLength-6)+"==", strings.Repeat("AAAA", 100)+"\n"+strings.Repeat("AAAA", 100),
			strings.Repeat("AAAA", 100)+"\n", strings.Repeat("AAAA", 20)+"====", strings.Repeat("-_AA", 20),
			strings.Repeat("AAAA", 20)+"AB==", strings.Repeat("AAAA", 20)+"AAB=", strings.Repeat("AA==", 20))
	}
	return append(out, Sample(t, true).text()+"x")
}

func (t *Tree) text() string { return strings.Trim(t.Raw, `"`) }

var samples = []string{
	"a", "01234567-89ab-7def-8123-456789abcdef", "2026-05-01T14:23:11Z", "sha256:" + strings.Repeat("0f", 32),
	"0644", "AAAA", "",
}

// Sample returns a tree that is valid for a schema: with every member, or with the
// required ones only.
func Sample(t *spec.Type, full bool) *Tree {
	switch t.Kind {
	case spec.Object:
		o := &Tree{Kind: '{'}
		for _, f := range t.Fields {
			if full || f.Required {
				o.Add(`"`+f.Name+`"`, Sample(f.Type, full))
			}
		}
		if t.Condition != nil && !full { // take the other branch
			*o.Member(t.Condition.If) = *Leaf(strconv.FormatBool(!t.Condition.Is))
		}
		return o
	case spec.Array:
		a := &Tree{Kind: '['}
		for range max(t.MinItems, map[bool]int{true: 2}[full]) {
			a.Below = append(a.Below, Sample(t.Items, full))
		}
		return a
	case spec.Integer:
		return Leaf(strconv.FormatInt(t.Min, 10))
	case spec.Boolean:
		return Leaf("true")
	}
	return Text(sampleString(t))
}

func sampleString(t *spec.Type) string {
	if t.Const != "" {
		return t.Const
	}
	if len(t.Enum) > 0 {
		return t.Enum[0]
	}
	for _, s := range samples {
		long := t.MaxLength == 0 || len(s) <= t.MaxLength
		if long && len(s) >= t.MinLength && (t.Pattern == "" || regexp.MustCompile(t.Pattern).MatchString(s)) {
			return s
		}
	}
	panic("difftest: no sample for " + t.Node.File + "#" + t.Node.Pointer + "; add one to samples")
}

package main

import (
	"fmt"
	"go/ast"
	"regexp"
	"strconv"
	"strings"
)

// rememberPatterns notes the regular expressions that a file declares.
func (f *finder) rememberPatterns(d *ast.GenDecl) {
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			continue
		}
		call, ok := v.Values[0].(*ast.CallExpr)
		if !ok || f.text(call.Fun) != "regexp.MustCompile" {
			continue
		}
		if source, err := strconv.Unquote(f.text(call.Args[0])); err == nil {
			f.patterns[v.Names[0].Name] = source
		}
	}
}

func (f *finder) pattern(n *ast.CallExpr, arg *ast.Ident, source string) {
	others := patternMutants(source)
	var list strings.Builder
	first := len(f.mutants)
	for _, other := range others {
		f.add("patterns", fmt.Sprintf("%s: %s as %s", f.text(n.Args[0]), source, other))
		fmt.Fprintf(&list, ", %q", other)
	}
	f.wrap(arg, fmt.Sprintf("wirejson.Pattern(%d, ", first), list.String()+")")
}

var (
	repeated = regexp.MustCompile(`\{(\d+)(,?)(\d*)\}`)
	class    = regexp.MustCompile(`\[([^\]]*)\]`)
	item     = regexp.MustCompile(`(\\x[0-9a-f]{2}|[^-])(-[^-\]])?$|-$`)
	optional = regexp.MustCompile(`\([^)]*\)\?`)
)

// patternMutants are patterns that are a little wrong.
func patternMutants(source string) []string {
	var out []string
	add := func(s string) {
		if _, err := regexp.Compile(s); err == nil && s != source {
			out = append(out, s)
		}
	}
	add(strings.TrimPrefix(source, "^"))
	add(strings.TrimSuffix(source, "$"))
	for _, at := range repeated.FindAllStringSubmatchIndex(source, -1) {
		for i := 2; i < len(at); i += 4 { // the least, the most
			n, err := strconv.Atoi(source[at[i]:at[i+1]])
			if err != nil {
				continue
			}
			add(source[:at[i]] + strconv.Itoa(n+1) + source[at[i+1]:])
			if n > 0 {
				add(source[:at[i]] + strconv.Itoa(n-1) + source[at[i+1]:])
			}
		}
	}
	for _, at := range class.FindAllStringSubmatchIndex(source, -1) {
		add(source[:at[0]] + "." + source[at[1]:])
		if inner := source[at[2]:at[3]]; item.MatchString(inner) {
			add(source[:at[2]] + item.ReplaceAllString(inner, "") + source[at[3]:])
		}
	}
	for _, at := range optional.FindAllStringIndex(source, -1) {
		add(source[:at[0]] + source[at[1]:])
		add(source[:at[1]-1] + source[at[1]:])
	}
	return out
}

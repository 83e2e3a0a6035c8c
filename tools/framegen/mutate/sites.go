package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
)

// mutant is one change of the generated code.
type mutant struct {
	ID   int
	Key  string // the same after every generation that leaves the place as it is
	Kind string // what is changed: bounds, required, ...
}

// insertion is text that goes into a file. Those of outer expressions stand
// outside those of inner ones.
type insertion struct {
	at, order int
	text      string
}

// finder finds the mutants of a file and instruments it.
type finder struct {
	source     string
	file       *token.File
	pkg, fn    string
	patterns   map[string]string
	mutants    []mutant
	keys       map[string]int
	insertions []insertion
}

// instrument returns the source of a file with switches in it.
func (f *finder) instrument(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, raw, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	f.source, f.file, f.pkg = string(raw), set.File(tree.Pos()), tree.Name.Name
	f.insertions, f.patterns = nil, map[string]string{}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			f.rememberPatterns(d)
		case *ast.FuncDecl:
			f.fn = f.pkg + "." + name(d)
			if d.Body != nil && !strings.HasSuffix(f.fn, ".MarshalJSON") {
				ast.Inspect(d.Body, f.visit)
			}
		}
	}
	return f.written(), nil
}

func name(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	return t.(*ast.Ident).Name + "." + d.Name.Name
}

func (f *finder) written() string {
	slices.SortStableFunc(f.insertions, func(a, b insertion) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
	})
	var out strings.Builder
	last := 0
	for _, i := range f.insertions {
		out.WriteString(f.source[last:i.at])
		out.WriteString(i.text)
		last = i.at
	}
	out.WriteString(f.source[last:])
	return out.String()
}

func (f *finder) offset(p token.Pos) int { return f.file.Offset(p) }

func (f *finder) text(n ast.Node) string {
	return strings.Join(strings.Fields(f.source[f.offset(n.Pos()):f.offset(n.End())]), " ")
}

// wrap puts text around an expression. What is wrapped first is outside.
func (f *finder) wrap(n ast.Node, before, after string) {
	order := len(f.insertions)
	f.insertions = append(f.insertions,
		insertion{f.offset(n.Pos()), order, before}, insertion{f.offset(n.End()), -order, after})
}

// add names a mutant and returns its number.
func (f *finder) add(kind, what string) int {
	key := f.fn + ": " + strings.ReplaceAll(what, "`", "'")
	if f.keys[key]++; f.keys[key] > 1 {
		key += fmt.Sprintf(" (%d)", f.keys[key])
	}
	f.mutants = append(f.mutants, mutant{len(f.mutants), key, kind})
	return len(f.mutants) - 1
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.condition(n)
	case *ast.SwitchStmt:
		f.cases(n)
	case *ast.CallExpr:
		f.call(n)
	case *ast.ReturnStmt:
		f.result(n)
	}
	return true
}

// condition makes a condition true, false, and for each operand that it needs,
// does without it.
func (f *finder) condition(n *ast.IfStmt) {
	what := "if " + f.text(n.Cond)
	if n.Init != nil {
		what = "if " + f.text(n.Init) + "; " + f.text(n.Cond)
	}
	kind := "conditions"
	switch body := f.text(n.Body); {
	case strings.Contains(body, "wirejson.Missing("):
		kind = "required"
		what += " " + body
	case strings.Contains(what, "wirejson.Match("):
		kind = "patterns"
	case strings.Contains(body, `wirejson.New("const"`), strings.Contains(body, `wirejson.New("not"`):
		kind = "constants"
	case strings.Contains(body, ".At("), strings.Contains(body, "Duplicate("):
		what += " " + body
	}
	never, always := f.add(kind, what+" never"), f.add(kind, what+" always")
	f.wrap(n.Cond, fmt.Sprintf("wirejson.On(%d) || !wirejson.On(%d) && (", always, never), ")")
	f.operands(n.Cond, kind, what)
}

func (f *finder) operands(e ast.Expr, kind, what string) {
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.LAND {
		return
	}
	for _, operand := range []ast.Expr{b.X, b.Y} {
		if inner, ok := operand.(*ast.BinaryExpr); ok && inner.Op == token.LAND {
			f.operands(operand, kind, what)
			continue
		}
		id := f.add(kind, what+" without "+f.text(operand))
		f.wrap(operand, fmt.Sprintf("(wirejson.On(%d) || ", id), ")")
	}
}

// cases takes single values out of enums, exclusions and the names of members;
// and lets members read null that may not be, or refuse it where they may.
func (f *finder) cases(n *ast.SwitchStmt) {
	members := f.text(n.Tag) == "string(name)"
	for _, c := range n.Body.List {
		c := c.(*ast.CaseClause)
		for _, value := range c.List {
			kind, what := "constants", "switch "+f.text(n.Tag)+" without "+f.text(value)
			if members {
				kind, what = "names", "no member "+f.text(value)
			}
			f.wrap(value, fmt.Sprintf("wirejson.Gone(%d, ", f.add(kind, what)), ")")
		}
		if members && len(c.List) == 1 {
			f.null(c)
		}
	}
}

func (f *finder) null(c *ast.CaseClause) {
	member := f.text(c.List[0])
	body := f.source[f.offset(c.Pos()):f.offset(c.End())]
	code, kind := "if null, f := r.Null(); f != nil || null { if f == nil { continue }; return f }", "null is taken for "
	if strings.Contains(body, "OrNull(") {
		code, kind = `if null, f := r.Null(); f != nil || null { return wirejson.New("null", "mutant") }`, "null is refused for "
	}
	// After the search for duplicates, which is the first two statements.
	f.insertions = append(f.insertions, insertion{f.offset(c.Body[2].Pos()), -1,
		fmt.Sprintf("if wirejson.On(%d) { %s }\n", f.add("null", kind+member), code)})
}

// call shifts the bounds that are arguments, flips flags, changes texts that are
// written, and patterns.
func (f *finder) call(n *ast.CallExpr) {
	what := f.text(n)
	for i, arg := range n.Args {
		switch arg := arg.(type) {
		case *ast.Ident:
			f.flag(arg, what)
			if source, ok := f.patterns[arg.Name]; ok {
				f.pattern(n, arg, source)
			}
		case *ast.BasicLit:
			f.literal(n, i, arg, what)
			f.told(n, i, arg, what)
		case *ast.UnaryExpr:
			f.bound(n, arg, what, f.text(arg))
		}
	}
}

func (f *finder) flag(arg *ast.Ident, what string) {
	not := map[string]string{"true": "!", "false": ""}
	if sign, ok := not[arg.Name]; ok {
		id := f.add("unknown members", what+" with not "+arg.Name)
		f.wrap(arg, fmt.Sprintf("%swirejson.On(%d) || !wirejson.On(%d) && ", sign, id, id), "")
	}
}

func (f *finder) literal(n *ast.CallExpr, i int, arg *ast.BasicLit, what string) {
	fun := f.text(n.Fun)
	switch {
	case arg.Kind == token.INT:
		f.bound(n, arg, what, arg.Value)
	case arg.Kind == token.STRING && (fun == "append" || fun == "s.Fixed") && i == len(n.Args)-1:
		f.wrap(arg, fmt.Sprintf("wirejson.Other(%d, ", f.add("names", what+" misspelt")), ")")
	}
}

// told changes what a refusal says: its code, its place, and the rule that it
// names. Empty codes are none, so they become one.
func (f *finder) told(n *ast.CallExpr, i int, arg *ast.BasicLit, what string) {
	fun := f.text(n.Fun)
	if s, ok := n.Fun.(*ast.SelectorExpr); ok && fun != "wirejson.New" && fun != "wirejson.Missing" {
		fun = s.Sel.Name
	}
	kind := map[string]string{
		"CodedAny 0": "codes", "Coded 1": "codes", "wirejson.Missing 1": "codes",
		"At 0": "places", "Duplicate 0": "places", "wirejson.Missing 0": "places",
		"wirejson.New 0": "rules",
	}[fmt.Sprint(fun, " ", i)]
	if kind == "" {
		return
	}
	other := fmt.Sprintf("wirejson.Other(%d, ", f.add(kind, what+" with another "+arg.Value))
	if kind == "rules" {
		f.wrap(arg, "wirejson.Rule("+other, "))")
		return
	}
	f.wrap(arg, other, ")")
}

func (f *finder) bound(n *ast.CallExpr, arg ast.Expr, what, literal string) {
	value, err := strconv.ParseInt(literal, 0, 64)
	if err != nil {
		return
	}
	shift := "wirejson.Shift"
	if fun := f.text(n.Fun); fun == "r.Int" || fun == "wirejson.Range" {
		shift = "wirejson.Shift64"
	}
	id := f.add("bounds", fmt.Sprintf("%s with %d for %d", what, value+1, value))
	if value > 0 || shift == "wirejson.Shift64" { // no length is below 0
		f.add("bounds", fmt.Sprintf("%s with %d for %d", what, value-1, value))
	}
	f.wrap(arg, fmt.Sprintf("%s(%d, ", shift, id), ")")
}

// result lets checks be forgotten that are the last of a function.
func (f *finder) result(n *ast.ReturnStmt) {
	if len(n.Results) != 1 {
		return
	}
	what := f.text(n)
	switch e := n.Results[0].(type) {
	case *ast.CallExpr:
		if strings.HasSuffix(f.text(e.Fun), ".checkOwn") {
			f.wrap(e, fmt.Sprintf("wirejson.Pass(%d, ", f.add("conditions", what+" forgotten")), ")")
		}
	case *ast.BinaryExpr:
		f.operands(e, "conditions", what)
	}
}

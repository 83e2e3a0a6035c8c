package spec

import (
	"fmt"
	"strings"
)

// operationsFile lists the routes of the HTTP API.
const operationsFile = "api/operations.json"

// operations checks the list of routes; its keys are the generator's own.
func (l *linter) operations(f *Node) {
	l.keywords(f, []string{"title", "description", "version", "base", "parameters", "operations", "errors"})
	for _, key := range []string{"title", "description", "version", "base", "errors"} {
		if f.Str(key) == "" {
			l.report(f, "has no "+key, "state it")
		}
	}
	l.body(f, "errors")
	parameters := f.Get("parameters")
	if parameters == nil {
		l.report(f, "has no parameters", "state them, {} if there are none")
		return
	}
	for _, name := range parameters.Keys {
		p := parameters.Members[name]
		l.keywords(p, []string{"in", "schema"})
		l.oneOf(p, "in", "path", "query")
		if s := p.Get("schema"); s == nil {
			l.report(p, "has no schema", "say what it holds")
		} else {
			l.schema(s)
		}
	}
	operations := f.Get("operations")
	if operations == nil {
		l.report(f, "has no operations", "state them")
		return
	}
	for _, op := range operations.Items {
		l.operation(f, op, parameters)
	}
}

func (l *linter) operation(f, op, parameters *Node) {
	l.keywords(op, []string{"id", "method", "path", "summary", "parameters", "credential", "request", "response"})
	l.oneOf(op, "method", "get", "put", "post", "patch", "delete")
	if op.Str("id") == "" || op.Str("summary") == "" || !strings.HasPrefix(op.Str("path"), "/") {
		l.report(op, "has no id, no summary or no path", "state all three; the path begins with /")
	}
	l.body(op, "response")
	if op.Get("request") != nil {
		l.body(op, "request")
	}
	if op.Get("credential") != nil {
		l.oneOf(op, "credential", "none")
	}
	whole := f.Str("base") + op.Str("path")
	for _, name := range op.Strings("parameters") {
		p := parameters.Get(name)
		if p == nil {
			l.report(op, fmt.Sprintf("has a parameter %q that is not listed", name), "add it to parameters")
			continue
		}
		if inPath := strings.Contains(whole, "{"+name+"}"); inPath != (p.Str("in") == "path") {
			l.report(op, fmt.Sprintf("parameter %q is in %s, but the path is %s", name, p.Str("in"), whole), "correct one of them")
		}
	}
}

func (l *linter) body(n *Node, key string) {
	if l.files[n.Str(key)] == nil {
		l.report(n, fmt.Sprintf("%s names no schema file: %q", key, n.Str(key)), "write the path of one below schema/")
	}
}

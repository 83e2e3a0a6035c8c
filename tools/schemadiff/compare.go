package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// comparer walks two bundles at once.
type comparer struct {
	old, now *spec.Node
	found    []Change
	said     map[string]bool
	walked   map[string]bool
}

// compare lists the breaking changes from one bundle to another, in the order of
// the older.
func compare(old, now *spec.Node) []Change {
	c := &comparer{old: old, now: now, said: map[string]bool{}, walked: map[string]bool{}}
	c.frames()
	c.tools()
	c.operations()
	c.schema("/error", old.Get("error"), now.Get("error"), outputRole)
	return c.found
}

// report notes a change once, if it hurts anybody in this role.
func (c *comparer) report(r role, e effect, kind Kind, place, what string, args ...any) {
	change := Change{kind, place, fmt.Sprintf(what, args...), e}
	if !r.suffers(e) || c.said[change.Line()] {
		return
	}
	c.said[change.Line()] = true
	c.found = append(c.found, change)
}

func (c *comparer) frames() {
	old, now := c.old.Get("frames"), c.now.Get("frames")
	for _, tag := range old.Keys {
		place, o, n := "/frames/"+tag, old.Members[tag], now.Get(tag)
		if n == nil {
			c.report(frameRole, either, FrameRemoved, place, "%s → none", tag)
			continue
		}
		c.word(frameRole, FrameDirection, place+"/from", o.Str("from"), n.Str("from"))
		c.word(frameRole, FrameLane, place+"/lane", o.Str("lane"), n.Str("lane"))
		c.word(frameRole, FrameFeature, place+"/feature", o.Str("feature"), n.Str("feature"))
		c.schema(place+"/schema", o.Get("schema"), n.Get("schema"), frameRole)
	}
	for _, tag := range now.Keys {
		if old.Get(tag) == nil && now.Members[tag].Str("feature") == "" {
			c.report(frameRole, surprises, FrameForced, "/frames/"+tag, "none → %s", tag)
		}
	}
}

func (c *comparer) tools() {
	old, now := c.old.Get("tools"), c.now.Get("tools")
	for _, name := range old.Keys {
		place, o, n := "/tools/"+name, old.Members[name], now.Get(name)
		if n == nil {
			c.report(inputRole, either, ToolRemoved, place, "%s → none", name)
			continue
		}
		c.schema(place+"/input", o.Get("input"), n.Get("input"), inputRole)
		c.schema(place+"/output", o.Get("output"), n.Get("output"), outputRole)
	}
}

func (c *comparer) operations() {
	old, now := c.old.Get("operations"), c.now.Get("operations")
	for _, id := range old.Keys {
		place, o, n := "/operations/"+id, old.Members[id], now.Get(id)
		if n == nil {
			c.report(inputRole, either, OperationRemoved, place, "%s → none", id)
			continue
		}
		c.word(inputRole, OperationMoved, place+"/method", o.Str("method"), n.Str("method"))
		c.word(inputRole, OperationMoved, place+"/path", o.Str("path"), n.Str("path"))
		c.parameters(place+"/parameters", o.Get("parameters"), n.Get("parameters"))
		if o.Get("request") != nil && n.Get("request") != nil {
			c.schema(place+"/request", o.Get("request"), n.Get("request"), inputRole)
		}
		c.schema(place+"/response", o.Get("response"), n.Get("response"), outputRole)
	}
}

func (c *comparer) parameters(place string, old, now *spec.Node) {
	for _, name := range old.Keys {
		o, n := old.Members[name], now.Get(name)
		if n == nil {
			c.report(inputRole, either, ParameterRemoved, place+"/"+name, "%s → none", name)
			continue
		}
		c.word(inputRole, ParameterMoved, place+"/"+name+"/in", o.Str("in"), n.Str("in"))
		c.schema(place+"/"+name+"/schema", o.Get("schema"), n.Get("schema"), inputRole)
	}
	for _, name := range now.Keys {
		// Only parameters of the path are required.
		if old.Get(name) == nil && now.Members[name].Str("in") == "path" {
			c.report(inputRole, refuses, ParameterRequired, place+"/"+name, "none → %s", name)
		}
	}
}

// word compares what is one of a few words and cannot change without harm.
func (c *comparer) word(r role, kind Kind, place, old, now string) {
	if old != now {
		c.report(r, either, kind, place, "%s → %s", orNone(old), orNone(now))
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// schema compares two schemas, either of which may be a reference.
func (c *comparer) schema(place string, old, now *spec.Node, r role) {
	oldRef, nowRef := old.Str("$ref"), now.Str("$ref")
	c.features(place, old, now, r)
	o, n := resolve(c.old, old), resolve(c.now, now)
	if oldRef != "" && oldRef == nowRef {
		c.errorCodes(place, ownCodes(old), ownCodes(now), r)
		place = strings.TrimPrefix(oldRef, "#")
		key := fmt.Sprint(place, r)
		if c.walked[key] {
			return
		}
		c.walked[key] = true
		c.errorCodes(place, ownCodes(o), ownCodes(n), r)
	} else {
		c.errorCodes(place, codesOf(old, o), codesOf(now, n), r)
	}
	c.nullability(place, o, n, r)
	kind, was := kindOf(n), kindOf(o)
	if kind != was {
		c.report(r, either, TypeChanged, place+"/type", "%s → %s", was, kind)
		return
	}
	switch kind {
	case "object":
		c.object(place, o, n, r)
	case "array":
		c.bounds(place, o, n, r, "minItems", "maxItems")
		c.schema(place+"/items", o.Get("items"), n.Get("items"), r)
	case "integer":
		c.bounds(place, o, n, r, "minimum", "maximum")
	case "string":
		c.text(place, o, n, r)
	}
}

func resolve(whole, n *spec.Node) *spec.Node {
	if name, ok := strings.CutPrefix(n.Str("$ref"), "#/$defs/"); ok {
		return whole.Get("$defs").Get(name)
	}
	return n
}

func kindOf(n *spec.Node) string {
	if types := n.Strings("type"); len(types) > 0 {
		return types[0]
	}
	return n.Str("type")
}

func (c *comparer) nullability(place string, o, n *spec.Node, r role) {
	was, is := len(o.Strings("type")) == 2, len(n.Strings("type")) == 2
	switch {
	case was && !is:
		c.report(r, refuses, NullRefused, place+"/type", "may be null → never null")
	case is && !was:
		c.report(r, surprises, NullAllowed, place+"/type", "never null → may be null")
	case is && o.Get("x-emit-null") != nil && n.Get("x-emit-null") == nil:
		c.report(r, surprises, NullUnsent, place+"/x-emit-null", "true → none")
	}
}

// features compares to which extension a member belongs, or which allows null.
func (c *comparer) features(place string, old, now *spec.Node, r role) {
	was, is := literal(old.Get("x-feature")), literal(now.Get("x-feature"))
	if was != is {
		c.report(r, either, PropertyFeature, place+"/x-feature", "%s → %s", was, is)
	}
}

func literal(n *spec.Node) string {
	if n == nil {
		return "none"
	}
	return string(n.AppendJSON(nil))
}

// ownCodes are the error codes that stand at n itself.
func ownCodes(n *spec.Node) map[string]string {
	codes := map[string]string{}
	c := n.Get("x-error-code")
	if c == nil {
		return codes
	}
	if c.Kind == '"' {
		codes["any"] = c.Text
	}
	for _, rule := range c.Keys {
		codes[rule] = c.Members[rule].Text
	}
	return codes
}

// codesOf are those that hold at n, which may refer to a definition.
func codesOf(n, definition *spec.Node) map[string]string {
	codes := ownCodes(definition)
	for rule, code := range ownCodes(n) {
		codes[rule] = code
	}
	return codes
}

func (c *comparer) errorCodes(place string, old, now map[string]string, r role) {
	var rules []string
	for rule := range old {
		rules = append(rules, rule)
	}
	for rule := range now {
		if _, both := old[rule]; !both {
			rules = append(rules, rule)
		}
	}
	slices.Sort(rules)
	for _, rule := range rules {
		c.word(r, ErrorCodeMoved, place+"/x-error-code/"+rule, old[rule], now[rule])
	}
}

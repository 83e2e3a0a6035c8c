package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

func (c *comparer) object(place string, o, n *spec.Node, r role) {
	c.properties(place+"/properties", o, n, r)
	wasOpen, open := o.Get("additionalProperties").Kind == 't', n.Get("additionalProperties").Kind == 't'
	switch {
	case wasOpen && !open:
		c.report(r, refuses, ObjectClosed, place+"/additionalProperties", "true → false")
	case open && !wasOpen:
		c.report(r, surprises, ObjectOpened, place+"/additionalProperties", "false → true")
	}
	c.condition(place, o, n, r)
}

func (c *comparer) properties(place string, o, n *spec.Node, r role) {
	old, now := o.Get("properties"), n.Get("properties")
	required, nowRequired := o.Strings("required"), n.Strings("required")
	for _, name := range old.Keys {
		at := place + "/" + name
		if now.Get(name) == nil {
			c.report(r, either, PropertyRemoved, at, "%s → none", name)
			continue
		}
		was, is := slices.Contains(required, name), slices.Contains(nowRequired, name)
		switch {
		case is && !was:
			c.report(r, refuses, PropertyRequired, at, "optional → required")
		case was && !is:
			c.report(r, surprises, PropertyOptional, at, "required → optional")
		}
		c.schema(at, old.Members[name], now.Members[name], r)
	}
	closed := o.Get("additionalProperties").Kind == 'f'
	for _, name := range now.Keys {
		if old.Get(name) != nil {
			continue
		}
		if slices.Contains(nowRequired, name) {
			c.report(r, refuses, PropertyRequired, place+"/"+name, "none → required")
		}
		if closed {
			c.report(r, surprises, PropertyUnknown, place+"/"+name, "none → %s", name)
		}
	}
}

// condition compares what if and then require; the lint knows one form of them.
func (c *comparer) condition(place string, o, n *spec.Node, r role) {
	was, old := conditional(o)
	is, now := conditional(n)
	for _, name := range old {
		if was != is || !slices.Contains(now, name) {
			c.report(r, surprises, ConditionLess, place+"/then", "required when %s: %s → not", was, name)
		}
	}
	for _, name := range now {
		if was != is || !slices.Contains(old, name) {
			c.report(r, refuses, ConditionMore, place+"/then", "not → required when %s: %s", is, name)
		}
	}
}

// conditional returns the condition in words and what it requires.
func conditional(n *spec.Node) (string, []string) {
	tested := n.Get("if").Get("properties")
	if tested == nil || len(tested.Keys) == 0 {
		return "", nil
	}
	name := tested.Keys[0]
	return fmt.Sprintf("%s is %s", name, literal(tested.Members[name].Get("const"))), n.Get("then").Strings("required")
}

// text compares two schemas of strings.
func (c *comparer) text(place string, o, n *spec.Node, r role) {
	if c.values(place, o, n, r) {
		return
	}
	c.bounds(place, o, n, r, "minLength", "maxLength")
	c.rule(place, "pattern", PatternChanged, o, n, r)
	c.rule(place, "format", FormatChanged, o, n, r)
	c.rule(place, "contentEncoding", EncodingChanged, o, n, r)
	if literal(o.Get("maxLength")) == literal(n.Get("maxLength")) { // else that has said it
		c.rule(place, "anyOf", BoundNarrowed, o, n, r) // the bound on decoded bytes
	}
	c.excluded(place, o, n, r)
}

// values compares const and enum, and reports whether there is any. A schema of
// one value and one of several are compared by their values.
func (c *comparer) values(place string, o, n *spec.Node, r role) bool {
	old, now := listed(o), listed(n)
	switch {
	case old == nil && now == nil:
		return false
	case old == nil:
		c.report(r, refuses, EnumShortened, place+"/enum", "any → %d values", len(now))
		return true
	case now == nil:
		c.report(r, surprises, EnumLengthened, place+"/enum", "%d values → any", len(old))
		return true
	case o.Get("const") != nil && n.Get("const") != nil && old[0] != now[0]:
		c.report(r, either, ConstChanged, place+"/const", "%s → %s", old[0], now[0])
		return true
	}
	for _, value := range old {
		if !slices.Contains(now, value) {
			c.report(r, refuses, EnumShortened, place+"/enum", "%s → none", value)
		}
	}
	for _, value := range now {
		if !slices.Contains(old, value) {
			c.report(r, surprises, EnumLengthened, place+"/enum", "none → %s", value)
		}
	}
	return true
}

func listed(n *spec.Node) []string {
	if constant := n.Get("const"); constant != nil {
		return []string{constant.Text}
	}
	return n.Strings("enum")
}

// bounds compares a lower and an upper bound; an absent one bounds nothing.
func (c *comparer) bounds(place string, o, n *spec.Node, r role, lower, upper string) {
	c.bound(place+"/"+lower, o, n, r, lower, math.MinInt64, -1)
	c.bound(place+"/"+upper, o, n, r, upper, math.MaxInt64, 1)
}

// bound compares one; outward is the sign of the direction in which it lets more
// through.
func (c *comparer) bound(place string, o, n *spec.Node, r role, key string, absent, outward int64) {
	was, is := absent, absent
	if v, ok := o.Int(key); ok {
		was = v
	}
	if v, ok := n.Int(key); ok {
		is = v
	}
	before, after := literal(o.Get(key)), literal(n.Get(key))
	switch {
	case was == is:
	case (is > was) == (outward > 0):
		c.report(r, surprises, BoundWidened, place, "%s → %s", before, after)
	default:
		c.report(r, refuses, BoundNarrowed, place, "%s → %s", before, after)
	}
}

// rule compares a rule of which nobody can tell whether it lets more or less
// through: only that one was added or taken away.
func (c *comparer) rule(place, key string, kind Kind, o, n *spec.Node, r role) {
	was, is := literal(o.Get(key)), literal(n.Get(key))
	if was == is {
		return
	}
	e := either
	switch {
	case o.Get(key) == nil:
		e = refuses
	case n.Get(key) == nil:
		e = surprises
		if kind == BoundNarrowed {
			kind = BoundWidened
		}
	}
	c.report(r, e, kind, place+"/"+key, "%s → %s", was, is)
}

func (c *comparer) excluded(place string, o, n *spec.Node, r role) {
	old, now := o.Get("not").Strings("enum"), n.Get("not").Strings("enum")
	for _, value := range now {
		if !slices.Contains(old, value) {
			c.report(r, refuses, ExcludedMore, place+"/not", "allowed → %s excluded", value)
		}
	}
	for _, value := range old {
		if !slices.Contains(now, value) {
			c.report(r, surprises, ExcludedLess, place+"/not", "%s excluded → allowed", value)
		}
	}
}

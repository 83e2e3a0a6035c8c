// Package suite holds the rules of the protocol as things to try: each plays the
// other side of one situation against the peer under test and says what was wrong.
// It knows the peer from its sockets only.
package suite

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/vancetope/transfer/gen/frames"
)

// Role is what the peer under test is.
type Role uint8

// The roles, and both.
const (
	Brain Role = 1 << iota
	Foot
	Both = Brain | Foot
)

func (r Role) String() string {
	switch r {
	case Brain:
		return "brain"
	case Foot:
		return "foot"
	}
	return "both"
}

// Rule is one thing that a peer must do.
type Rule struct {
	Name   string // unique, of parts joined by slashes
	Source string // the section of the base protocol, or the row of docs/rules.md
	Says   string // what the peer must do, in a sentence
	Role   Role   // who must

	// Features are the extensions that must be in force; none for a rule of the
	// base protocol, which is tried on a connection without any.
	Features frames.FeatureSet
	// Last is for rules after which a Foot may not come back.
	Last bool

	run func(*Check)
}

// Base reports whether the rule stands in the base protocol itself, and so holds for
// a peer that knows nothing else.
func (r *Rule) Base() bool { return r.Features == 0 && strings.HasPrefix(r.Source, "spec") }

// Rules returns all rules of a role in the order in which they are tried: those of
// one set of extensions together, so that one connection serves many.
func Rules(role Role) []*Rule {
	var all []*Rule
	for _, rules := range [][]*Rule{
		connectionRules, brainConnectionRules, footConnectionRules, receiverRules, senderRules, brainRules,
		progressRules, cancelRules, onExistingRules, vectorRules(), timeoutRules, lastRules,
	} {
		all = append(all, rules...)
	}
	seen := map[string]bool{}
	var mine []*Rule
	for _, r := range all {
		if r.Role&role == 0 {
			continue
		}
		if seen[r.Name] {
			panic("suite: two rules are called " + r.Name)
		}
		seen[r.Name] = true
		mine = append(mine, r)
	}
	sort.SliceStable(mine, func(i, j int) bool { return rank(mine[i]) < rank(mine[j]) })
	return mine
}

// rank is when a rule's turn comes: connections with no extension before those with
// all, and what ends a connection at the end.
func rank(r *Rule) int {
	switch {
	case r.Last:
		return 2
	case r.Features != 0:
		return 1
	}
	return 0
}

// Select returns the rules whose name matches one of the patterns, all without any.
// In a pattern * stands for any text without a slash, and a pattern of fewer parts
// means everything below.
func Select(rules []*Rule, patterns []string) ([]*Rule, error) {
	if len(patterns) == 0 {
		return rules, nil
	}
	var selected []*Rule
	for _, r := range rules {
		for _, pattern := range patterns {
			ok, err := Matches(pattern, r.Name)
			if err != nil {
				return nil, err
			}
			if ok {
				selected = append(selected, r)
				break
			}
		}
	}
	return selected, nil
}

// Matches reports whether a pattern means a rule.
func Matches(pattern, name string) (bool, error) {
	for {
		ok, err := path.Match(pattern, name)
		if err != nil {
			return false, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if ok {
			return true, nil
		}
		parent := path.Dir(name)
		if parent == "." {
			return false, nil
		}
		name = parent
	}
}

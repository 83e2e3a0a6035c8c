package main

import (
	"fmt"
	"regexp"
	"strings"
)

// current is the heading of BREAKING.md under which the entries of today stand.
const current = "## Since the baseline"

// entry is a breaking change that somebody decided on.
type entry struct {
	line   string // as Change.Line writes it
	number int    // of the line in the file
}

var entryForm = regexp.MustCompile("^- (`[a-z-]+` `/[^`]+` `[^`]+`): (.*\\S.*)$")

// readRecord returns the current entries of BREAKING.md.
func readRecord(text string) ([]entry, error) {
	if !strings.Contains("\n"+text, "\n"+current+"\n") {
		return nil, fmt.Errorf("schema/BREAKING.md has no heading %q", current)
	}
	var entries []entry
	inside := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "## ") {
			inside = line == current
		}
		if !inside || !strings.HasPrefix(line, "-") {
			continue
		}
		parts := entryForm.FindStringSubmatch(line)
		if parts == nil {
			return nil, fmt.Errorf("schema/BREAKING.md:%d: no entry; write - `kind` `place` `before → after`: what peers have to do", i+1)
		}
		entries = append(entries, entry{parts[1], i + 1})
	}
	return entries, nil
}

// judge lists what is wrong: changes without an entry, entries without a change.
func judge(changes []Change, entries []entry) []string {
	var complaints []string
	known := map[string]bool{}
	for _, e := range entries {
		known[e.line] = true
	}
	happened := map[string]bool{}
	for _, c := range changes {
		happened[c.Line()] = true
		if !known[c.Line()] {
			complaints = append(complaints, fmt.Sprintf("breaking: %s\n    %s. Undo it, or add to schema/BREAKING.md:\n    - %s: <what peers have to do>", c.Line(), c.Consequence(), c.Line()))
		}
	}
	for _, e := range entries {
		if !happened[e.line] {
			complaints = append(complaints, fmt.Sprintf("schema/BREAKING.md:%d matches no change: %s\n    remove or correct it", e.number, e.line))
		}
	}
	return complaints
}

// closeRecord moves the current entries below a heading of their own; a new
// baseline holds what they tell.
func closeRecord(text, name string) string {
	before, after, _ := strings.Cut(text, current+"\n")
	entries, rest, more := strings.Cut(after, "\n## ")
	if more {
		rest = "## " + rest
	}
	closed := before + current + "\n\nNone.\n\n## In " + name + "\n" + strings.TrimRight(entries, "\n") + "\n"
	if rest != "" {
		closed += "\n" + rest
	}
	return closed
}

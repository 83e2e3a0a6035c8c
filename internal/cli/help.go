package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Examples are command lines to try, by the path of their command without the
// program's name: "token create". The empty path has those of the program.
type Examples map[string][]string

// help prints kong's help text and the examples of the command that is meant.
func (p *Program) help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	var path string
	if node := ctx.Selected(); node != nil {
		path = commandPath(node)
	}
	examples := p.Examples.below(path)
	if len(examples) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(ctx.Stdout, "\nExamples:\n  %s\n", strings.Join(examples, "\n  "))
	return err
}

// below returns the examples of a command, or for a group of commands those of
// its members.
func (e Examples) below(path string) []string {
	if own := e[path]; len(own) > 0 || path == "" {
		return own
	}
	var paths []string
	for p := range e {
		if strings.HasPrefix(p, path+" ") {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	var all []string
	for _, p := range paths {
		all = append(all, e[p]...)
	}
	return all
}

// commandPath is a command's path without the program's name and without
// arguments.
func commandPath(n *kong.Node) string {
	var names []string
	for ; n != nil && n.Type != kong.ApplicationNode; n = n.Parent {
		names = append(names, n.Name)
	}
	slices.Reverse(names)
	return strings.Join(names, " ")
}

// Missing returns the commands that have no example, and what is wrong with the
// examples there are: each has to be a command line that the grammar takes.
func (p *Program) Missing() ([]string, error) {
	parser, err := p.parser(nil)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, leaf := range parser.Model.Leaves(true) {
		if path := commandPath(leaf); len(p.Examples[path]) == 0 {
			missing = append(missing, path)
		}
	}
	var wrong []error
	for path, lines := range p.Examples {
		for _, line := range lines {
			words := shellWords(line)
			if len(words) == 0 || words[0] != p.Name {
				continue // of the shell, such as source <(…)
			}
			if _, err := parser.Parse(words[1:]); err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %q: %w", path, line, err))
			}
		}
	}
	return missing, errors.Join(wrong...)
}

// shellWords splits a line as a shell does that knows single quotes and the
// redirection of whole files.
func shellWords(line string) []string {
	var words []string
	quoted := false
	begun := false
	var word strings.Builder
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			end()
		case (r == '<' || r == '>') && !quoted && !begun:
			return words
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return words
}

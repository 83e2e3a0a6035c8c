package cli

import (
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

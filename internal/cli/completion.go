package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// The scripts below know nothing of the grammar: they ask the program, so that
// what they offer is always what this version takes.

// completionAsk is the hidden word with which a script asks what may come next;
// the words of the command line follow, the one under the cursor last.
const completionAsk = "__complete"

// CompletionCmd is the command that prints a shell's script.
type CompletionCmd struct {
	Shell string `arg:"" help:"Shell to write the script for: ${enum}." enum:"bash,zsh,fish"`
}

// Run is called by kong.
func (c *CompletionCmd) Run(p *Program) error {
	_, err := io.WriteString(p.Out, strings.ReplaceAll(completionScripts[c.Shell], "PROGRAM", p.Name))
	return written(err)
}

var completionScripts = map[string]string{
	"bash": `# bash completion for PROGRAM: load it with  source <(PROGRAM completion bash)
_PROGRAM_complete() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\t'*}")
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _PROGRAM_complete PROGRAM
`,
	"zsh": `#compdef PROGRAM
# zsh completion for PROGRAM: put it as _PROGRAM into a folder of $fpath, or load
# it after compinit with  source <(PROGRAM completion zsh)
_PROGRAM() {
  local line
  local -a offers
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && offers+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( $#offers )); then
    _describe -t values PROGRAM offers
  else
    _files
  fi
}
if [[ $funcstack[1] == _PROGRAM ]]; then
  _PROGRAM "$@"
else
  compdef _PROGRAM PROGRAM
fi
`,
	"fish": `# fish completion for PROGRAM: load it with  PROGRAM completion fish | source
function __PROGRAM_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    $before[1] __complete $before[2..-1] "$current" 2>/dev/null
end
complete -c PROGRAM -f -a '(__PROGRAM_complete)'
complete -c PROGRAM -n 'not string length -q -- (__PROGRAM_complete)' -F
`,
}

// offer is one way in which a command line can go on.
type offer struct{ word, help string }

// complete prints what may stand where the cursor is, one offer a line, each
// with its explanation behind a tab. Where nothing can be offered, which is
// where a file's name or free text stands, nothing is printed.
func (p *Program) complete(words []string) error {
	parser, err := p.parser(nil)
	if err != nil {
		return err
	}
	current := ""
	if len(words) > 0 {
		current, words = words[len(words)-1], words[:len(words)-1]
	}
	var b strings.Builder
	for _, o := range offers(parser.Model.Node, words, current) {
		help, _, _ := strings.Cut(o.help, "\n")
		fmt.Fprintf(&b, "%s\t%s\n", o.word, help)
	}
	_, err = io.WriteString(p.Out, b.String())
	return written(err)
}

// offers returns how a command line can go on after words, where current is the
// beginning of the next one.
func offers(node *kong.Node, words []string, current string) []offer {
	c := cursor{node: node}
	for _, w := range words {
		c.pass(w)
	}
	switch {
	case c.value != nil:
		return choices(c.value, strings.TrimPrefix(current, "="), "")
	case strings.HasPrefix(current, "-"):
		if name, begun, ok := strings.Cut(current, "="); ok {
			return choices(c.flag(name), begun, name+"=")
		}
		return c.flags(current)
	}
	return c.next(current)
}

// cursor is how far a command line has led into the grammar.
type cursor struct {
	node      *kong.Node
	value     *kong.Flag // whose value comes next
	arguments int        // positional ones so far
}

// pass takes one whole word. Some shells make three words of --flag=value.
func (c *cursor) pass(word string) {
	switch {
	case c.value != nil:
		if word != "=" {
			c.value = nil
		}
	case strings.HasPrefix(word, "--"):
		if f := c.flag(word); f != nil && !f.IsBool() && !strings.Contains(word, "=") {
			c.value = f
		}
	default:
		for _, child := range c.node.Children {
			if child.Name == word && !child.Hidden {
				c.node, c.arguments = child, 0
				return
			}
		}
		c.arguments++
	}
}

func (c *cursor) flag(word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, group := range c.node.AllFlags(true) {
		for _, f := range group {
			if f.Name == name {
				return f
			}
		}
	}
	return nil
}

func (c *cursor) flags(begun string) []offer {
	var list []offer
	for _, group := range c.node.AllFlags(true) {
		for _, f := range group {
			if word := "--" + f.Name; strings.HasPrefix(word, begun) {
				list = append(list, offer{word, f.Help})
			}
		}
	}
	return list
}

// next offers commands, or the choices of an argument.
func (c *cursor) next(begun string) []offer {
	var list []offer
	for _, child := range c.node.Children {
		if !child.Hidden && strings.HasPrefix(child.Name, begun) {
			list = append(list, offer{child.Name, child.Help})
		}
	}
	if len(list) == 0 && c.arguments < len(c.node.Positional) {
		list = enumerated(c.node.Positional[c.arguments], begun, "")
	}
	return list
}

func choices(f *kong.Flag, begun, before string) []offer {
	if f == nil {
		return nil
	}
	return enumerated(f.Value, begun, before)
}

// enumerated offers the values that a grammar lists.
func enumerated(v *kong.Value, begun, before string) []offer {
	var list []offer
	words := v.EnumSlice()
	slices.Sort(words)
	for _, word := range words {
		if word != "" && strings.HasPrefix(word, begun) {
			list = append(list, offer{before + word, ""})
		}
	}
	return list
}

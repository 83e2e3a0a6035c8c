// Package cli is what the programs' command lines have in common: exit codes,
// the log flags, the last line of a program that failed, and reading a token
// from a file. What a command does is none of its business.
package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// The exit codes, as scripts rely on them.
const (
	OK          = 0
	Failed      = 1   // the operation failed; its JSON is on the standard output
	Usage       = 2   // command line or configuration
	Refused     = 3   // the Brain refused the token
	Unreachable = 4   // the Brain cannot be reached
	InUse       = 5   // another process has what this one needs
	Internal    = 70  // a fault of the program
	Interrupted = 130 // the user stopped a command
)

// Exit is an error with the exit code that it ends the program with. With no
// Err the program ends silently, as all was said already.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Exit) Unwrap() error { return e.Err }

// Usagef is a mistake in the command line or in the configuration.
func Usagef(format string, args ...any) error {
	return &Exit{Usage, fmt.Errorf(format, args...)}
}

// Program is a command line and where it writes.
type Program struct {
	Name        string
	Description string
	Example     string // a command to try, for those who gave none
	Examples    Examples
	Grammar     any // kong's: a pointer to a struct whose commands have Run
	Vars        kong.Vars
	Out, Err    io.Writer
}

// Execute runs the command that args name, with the bindings as arguments of
// its Run, and returns the exit code. An error that is no *Exit is a fault of
// the program, and so is a panic.
func (p *Program) Execute(args []string, bindings ...any) (code int) {
	defer func() {
		if v := recover(); v != nil {
			p.report(fmt.Errorf("internal error: %v\n%s", v, debug.Stack()))
			code = Internal
		}
	}()
	err := p.parseAndRun(args, bindings)
	var exit *Exit
	switch {
	case err == nil:
		return OK
	case errors.As(err, &exit):
		if exit.Err != nil {
			p.report(err)
		}
		return exit.Code
	}
	p.report(fmt.Errorf("internal error: %w", err))
	return Internal
}

// report writes the last line of a program that failed.
func (p *Program) report(err error) {
	// Nothing is left to tell the failure of this write to.
	_, _ = fmt.Fprintf(p.Err, "%s: %v\n", p.Name, err)
}

// helpShown unwinds from kong once it has printed a help text.
type helpShown struct{}

func (p *Program) parseAndRun(args []string, bindings []any) (err error) {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(helpShown); !ok {
				panic(v)
			}
		}
	}()
	if err := onlyText(args); err != nil {
		return err
	}
	if asked, asJSON := asksVersion(args); asked {
		return printVersion(p.Out, p.Name, asJSON)
	}
	if len(args) > 0 && args[0] == completionAsk {
		return p.complete(args[1:])
	}
	parser, err := p.parser(bindings)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return Usagef("a command is needed, such as %s (%s --help lists what there is)", p.Example, p.Name)
	}
	command, err := parser.Parse(args)
	if err != nil {
		return Usagef("%w (%s --help lists what there is)", err, p.Name)
	}
	return command.Run()
}

// onlyText refuses arguments that are not UTF-8: kong would make another text of
// them, and so of the name of a file another file.
func onlyText(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return Usagef("argument %d is not UTF-8: %s; rename the file, or give it by a link whose name is", i+1, strconv.QuoteToASCII(arg))
		}
	}
	return nil
}

// parser makes kong's parser of the grammar.
func (p *Program) parser(bindings []any) (*kong.Kong, error) {
	parser, err := kong.New(p.Grammar,
		kong.Name(p.Name),
		kong.Description(p.Description),
		p.Vars,
		kong.Writers(p.Out, p.Err),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Help(p.help),
		kong.Bind(append([]any{p}, bindings...)...),
	)
	if err != nil {
		return nil, fmt.Errorf("the command line's grammar: %w", err)
	}
	return parser, nil
}

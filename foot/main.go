// Command foot connects one folder of this machine to a Brain. This file owns
// the command line's grammar and the exit codes; each command has a file of its
// own, and what a command does lives in the packages below.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// The exit codes, as scripts rely on them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitUnreachable = 4
	exitInUse       = 5
	exitInternal    = 70
)

// exitError is an error with the exit code that it ends the program with.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usagef is a mistake in the command line or in the configuration.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// streams are the program's outputs: results on the first, logs on the second.
type streams struct {
	out, err *os.File
}

// grammar is the command line.
type grammar struct {
	LogFormat string `help:"How log lines are written to the standard error: ${enum}." enum:"text,json" default:"text" placeholder:"text|json"`
	LogLevel  string `help:"What is logged: ${enum}." enum:"debug,info,warn,error" default:"warn" placeholder:"LEVEL"`

	Run runCmd `cmd:"" help:"Connect to a Brain and serve its file transfers until told to stop."`
}

func main() {
	s := streams{os.Stdout, os.Stderr}
	os.Exit(guard(s, func() error { return parseAndRun(os.Args[1:], s) }))
}

// guard runs the program and returns its exit code.
func guard(s streams, run func() error) (code int) {
	defer func() {
		if p := recover(); p != nil {
			report(s.err, fmt.Errorf("internal error: %v\n%s", p, debug.Stack()))
			code = exitInternal
		}
	}()
	err := run()
	if err == nil {
		return exitOK
	}
	report(s.err, err)
	var coded *exitError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitInternal
}

// report writes the last line of a program that failed.
func report(w io.Writer, err error) {
	// Nothing is left to tell the failure of this write to.
	_, _ = fmt.Fprintf(w, "foot: %v\n", err)
}

// helpShown ends the parsing when kong has printed the help.
type helpShown struct{}

func parseAndRun(args []string, s streams) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(helpShown); !ok {
				panic(p)
			}
			err = nil
		}
	}()
	var g grammar
	parser, err := kong.New(&g,
		kong.Name("foot"),
		kong.Description("Connects a folder of this machine to a Brain, so that its agents can fetch and leave files."),
		kong.Writers(s.out, s.err),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return fmt.Errorf("the command line's grammar: %w", err)
	}
	if len(args) == 0 {
		return usagef("a command is needed, such as foot run (foot --help lists what there is)")
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("%w (foot --help lists what there is)", err)}
	}
	return ctx.Run(&g, s)
}

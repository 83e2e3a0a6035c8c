// Command brain serves the transfers between an LLM's workspace and the
// machines of people. This file owns the command line's grammar; each command
// has a file of its own, and what a command does lives in the packages below.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/vancetope/transfer/internal/cli"
)

// console is what a command reads and writes: results go to out, logs to err.
type console struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
}

// grammar is the command line.
type grammar struct {
	cli.LogFlags

	Serve serveCmd `cmd:"" help:"Serve Feet, agents and users until told to stop."`
	Token struct {
		Create tokenCreateCmd `cmd:"" help:"Make a token and print it; it cannot be shown again."`
		List   tokenListCmd   `cmd:"" help:"List the tokens."`
		Revoke tokenRevokeCmd `cmd:"" help:"Make a token worthless and end what it has opened."`
	} `cmd:"" help:"Manage the tokens that Feet, agents and users sign in with."`
	Project struct {
		List    projectListCmd    `cmd:"" help:"List the projects with their states and RootDirs."`
		Suspend projectSuspendCmd `cmd:"" help:"Cancel a project's transfers, delete all files in its RootDirs, for good, and refuse its calls."`
		Recover projectRecoverCmd `cmd:"" help:"Let a suspended or closed project work again."`
		Close   projectCloseCmd   `cmd:"" help:"Cancel a project's transfers and delete its RootDirs."`
	} `cmd:"" help:"Manage projects, also while the server runs."`
	Call       callCmd           `cmd:"" help:"Call a tool of a running Brain and print its result as one line of JSON."`
	MCP        mcpCmd            `cmd:"" name:"mcp" help:"Speak MCP on stdin and stdout for a running Brain, for clients that start a program; RootDirs made through it go at its end."`
	Feet       feetCmd           `cmd:"" help:"List the machines that are connected to a running Brain."`
	Transfers  transfersCmd      `cmd:"" help:"List the transfers of a running Brain, those that ended in the last ten minutes among them."`
	Backup     backupCmd         `cmd:"" help:"Write state and workspaces into one file, also while the server runs."`
	Config     configCmd         `cmd:"" help:"Print the settings in force and where each comes from."`
	Completion cli.CompletionCmd `cmd:"" help:"Print a script that completes this program's commands in a shell."`
}

func main() {
	// A reader of our output that goes away must not end running transfers.
	signal.Ignore(syscall.SIGPIPE)
	c := console{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}
	code := execute(context.Background(), os.Args[1:], c)
	runtime.KeepAlive(heapFloor)
	os.Exit(code)
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, c console) int {
	g := &grammar{}
	return commandLine(g, c).Execute(args, invocation{ctx, g, c})
}

func commandLine(g *grammar, c console) *cli.Program {
	return &cli.Program{
		Name:        "brain",
		Description: "Serves file transfers between the workspaces of LLM agents and the machines of people.",
		Example:     "brain serve",
		Examples:    examples,
		Grammar:     g,
		Vars:        kong.Vars{"log_level": "info", "default_url": defaultURL},
		Out:         c.out,
		Err:         c.err,
	}
}

// invocation is what every command's Run gets.
type invocation struct {
	ctx context.Context
	*grammar
	console
}

// untilSignal returns a context that ends when somebody asks the program to
// stop. A second signal ends it the hard way.
func (i invocation) untilSignal() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(i.ctx, cli.StopSignals()...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Command foot connects one folder of this machine to a Brain. This file owns
// the command line's grammar; each command has a file of its own, and what a
// command does lives in the packages below.
package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/vancetope/transfer/internal/cli"
)

// streams are what the program reads and writes: results on out, logs on err.
type streams struct {
	in, out, err *os.File
}

// grammar is the command line.
type grammar struct {
	cli.LogFlags

	Run     runCmd     `cmd:"" help:"Connect to a Brain and serve its file transfers until told to stop."`
	Login   loginCmd   `cmd:"" help:"Keep the token of a one-time link, so that foot run needs nothing else."`
	Status  statusCmd  `cmd:"" help:"Tell whether a Foot runs and is connected, and what it transfers."`
	Approve approveCmd `cmd:"" help:"Say yes to a transfer that waits for approval."`
	Decline declineCmd `cmd:"" help:"Say no to a transfer that waits for approval."`
	History historyCmd `cmd:"" help:"List what was transferred."`

	Config     configCmd         `cmd:"" help:"Print the settings in force and where each comes from."`
	Completion cli.CompletionCmd `cmd:"" help:"Print a script that completes this program's commands in a shell."`
}

// examples are lines to try, in the help texts.
var examples = cli.Examples{
	"": {"foot login 'https://brain.example/login#CODE'", "foot run"},
	"run": {
		"foot run",
		"foot run --confirm writes --grant music=~/Music",
		"foot run --brain https://brain.example --tenant acme --token-file foot.token --json",
	},
	"login":   {"foot login 'https://brain.example/login#CODE'"},
	"status":  {"foot status", "foot status --json"},
	"approve": {"foot approve 01a22fdb-2014-78a6-a857-207307aa2df4", "foot approve --always 07aa2df4"},
	"decline": {"foot decline 07aa2df4"},
	"history": {"foot history", "foot history --json"},
	"config":  {"foot config", "foot config --json --confirm writes"},
	"completion": {
		"source <(foot completion bash)",
		"foot completion zsh > ~/.zfunc/_foot",
		"foot completion fish > ~/.config/fish/completions/foot.fish",
	},
}

func main() {
	// A reader of our output that goes away must not end running transfers.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(execute(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// execute runs the command line and returns the exit code.
func execute(args []string, s streams) int {
	g := &grammar{}
	return commandLine(g, s).Execute(args, g, s)
}

func commandLine(g *grammar, s streams) *cli.Program {
	return &cli.Program{
		Name:        "foot",
		Description: "Connects a folder of this machine to a Brain, so that its agents can fetch and leave files.",
		Example:     "foot run",
		Examples:    examples,
		Grammar:     g,
		Vars:        kong.Vars{"log_level": "warn"},
		Out:         s.out,
		Err:         s.err,
	}
}

// Command conformance plays the other side of the protocol against a Brain or a Foot
// of any implementation and says rule by rule whether it does what the protocol
// wants. It knows the peer from its sockets only. docs/conformance.md is for authors
// of other implementations.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/tools/conformance/report"
	"github.com/vancetope/transfer/tools/conformance/suite"
)

type grammar struct {
	Brain brainCmd `cmd:"" help:"Try a Brain: play a Foot and an agent."`
	Foot  footCmd  `cmd:"" help:"Try a Foot: play a Brain that it connects to."`
	Rules rulesCmd `cmd:"" help:"List the rules: name, source and what a peer must do."`
}

var examples = cli.Examples{
	"":      {"conformance brain --url http://127.0.0.1:9990/brain/acme --foot-token-file foot.token --agent-token-file agent.token"},
	"brain": {"conformance brain --url http://127.0.0.1:9990/brain/acme --foot-token-file foot.token --agent-token-file agent.token --rule 'receiver'"},
	"foot":  {"conformance foot --listen 127.0.0.1:9991", "conformance foot --listen 127.0.0.1:9991 --base-only --junit foot.xml"},
	"rules": {"conformance rules foot"},
}

// streams are where the program writes: results on out, the rest on err.
type streams struct{ out, err io.Writer }

// invocation is what every command's Run gets.
type invocation struct {
	streams
	ctx context.Context
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, s streams) int {
	program := cli.Program{
		Name:        "conformance",
		Description: "Tries a Brain or a Foot of any implementation against the rules of the protocol.",
		Example:     "conformance foot --listen 127.0.0.1:9991",
		Examples:    examples,
		Grammar:     &grammar{},
		Out:         s.out,
		Err:         s.err,
	}
	return program.Execute(args, invocation{s, ctx})
}

// trialFlags are what both trials take.
type trialFlags struct {
	BaseOnly bool          `help:"Only what the base protocol says, of a peer that knows nothing else."`
	Rule     []string      `help:"Only the rules whose name matches, as in 'receiver' or 'vector/*/invalid'. May be given again." placeholder:"GLOB"`
	JSON     bool          `help:"Write all results as one JSON object."`
	JUnit    string        `name:"junit" help:"Write all results into this file as JUnit's XML, too." type:"path" placeholder:"FILE"`
	Patience time.Duration `help:"How long an answer may take that should come at once." default:"10s"`
	MaxWait  time.Duration `help:"The longest of the peer's own timeouts that a rule may wait for; rules that would need more are skipped." default:"5s"`
}

// rules are those that were asked for.
func (f *trialFlags) rules(role suite.Role) ([]*suite.Rule, error) {
	if f.Patience <= 0 || f.MaxWait < 0 {
		return nil, cli.Usagef("--patience must be positive, and --max-wait not negative")
	}
	rules, err := suite.Select(suite.Rules(role), f.Rule)
	if err != nil {
		return nil, cli.Usagef("--rule: %w", err)
	}
	if len(rules) == 0 {
		return nil, cli.Usagef("--rule matches no rule; conformance rules %s lists them", role)
	}
	return rules, nil
}

// try tries a peer and writes the report.
func (f *trialFlags) try(i invocation, o suite.Options, rules []*suite.Rule) error {
	o.BaseOnly, o.Patience, o.MaxWait = f.BaseOnly, f.Patience, f.MaxWait
	var results []suite.Result
	err := suite.Run(i.ctx, o, rules, func(r suite.Result) {
		results = append(results, r)
		if !f.JSON {
			fmt.Fprint(i.out, report.Line(r))
		}
	})
	switch {
	case errors.Is(err, context.Canceled):
		return &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted")}
	case errors.Is(err, suite.ErrUnreachable):
		return &cli.Exit{Code: cli.Unreachable, Err: err}
	case err != nil:
		return err
	}
	if err := f.write(i.out, o.Role, results); err != nil {
		return &cli.Exit{Code: cli.Failed, Err: err}
	}
	if report.Count(results).Failed > 0 {
		return &cli.Exit{Code: cli.Failed}
	}
	return nil
}

func (f *trialFlags) write(out io.Writer, role suite.Role, results []suite.Result) error {
	if f.JUnit != "" {
		file, err := os.Create(f.JUnit)
		if err != nil {
			return err
		}
		if err := errors.Join(report.JUnit(file, role, results), file.Close()); err != nil {
			return err
		}
	}
	if f.JSON {
		return report.JSON(out, role, results)
	}
	_, err := fmt.Fprintln(out, report.Count(results))
	return err
}

// rulesCmd is `conformance rules`.
type rulesCmd struct {
	Peer string `arg:"" help:"brain or foot." enum:"brain,foot"`
}

// Run is called by kong.
func (c *rulesCmd) Run(i invocation) error {
	role := suite.Brain
	if c.Peer == "foot" {
		role = suite.Foot
	}
	for _, r := range suite.Rules(role) {
		if _, err := fmt.Fprintf(i.out, "%s\t%s\t%s\n", r.Name, r.Source, r.Says); err != nil {
			return &cli.Exit{Code: cli.Failed, Err: err}
		}
	}
	return nil
}

// log is for what an operator should know.
func (i invocation) log() *slog.Logger { return slog.New(slog.NewTextHandler(i.err, nil)) }

// Command bench measures the built programs against other ways to move the same
// bytes over loopback. Everything that is compared runs in turns in one run, so
// that a ratio means something on any machine; an absolute figure does not. It
// starts every process it needs, ends them, and leaves nothing behind. It judges
// no time: the goals are shown beside the ratios, and a run that missed one
// still exits with 0. It exits with 1 when a copy was not byte for byte the
// original or a case failed.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/vancetope/transfer/internal/cli"
)

type grammar struct {
	Run        runCmd        `cmd:"" default:"withargs" help:"Measure, and print a table. Results go to the standard output, what is going on to the standard error."`
	Report     reportCmd     `cmd:"" help:"Put the table and the plot of a run into the project's pages."`
	HTTPServer httpServerCmd `cmd:"" name:"http-server" hidden:"" help:"The server of the HTTP baseline."`
	HTTPClient httpClientCmd `cmd:"" name:"http-client" hidden:"" help:"The client of the HTTP baseline."`
}

type runCmd struct {
	JSON   bool   `help:"Print everything that was measured as JSON."`
	Only   string `help:"Only the cases whose name, or whose group's, matches this pattern, as in '256M*' or '*/upload*'." placeholder:"GLOB"`
	Rounds int    `help:"Counted rounds of each group, after one that warms up." default:"5"`
	Brain  string `help:"The brain program." type:"path" default:"bin/brain"`
	Foot   string `help:"The foot program." type:"path" default:"bin/foot"`
	Memory string `help:"Folder in memory that the files lie in." type:"path" default:"/dev/shm"`
	Disk   string `help:"Folder on a disk for the cases that use one; by default the folder for temporary files." type:"path"`
}

// invocation is what every command's Run gets.
type invocation struct{ ctx context.Context }

func (c *runCmd) Run(i invocation) error {
	if c.Rounds < 1 {
		return cli.Usagef("--rounds %d: at least 1 is needed", c.Rounds)
	}
	if _, err := filepath.Match(c.Only, ""); err != nil {
		return cli.Usagef("--only %q: %w", c.Only, err)
	}
	results, err := measure(i.ctx, c)
	if err != nil {
		return &cli.Exit{Code: cli.Failed, Err: err}
	}
	if len(results.Groups) == 0 {
		return cli.Usagef("--only %q matches no case; without --only all run", c.Only)
	}
	if c.JSON {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		return out.Encode(results)
	}
	_, err = io.WriteString(os.Stdout, results.Markdown())
	return err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	program := cli.Program{
		Name:        "bench",
		Description: "Measures transfers against other ways to move the same bytes, as ratios taken in one run.",
		Example:     "bench run",
		Grammar:     &grammar{},
		Out:         os.Stdout,
		Err:         os.Stderr,
	}
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{"run"}
	}
	code := program.Execute(args, invocation{ctx})
	stop()
	os.Exit(code)
}

// note says what is going on.
func note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

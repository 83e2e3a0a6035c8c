// Command demo shows the whole way through the system: it starts the built
// Brain and Foot on loopback, opens a real MCP session as an LLM client would,
// lets it fetch a file from the user's machine and put it back at another
// place, and compares the digests. It succeeds only when they are equal, and
// leaves nothing behind: no process and no file.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

type commandLine struct {
	Brain, Foot string // the programs
	File        string // what travels; "" is the Go toolchain's own go program
}

func main() {
	// The standard flags: unlike richer ones they take a file name byte for
	// byte, even one that is not UTF-8.
	var line commandLine
	flag.StringVar(&line.Brain, "brain", "", "the brain `program`")
	flag.StringVar(&line.Foot, "foot", "", "the foot `program`")
	flag.StringVar(&line.File, "file", "", "the `file` that travels; by default the toolchain's own go program")
	flag.Parse()
	if line.Brain == "" || line.Foot == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, line)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line commandLine) (err error) {
	file, err := openSource(ctx, line.File)
	if err != nil {
		return err
	}
	defer file.Close()
	stage, err := newStage(line, file)
	if err != nil {
		return err
	}
	// What was started and made goes away whatever happens, and a failure of
	// that is a failure of the demo.
	defer func() {
		if cleanErr := stage.close(); err == nil {
			err = cleanErr
		}
	}()
	if err := stage.start(ctx); err != nil {
		return stage.explain(err)
	}
	if err := stage.play(ctx); err != nil {
		return stage.explain(err)
	}
	return nil
}

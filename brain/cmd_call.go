package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/settings"
)

// callCmd is `brain call`.
type callCmd struct {
	Tool string `arg:"" help:"Name of the tool."`
	JSON string `arg:"" optional:"" name:"json" help:"The tool's arguments as a JSON object ('{}' for none), or - to read them from the standard input."`
	serverFlags
	Timeout string `help:"How long to wait for the result, such as 30s or 5m; by default for ever." placeholder:"DURATION"`
}

// maxArguments bounds what is read from the standard input: a server would
// refuse more.
const maxArguments = 1 << 20

// Run is called by kong.
func (c *callCmd) Run(i invocation) error {
	arguments, err := c.arguments(i.in)
	if err != nil {
		return err
	}
	client, err := c.client(i)
	if err != nil {
		return err
	}
	ctx, stop := i.untilSignal()
	defer stop()
	limited, cancel, err := c.limited(ctx)
	if err != nil {
		return err
	}
	defer cancel()

	result, err := client.call(limited, c.Tool, arguments)
	switch {
	case ctx.Err() != nil:
		return &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted")}
	case limited.Err() != nil:
		return printResult(i.out, c.timedOut())
	case err != nil:
		return c.failure(i.out, err)
	}
	return printResult(i.out, result)
}

// arguments returns the JSON object to send.
func (c *callCmd) arguments(in io.Reader) (json.RawMessage, error) {
	if c.JSON == "" {
		return nil, cli.Usagef("the arguments of %s are missing: a JSON object in quotes, '{}' for none, or - for the standard input (brain call --help has examples)", safetext.Quote(c.Tool))
	}
	text := []byte(c.JSON)
	if c.JSON == "-" {
		var err error
		if text, err = io.ReadAll(io.LimitReader(in, maxArguments+1)); err != nil {
			return nil, cli.Usagef("the arguments cannot be read from the standard input: %w", err)
		}
	}
	text = bytes.TrimSpace(text)
	if len(text) > maxArguments {
		return nil, cli.Usagef("the arguments are longer than %s", settings.FormatSize(maxArguments))
	}
	if !json.Valid(text) || len(text) == 0 || text[0] != '{' {
		return nil, cli.Usagef(`the arguments are not a JSON object, such as {"dirName":"inbox"}`)
	}
	return text, nil
}

// limited returns ctx with the timeout that was asked for.
func (c *callCmd) limited(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if c.Timeout == "" {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, nil
	}
	d, err := settings.ParseDuration(c.Timeout)
	if err != nil || d <= 0 {
		return nil, nil, cli.Usagef("--timeout %q is not a positive duration: write 30s, 5m or 1h", c.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	return ctx, cancel, nil
}

func (c *callCmd) timedOut() json.RawMessage {
	return failedResult("cancelled: no result within "+c.Timeout, common.ErrorCodeCancelled)
}

// failure gives an error, which is not the tool's own, its exit code.
func (c *callCmd) failure(out io.Writer, err error) error {
	exit := exitOf(c.Tool, err)
	if exit.Code != cli.Failed {
		return exit
	}
	return printResult(out, failedResult("internal error: "+exit.Error(), common.ErrorCodeInternal))
}

// exitOf is the exit for an error of a call that is not the tool's own.
func exitOf(tool string, err error) *cli.Exit {
	var refused *refusedError
	var unreachable *unreachableError
	var broken *brokenOffError
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &broken):
		return &cli.Exit{Code: cli.Unreachable, Err: broken}
	case errors.As(err, &refused):
		return &cli.Exit{Code: cli.Refused, Err: refused}
	case errors.As(err, &unreachable):
		return &cli.Exit{Code: cli.Unreachable, Err: unreachable}
	case errors.As(err, &wire) && (wire.Code == jsonrpc.CodeInvalidParams || wire.Code == jsonrpc.CodeMethodNotFound):
		return &cli.Exit{Code: cli.Usage, Err: fmt.Errorf("the Brain does not take this call of %s: %s", safetext.Quote(tool), safetext.Escape(err.Error()))}
	}
	return &cli.Exit{Code: cli.Failed, Err: errors.New(safetext.Escape(err.Error()))}
}

// failedResult is the answer of a tool that never gave one.
func failedResult(text string, code common.ErrorCode) json.RawMessage {
	result, err := json.Marshal(struct {
		OK        bool             `json:"ok"`
		Error     string           `json:"error"`
		ErrorCode common.ErrorCode `json:"errorCode"`
	}{false, text, code})
	if err != nil { // strings always marshal
		panic(err)
	}
	return result
}

// printResult prints a result as one line; a failed one ends the program so.
func printResult(out io.Writer, result json.RawMessage) error {
	var line bytes.Buffer
	if err := json.Compact(&line, result); err != nil {
		return fmt.Errorf("the tool's result: %w", err)
	}
	line.WriteByte('\n')
	if _, err := out.Write(line.Bytes()); err != nil {
		return &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("the result could not be printed: %w", err)}
	}
	var status struct {
		OK bool `json:"ok"`
	}
	if err := json.Unmarshal(result, &status); err != nil {
		return fmt.Errorf("the tool's result: %w", err)
	}
	if !status.OK {
		return &cli.Exit{Code: cli.Failed}
	}
	return nil
}

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/vancetope/transfer/internal/version"
)

// versionFlag prints the version instead of running a command.
type versionFlag bool

// BeforeReset is called by kong as soon as the command line was read, before
// it asks for what a command needs.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	if err := printVersion(app.Stdout, app.Model.Name, false); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}

// build is what --version --json prints.
type build struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Commit   string `json:"commit"`
}

// asksVersion reports whether a command line is --version alone, and whether it
// asks for JSON. The grammars have no --json of their own above the commands,
// as it would clash with theirs.
func asksVersion(args []string) (asked, asJSON bool) {
	asked = slices.Contains(args, "--version")
	for _, arg := range args {
		switch arg {
		case "--version":
		case "--json":
			asJSON = true
		default:
			return false, false
		}
	}
	return asked, asJSON
}

func printVersion(w io.Writer, program string, asJSON bool) error {
	b := build{Version: version.String(), Protocol: version.Protocol, Commit: version.Commit()}
	if asJSON {
		return written(json.NewEncoder(w).Encode(b))
	}
	commit := b.Commit
	if commit == "" {
		commit = "unknown"
	}
	_, err := fmt.Fprintf(w, "%s %s (protocol %d, commit %s)\n", program, b.Version, b.Protocol, commit)
	return written(err)
}

// written is the exit of a result that could not be printed.
func written(err error) error {
	if err == nil {
		return nil
	}
	return &Exit{Code: Failed, Err: fmt.Errorf("the result could not be printed: %w", err)}
}

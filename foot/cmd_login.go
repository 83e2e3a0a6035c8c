package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/vancetope/transfer/foot/agent"
	"github.com/vancetope/transfer/foot/login"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/safetext"
)

// loginCmd is `foot login`.
type loginCmd struct {
	Link          string  `arg:"" name:"URL#CODE" help:"One-time link, as brain token create --link prints it; in quotes."`
	State         *string `help:"Folder for this Foot's own state; default ~/.vancetope/state/foot/<tenant>/<project>." placeholder:"DIR"`
	Config        string  `help:"File with settings; default ~/.vancetope/foot.yaml when there is one." placeholder:"FILE"`
	CAFile        string  `name:"ca-file" help:"File with the authorities, in PEM, to trust instead of the system's; foot run will use it too." placeholder:"FILE"`
	AllowInsecure bool    `help:"Take the token in clear text from another machine."`
}

// Run is called by kong.
func (c *loginCmd) Run(s streams) error {
	link, err := login.ParseLink(c.Link, c.AllowInsecure)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	values, err := footSettings(c.Config, map[string]*string{"vance.foot.state": c.State})
	if err != nil {
		return cli.Usagef("%w", err)
	}
	caFile, err := c.authorities()
	if err != nil {
		return cli.Usagef("%w", err)
	}
	secure, err := cli.ClientTLS(caFile)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	undo, err := writable(values.Foot.State) // before the code is used up
	if err != nil {
		return cli.Usagef("the state folder (--state) cannot be used: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), cli.StopSignals()...)
	defer stop()
	granted, err := login.Redeem(ctx, link, secure)
	if err != nil {
		return errors.Join(undo(), loginExit(ctx, err))
	}
	granted.CAFile = caFile
	dir := values.Foot.State
	if dir == "" {
		base, err := agent.DefaultStates()
		if err != nil {
			return cli.Usagef("%w", err)
		}
		dir = filepath.Join(base, granted.Tenant, granted.ProjectID)
	}
	if err := login.Keep(dir, granted); err != nil {
		return cli.Usagef("the token cannot be kept, and the link is used up: %w", err)
	}
	return s.print(fmt.Sprintf("logged in as %s of %s/%s; the token is in %s",
		safetext.Escape(granted.FootID), granted.Tenant, granted.ProjectID, safetext.Escape(dir)),
		"now start: "+c.nextCommand()+" (one that runs already has to be started again)")
}

// nextCommand is the foot run that finds this login.
func (c *loginCmd) nextCommand() string {
	words := []string{"foot run"}
	if c.State != nil {
		words = append(words, "--state", shellWord(*c.State))
	}
	if c.Config != "" {
		words = append(words, "--config", shellWord(c.Config))
	}
	if c.AllowInsecure {
		words = append(words, "--allow-insecure")
	}
	return strings.Join(words, " ")
}

// shellWord is a text as one word of a command line, for people to copy.
func shellWord(text string) string {
	text = safetext.Escape(text)
	if strings.IndexFunc(text, func(r rune) bool {
		return r != '/' && r != '.' && r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0 && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// authorities is the file as foot run can find it from anywhere.
func (c *loginCmd) authorities() (string, error) {
	if c.CAFile == "" {
		return "", nil
	}
	return filepath.Abs(c.CAFile)
}

// writable makes sure that a token can be kept below the folder that was named,
// or below the default one. undo takes away again the folders that this made.
func writable(named string) (undo func() error, err error) {
	dir := named
	if dir == "" {
		if dir, err = agent.DefaultStates(); err != nil {
			return nil, err
		}
	}
	made := missing(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, ".login-")
	if err != nil {
		return nil, err
	}
	return func() error { return removeEmpty(made) }, errors.Join(f.Close(), os.Remove(f.Name()))
}

// missing are the folders of a path that are not there, the deepest first.
func missing(dir string) []string {
	var dirs []string
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return dirs
		}
		dirs = append(dirs, dir)
		dir = filepath.Dir(dir)
	}
}

// removeEmpty removes folders, and leaves those in which somebody has put something
// meanwhile.
func removeEmpty(dirs []string) error {
	for _, dir := range dirs {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			return nil
		}
		if err := os.Remove(dir); err != nil {
			return fmt.Errorf("the new state folder stays: %w", err)
		}
	}
	return nil
}

// loginExit gives a failed login its exit code.
func loginExit(ctx context.Context, err error) error {
	var refused *login.RefusedError
	var unknown x509.UnknownAuthorityError
	var busy *login.BusyError
	switch {
	case errors.As(err, &busy):
		return &cli.Exit{Code: cli.Failed, Err: err}
	case ctx.Err() != nil:
		return &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted; the link may be used up")}
	case errors.As(err, &refused):
		return &cli.Exit{Code: cli.Refused, Err: err}
	case errors.As(err, &unknown):
		err = fmt.Errorf("%w (if it is an authority of your own, name its file with --ca-file)", err)
	}
	return &cli.Exit{Code: cli.Unreachable, Err: err}
}

package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

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
	if err := writable(values.Foot.State); err != nil { // before the code is used up
		return cli.Usagef("the state folder (--state) cannot be used: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	granted, err := login.Redeem(ctx, link, secure)
	if err != nil {
		return loginExit(ctx, err)
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
		"now start: foot run")
}

// authorities is the file as foot run can find it from anywhere.
func (c *loginCmd) authorities() (string, error) {
	if c.CAFile == "" {
		return "", nil
	}
	return filepath.Abs(c.CAFile)
}

// writable makes sure that a token can be kept below the folder that was named,
// or below the default one.
func writable(named string) error {
	dir := named
	if dir == "" {
		var err error
		if dir, err = agent.DefaultStates(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".login-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// loginExit gives a failed login its exit code.
func loginExit(ctx context.Context, err error) error {
	var refused *login.RefusedError
	var unknown x509.UnknownAuthorityError
	switch {
	case ctx.Err() != nil:
		return &cli.Exit{Code: cli.Interrupted, Err: errors.New("interrupted; the link may be used up")}
	case errors.As(err, &refused):
		return &cli.Exit{Code: cli.Refused, Err: err}
	case errors.As(err, &unknown):
		err = fmt.Errorf("%w (if it is an authority of your own, name its file with --ca-file)", err)
	}
	return &cli.Exit{Code: cli.Unreachable, Err: err}
}

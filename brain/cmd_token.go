package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/settings"
)

// tokenCreateCmd is `brain token create`.
type tokenCreateCmd struct {
	dataFlag
	Tenant  string `help:"The tenant the token belongs to." required:"" placeholder:"NAME"`
	Project string `help:"The project the token belongs to." required:"" placeholder:"NAME"`
	Role    string `help:"What the token is for: ${enum}." required:"" enum:"foot,agent,user" placeholder:"ROLE"`
	Name    string `help:"Who holds it; for a Foot the name agents call it by." required:"" placeholder:"NAME"`
	TTL     string `name:"ttl" help:"How long the token is good, such as 90d or 8h; by default for ever." placeholder:"DURATION"`
	Access  string `help:"What an agent or a user may do to the workspace: ${enum}; default edit." enum:"read,edit," default:"" placeholder:"LEVEL"`
}

// Run is called by kong. A server that is running knows the token at once.
func (c *tokenCreateCmd) Run(i invocation) (err error) {
	grant := auth.Grant{
		Tenant:  c.Tenant,
		Project: c.Project,
		Role:    auth.Role(c.Role),
		Name:    c.Name,
		Access:  common.Access(c.Access),
	}
	if c.TTL != "" {
		ttl, err := settings.ParseDuration(c.TTL)
		if err != nil || ttl <= 0 {
			return cli.Usagef("--ttl %q is not a positive duration: write 90d, 8h or 30m", c.TTL)
		}
		grant.ExpiresAt = time.Now().Add(ttl)
	}
	return c.withTokens(i, func(tokens *auth.Tokens) error {
		token, err := tokens.Create(i.ctx, grant)
		var refused *fault.Error
		if errors.As(err, &refused) {
			return cli.Usagef("%w", refused)
		}
		if err != nil {
			return &cli.Exit{Code: cli.Failed, Err: err}
		}
		if _, err := fmt.Fprintln(i.out, token); err != nil {
			return &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("the token could not be printed: %w", err)}
		}
		return nil
	})
}

// tokenListCmd is `brain token list`.
type tokenListCmd struct {
	dataFlag
	JSON bool `help:"Print a JSON array instead of columns."`
}

// Run is called by kong.
func (c *tokenListCmd) Run(i invocation) error {
	return c.withTokens(i, func(tokens *auth.Tokens) error {
		list, err := tokens.List(i.ctx)
		if err == nil {
			err = printTokens(i.out, list, c.JSON)
		}
		if err != nil {
			return &cli.Exit{Code: cli.Failed, Err: err}
		}
		return nil
	})
}

func printTokens(out io.Writer, list []auth.Listed, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(list)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	// A tabwriter keeps its first error for Flush.
	fmt.Fprintln(w, "ID\tTENANT\tPROJECT\tROLE\tNAME\tACCESS\tCREATED\tEXPIRES\tLAST USED")
	for _, t := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Tenant, t.Project, t.Role, t.Name, t.Access,
			moment(&t.CreatedAt), moment(t.ExpiresAt), moment(t.LastUsedAt))
	}
	return w.Flush()
}

// moment is a time for people; nil is a time that will not or did not come.
func moment(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// tokenRevokeCmd is `brain token revoke`.
type tokenRevokeCmd struct {
	dataFlag
	ID string `arg:"" name:"id" help:"The token's id, as token list prints it."`
}

// Run is called by kong. A server that is running ends within a second what the
// token has opened.
func (c *tokenRevokeCmd) Run(i invocation) error {
	return c.withTokens(i, func(tokens *auth.Tokens) error {
		if err := tokens.Revoke(i.ctx, c.ID); err != nil {
			return &cli.Exit{Code: cli.Failed, Err: err}
		}
		return nil
	})
}

// withTokens opens the tokens of the data directory for do.
func (f dataFlag) withTokens(i invocation, do func(*auth.Tokens) error) (err error) {
	store, err := f.state(i)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return do(auth.NewTokens(store, i.New(i.err)))
}

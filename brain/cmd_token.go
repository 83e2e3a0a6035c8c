package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/brain/state"
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
	Access  string `help:"What an agent or a user may do to the workspace: read or edit; default edit." enum:"read,edit" default:"edit" placeholder:"LEVEL"`

	Link      bool    `help:"Print a one-time link for foot login instead of a token, which is made when the link is used."`
	LinkTTL   string  `name:"link-ttl" help:"How long the link is good, at most 7d; default 10m." placeholder:"DURATION"`
	PublicURL *string `name:"public-url" help:"Address under which the Foot reaches this Brain; default the server's setting, or where it listens." placeholder:"URL"`
	Config    string  `help:"File with settings; default ~/.vancetope/brain.yaml when there is one." placeholder:"FILE"`
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
	ttl, err := positive("--ttl", c.TTL, "90d, 8h or 30m", 0)
	if err != nil {
		return err
	}
	if c.Link {
		return c.link(i, grant, ttl)
	}
	if c.LinkTTL != "" || c.PublicURL != nil {
		return cli.Usagef("--link-ttl and --public-url are about a link: they need --link")
	}
	if ttl > 0 {
		grant.ExpiresAt = time.Now().Add(ttl)
	}
	return c.withTokens(i, c.Config, nil, begunState(i), func(tokens *auth.Tokens, _ state.Store, _ *settings.Settings) error {
		token, err := tokens.Create(i.ctx, grant)
		return printSecret(i, tokens, token, token, err)
	})
}

// link makes a one-time link. Its code is in the fragment, which no server that
// the address is typed into gets to see.
func (c *tokenCreateCmd) link(i invocation, grant auth.Grant, ttl time.Duration) error {
	linkTTL, err := positive("--link-ttl", c.LinkTTL, "10m or 1d", defaultLinkTTL)
	if err != nil {
		return err
	}
	flags := map[string]*string{"vance.brain.public-url": c.PublicURL}
	return c.withTokens(i, c.Config, flags, begunState(i), func(tokens *auth.Tokens, store state.Store, values *settings.Settings) error {
		url, err := publicURL(i.ctx, store, values)
		if err != nil {
			return err
		}
		code, err := tokens.CreateLink(i.ctx, grant, ttl, linkTTL)
		return printSecret(i, tokens, url+loginPage+"#"+code, code, err)
	})
}

// defaultLinkTTL is how long a link is good when nobody says otherwise.
const defaultLinkTTL = 10 * time.Minute

// positive reads a duration that a flag gives, or returns the one for none.
func positive(flag, text, examples string, none time.Duration) (time.Duration, error) {
	if text == "" {
		return none, nil
	}
	d, err := settings.ParseDuration(text)
	switch {
	case errors.Is(err, settings.ErrTooLong):
		return 0, cli.Usagef("%s %q %w", flag, text, err)
	case err != nil || d <= 0:
		return 0, cli.Usagef("%s %q is not a positive duration: write %s", flag, text, examples)
	}
	return d, nil
}

// printSecret prints a new token or a link with a new code, or tells why there is
// none. What could not be printed nobody holds, and so it is taken back.
func printSecret(i invocation, tokens *auth.Tokens, text, secret string, err error) error {
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Code != common.ErrorCodeDiskFull {
		return cli.Usagef("%w", refused)
	}
	if err != nil {
		return &cli.Exit{Code: cli.Failed, Err: err}
	}
	if _, err = fmt.Fprintln(i.out, text); err == nil {
		return nil
	}
	if left := tokens.Withdraw(i.ctx, secret); left != nil {
		err = errors.Join(err, fmt.Errorf("and what was made could not be taken back, look at brain token list: %w", left))
	}
	return printed(err)
}

// tokenListCmd is `brain token list`.
type tokenListCmd struct {
	dataFlag
	JSON bool `help:"Print a JSON array instead of columns."`
}

// Run is called by kong.
func (c *tokenListCmd) Run(i invocation) error {
	return c.withTokens(i, "", nil, existingState, func(tokens *auth.Tokens, _ state.Store, _ *settings.Settings) error {
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
	return c.withTokens(i, "", nil, existingState, func(tokens *auth.Tokens, _ state.Store, _ *settings.Settings) error {
		err := tokens.Revoke(i.ctx, c.ID)
		if fault.CodeOf(err) == common.ErrorCodeDiskFull {
			err = fmt.Errorf("the token is still good, to revoke it free space or stop the Brain: %w", err)
		}
		if err != nil {
			return &cli.Exit{Code: cli.Failed, Err: err}
		}
		return nil
	})
}

// withTokens opens the tokens of the data directory for do.
func (f dataFlag) withTokens(i invocation, config string, flags map[string]*string, open stateOpener, do func(*auth.Tokens, state.Store, *settings.Settings) error) (err error) {
	values, err := f.settings(i, config, flags)
	if err != nil {
		return err
	}
	store, err := open(i.ctx, values.Brain.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return do(auth.NewTokens(store, i.New(i.err)), store, values)
}

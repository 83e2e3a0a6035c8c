package main

import (
	"errors"
	"fmt"

	"github.com/vancetope/transfer/brain/auth"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/fault"
)

// tokenCreateCmd is `brain token create`.
type tokenCreateCmd struct {
	dataFlag
	Tenant  string `help:"The tenant the token belongs to." required:"" placeholder:"NAME"`
	Project string `help:"The project the token belongs to." required:"" placeholder:"NAME"`
	Role    string `help:"What the token is for: ${enum}." required:"" enum:"foot,agent,user" placeholder:"ROLE"`
	Name    string `help:"Who holds it; for a Foot the name agents call it by." required:"" placeholder:"NAME"`
}

// Run is called by kong. A server that is running knows the token at once.
func (c *tokenCreateCmd) Run(i invocation) (err error) {
	dir, err := c.dir()
	if err != nil {
		return err
	}
	store, err := openState(i.ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	token, err := auth.NewTokens(store, i.New(i.err)).Create(i.ctx, auth.Grant{
		Tenant:  c.Tenant,
		Project: c.Project,
		Role:    auth.Role(c.Role),
		Name:    c.Name,
	})
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
}

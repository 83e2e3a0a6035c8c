package main

import (
	"crypto/tls"
	"errors"
	"log/slog"

	"github.com/vancetope/transfer/foot/agent"
	"github.com/vancetope/transfer/foot/login"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/settings"
)

// access is how a Foot comes to its Brain.
type access struct {
	brain, tenant string
	// project is known beforehand from a login only, else "".
	project string
	token   string
	tls     *tls.Config
}

// access is what the flags say, and for the rest what foot login kept.
func (c *runCmd) access(values *settings.Settings, log *slog.Logger) (*access, error) {
	a, caFile := &access{brain: c.Brain, tenant: c.Tenant}, c.CAFile
	if c.Brain == "" || c.Tenant == "" || c.TokenFile == "" {
		kept, err := c.login(values.Foot.State)
		if err != nil {
			return nil, err
		}
		if a.brain == "" {
			a.brain = kept.Brain
		}
		if caFile == "" {
			caFile = kept.CAFile
		}
		a.tenant = kept.Tenant
		if c.TokenFile == "" {
			a.token, a.project = kept.Token, kept.ProjectID
		}
	}
	if err := agent.CheckBrain(a.brain, a.tenant, c.AllowInsecure); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	var err error
	if c.TokenFile != "" {
		if a.token, err = cli.ReadToken(c.TokenFile, log); err != nil {
			return nil, cli.Usagef("%w", err)
		}
	}
	if a.tls, err = cli.ClientTLS(caFile); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return a, nil
}

// login finds the one login that is meant.
func (c *runCmd) login(state string) (login.Login, error) {
	none := cli.Usagef("where to connect is not known: log in with foot login URL#CODE, or give --brain, --tenant and --token-file")
	dir, err := findState(state, c.Tenant, c.Project, login.Kept, none)
	if err != nil {
		return login.Login{}, err
	}
	kept, err := login.Load(dir)
	if err != nil {
		return login.Login{}, cli.Usagef("%w", err)
	}
	if c.Tenant != "" && c.Tenant != kept.Tenant || c.Project != "" && c.Project != kept.ProjectID {
		return login.Login{}, cli.Usagef("%w", errors.New("the login in the state folder is of another tenant or project"))
	}
	return kept, nil
}

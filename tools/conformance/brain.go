package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/tools/conformance/suite"
)

// brainCmd is `conformance brain`.
type brainCmd struct {
	URL            string `required:"" name:"url" help:"The tenant's address at the Brain, as in http://127.0.0.1:9990/brain/acme." placeholder:"URL"`
	MCPURL         string `name:"mcp-url" help:"The Brain's MCP endpoint; by default /mcp of the same host." placeholder:"URL"`
	FootTokenFile  string `required:"" help:"File with a token of role foot." type:"path" placeholder:"FILE"`
	AgentTokenFile string `required:"" help:"File with a token of role agent, of the same project." type:"path" placeholder:"FILE"`
	Dir            string `help:"A RootDir to write to, for a Brain without workspace_create_ephemeral_dir." placeholder:"NAME"`
	trialFlags
}

// Run is called by kong.
func (c *brainCmd) Run(i invocation) error {
	rules, err := c.rules(suite.Brain)
	if err != nil {
		return err
	}
	o := suite.Options{Role: suite.Brain, DirName: c.Dir, MCPURL: c.MCPURL}
	if o.TenantURL, err = tenantURL(c.URL); err != nil {
		return cli.Usagef("--url: %w", err)
	}
	if o.MCPURL == "" {
		u, _ := url.Parse(o.TenantURL) // it was parsed before
		o.MCPURL = u.ResolveReference(&url.URL{Path: "/mcp"}).String()
	}
	if o.FootToken, err = cli.ReadToken(c.FootTokenFile, i.log()); err != nil {
		return cli.Usagef("--foot-token-file: %w", err)
	}
	if o.AgentToken, err = cli.ReadToken(c.AgentTokenFile, i.log()); err != nil {
		return cli.Usagef("--agent-token-file: %w", err)
	}
	return c.try(i, o, rules)
}

// tenantURL checks the address of a tenant.
func tenantURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil {
		return "", err
	}
	parent, tenant := "", ""
	if cut := strings.LastIndex(u.Path, "/"); cut >= 0 {
		parent, tenant = u.Path[:cut], u.Path[cut+1:]
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !strings.HasSuffix(parent, "/brain") || tenant == "" {
		return "", fmt.Errorf("%q is not the address of a tenant at a Brain: write http://HOST/brain/TENANT", text)
	}
	return u.String(), nil
}

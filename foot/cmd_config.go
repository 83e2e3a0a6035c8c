package main

import "github.com/vancetope/transfer/internal/cli"

// configCmd is `foot config`. It takes the flags of foot run that stand for
// settings, so that what run would do can be looked at beforehand.
type configCmd struct {
	Root    *string `help:"Folder below which <tenant>/<project>/ is kept; default ~/.vancetope/foot." placeholder:"DIR"`
	State   *string `help:"Folder for this Foot's own state; default ~/.vancetope/state/foot/<tenant>/<project>." placeholder:"DIR"`
	Config  string  `help:"File with settings; default ~/.vancetope/foot.yaml when there is one." placeholder:"FILE"`
	Access  *string `help:"What the Brain may do to files here: read, or edit as well; default edit." placeholder:"LEVEL"`
	Confirm *string `help:"What you are asked about before it happens: never, writes or all; default never." placeholder:"WHAT"`
	JSON    bool    `help:"Print a JSON array instead of columns."`
}

// Run is called by kong.
func (c *configCmd) Run(s streams) error {
	values, err := footSettings(c.Config, map[string]*string{
		"vance.foot.workspace.root": c.Root,
		"vance.foot.state":          c.State,
		"vance.foot.access":         c.Access,
		"vance.foot.confirm":        c.Confirm,
	})
	if err != nil {
		return cli.Usagef("%w", err)
	}
	return cli.PrintSettings(s.out, values.Values(), c.JSON)
}

package main

import "github.com/vancetope/transfer/internal/cli"

// configCmd is `brain config`. It takes the flags of brain serve that stand for
// settings, so that what serve would do can be looked at beforehand.
type configCmd struct {
	settingFlags
	JSON bool `help:"Print a JSON array instead of columns."`
}

// Run is called by kong.
func (c *configCmd) Run(i invocation) error {
	values, err := c.load(i)
	if err != nil {
		return err
	}
	return cli.PrintSettings(i.out, values.Values(), c.JSON)
}

package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/tools/conformance/peer"
	"github.com/vancetope/transfer/tools/conformance/suite"
)

// footCmd is `conformance foot`.
type footCmd struct {
	Listen    string        `help:"Where to listen; port 0 picks one." default:"127.0.0.1:0" placeholder:"ADDRESS"`
	Tenant    string        `help:"The tenant that the Foot must name." default:"acme"`
	Reconnect time.Duration `help:"How long the Foot may take to connect, at first and again after a connection has ended." default:"65s"`
	trialFlags
}

// Run is called by kong.
func (c *footCmd) Run(i invocation) (err error) {
	rules, err := c.rules(suite.Foot)
	if err != nil {
		return err
	}
	if c.Reconnect <= 0 {
		return cli.Usagef("--reconnect must be positive")
	}
	token := "conformance-" + rand.Text()
	dir, err := os.MkdirTemp("", "vancetope-conformance-")
	if err != nil {
		return &cli.Exit{Code: cli.Failed, Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tokenFile := filepath.Join(dir, "foot.token")
	if err := os.WriteFile(tokenFile, []byte(token+"\n"), 0o600); err != nil {
		return &cli.Exit{Code: cli.Failed, Err: err}
	}
	l, err := peer.Listen(c.Listen, c.Tenant, token)
	if err != nil {
		return &cli.Exit{Code: cli.InUse, Err: err}
	}
	defer l.Close()
	ready, err := json.Marshal(struct {
		Event     string `json:"event"`
		URL       string `json:"url"`
		Tenant    string `json:"tenant"`
		TokenFile string `json:"tokenFile"`
	}{"ready", l.URL, c.Tenant, tokenFile})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(i.out, "%s\n", ready); err != nil {
		return &cli.Exit{Code: cli.Failed, Err: err}
	}
	return c.try(i, suite.Options{Role: suite.Foot, Listener: l, Reconnect: c.Reconnect}, rules)
}

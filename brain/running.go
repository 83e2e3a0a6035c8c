package main

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/version"
	"github.com/vancetope/transfer/internal/wire"
)

const defaultURL = "http://127.0.0.1:9990"

// serverFlags are those of the commands that need a running Brain.
type serverFlags struct {
	URL           string `name:"url" help:"Where the Brain listens; default ${default_url}." env:"VANCE_URL" placeholder:"URL"`
	TokenFile     string `help:"File with a token of role agent." env:"VANCE_TOKEN_FILE" placeholder:"FILE"`
	CAFile        string `name:"ca-file" help:"File with the authorities, in PEM, to trust instead of the system's." env:"VANCE_CA_FILE" placeholder:"FILE"`
	AllowInsecure bool   `help:"Send the token in clear text to another machine."`
}

// endpoint returns the address of a path on the Brain.
func (f *serverFlags) endpoint(path string) (string, error) {
	base := f.URL
	if base == "" {
		base = defaultURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", cli.Usagef("--url %s is not an address such as %s", safetext.Quote(base), defaultURL)
	}
	if !f.AllowInsecure && wire.PlainOffLoopback(u) {
		return "", cli.Usagef("--url %s is refused, since anybody on the way could read the token: "+
			"use https://, or --allow-insecure when the network between is trusted", safetext.Quote(base))
	}
	return strings.TrimRight(base, "/") + path, nil
}

func (f *serverFlags) token(log *slog.Logger) (string, error) {
	if f.TokenFile == "" {
		return "", cli.Usagef("--token-file (or VANCE_TOKEN_FILE) is needed: a file with the output of brain token create --role agent")
	}
	token, err := cli.ReadToken(f.TokenFile, log)
	if err != nil {
		return "", cli.Usagef("%w", err)
	}
	return token, nil
}

// client returns who calls the Brain's tools.
func (f *serverFlags) client(i invocation) (*toolClient, error) {
	endpoint, err := f.endpoint("/mcp")
	if err != nil {
		return nil, err
	}
	token, err := f.token(i.New(i.err))
	if err != nil {
		return nil, err
	}
	transport, err := f.transport()
	if err != nil {
		return nil, err
	}
	return &toolClient{endpoint: endpoint, token: token, transport: transport, version: version.String(), log: i.New(i.err)}, nil
}

// transport returns the way to the Brain.
func (f *serverFlags) transport() (http.RoundTripper, error) {
	secure, err := cli.ClientTLS(f.CAFile)
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	if secure != nil {
		t.TLSClientConfig = secure
	}
	return t, nil
}

package main

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/infile"
)

// tlsFlags say with what the listener proves who it is.
type tlsFlags struct {
	TLSCert       string `name:"tls-cert" help:"File with the certificate of this server and those between it and the authority, in PEM." placeholder:"FILE"`
	TLSKey        string `name:"tls-key" help:"File with the certificate's key, in PEM." placeholder:"FILE"`
	AllowInsecure bool   `help:"Listen without TLS on other addresses than the loopback ones."`
}

// config returns the listener's TLS, or nil when it has none.
func (f tlsFlags) config(log *slog.Logger) (*tls.Config, error) {
	switch {
	case f.TLSCert == "" && f.TLSKey == "":
		return nil, nil
	case f.TLSCert == "":
		return nil, cli.Usagef("--tls-key needs --tls-cert")
	case f.TLSKey == "":
		return nil, cli.Usagef("--tls-cert needs --tls-key")
	}
	c := &certificate{certFile: f.TLSCert, keyFile: f.TLSKey, log: log}
	if err := c.load(); err != nil {
		return nil, cli.Usagef("the certificate (--tls-cert, --tls-key) cannot be used: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}, nil
}

// certificate is a certificate on the disk. It is read again when its files have
// changed, since certificates are renewed more often than servers are restarted.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	seen    stamp
	failed  stamp // the files of this stamp could not be used
}

// stamp tells whether files changed.
type stamp struct{ cert, key time.Time }

func (c *certificate) stamp() (stamp, error) {
	cert, errCert := os.Stat(c.certFile)
	key, errKey := os.Stat(c.keyFile)
	if err := errors.Join(errCert, errKey); err != nil {
		return stamp{}, err
	}
	return stamp{cert.ModTime(), key.ModTime()}, nil
}

// maxPEM is more than any certificate takes, with all between it and the authority.
const maxPEM = 1 << 20

func (c *certificate) load() error {
	now, err := c.stamp()
	if err != nil {
		return err
	}
	cert, err := infile.ReadFile(c.certFile, maxPEM)
	key, keyErr := infile.ReadFile(c.keyFile, maxPEM)
	err = errors.Join(err, keyErr)
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.X509KeyPair(cert, key)
	}
	if err != nil {
		c.failed = now
		return err
	}
	c.current, c.seen = &pair, now
	return nil
}

// get is called for each handshake. A renewal that is half-way or wrong leaves
// the old certificate in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, err := c.stamp()
	if err != nil || now == c.seen || now == c.failed {
		return c.current, nil
	}
	if err := c.load(); err != nil {
		c.log.Warn("the new certificate cannot be used, the old one stays", "file", c.certFile, "err", err)
	} else {
		c.log.Info("the certificate was renewed", "file", c.certFile)
	}
	return c.current, nil
}

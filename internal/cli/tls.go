package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/vancetope/transfer/internal/infile"
	"github.com/vancetope/transfer/internal/safetext"
)

// maxAuthorities is more than the authorities of any system take.
const maxAuthorities = 16 << 20

// ClientTLS returns how a program checks the Brain it connects to. A file holds
// the certificates of authorities, in PEM, that are trusted instead of the
// system's; without one the answer is nil, which stands for the system's.
func ClientTLS(caFile string) (*tls.Config, error) {
	if caFile == "" {
		return nil, nil
	}
	text, err := infile.ReadFile(caFile, maxAuthorities)
	if err != nil {
		return nil, fmt.Errorf("the file of authorities (--ca-file) cannot be read: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the file of authorities (--ca-file) %s holds no certificate in PEM", safetext.Quote(caFile))
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

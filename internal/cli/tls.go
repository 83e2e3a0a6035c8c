package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/vancetope/transfer/internal/safetext"
)

// ClientTLS returns how a program checks the Brain it connects to. A file holds
// the certificates of authorities, in PEM, that are trusted instead of the
// system's; without one the answer is nil, which stands for the system's.
func ClientTLS(caFile string) (*tls.Config, error) {
	if caFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("the file of authorities (--ca-file) cannot be read: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the file of authorities (--ca-file) %s holds no certificate in PEM", safetext.Quote(caFile))
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

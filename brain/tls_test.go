package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vancetope/transfer/internal/cli"
)

// selfSigned writes a certificate of this machine that is its own authority.
func selfSigned(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:              []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestACallOverTLSTrustsTheAuthorityItWasTold(t *testing.T) {
	cert, key := selfSigned(t, t.TempDir(), "one")
	stranger, _ := selfSigned(t, t.TempDir(), "two")
	b := serve(t, "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(b.url, "https://127.0.0.1:") {
		t.Fatalf("the ready line says %s", b.url)
	}
	call := []string{"call", "client_list", "{}", "--url", b.url, "--token-file", b.token(t, "agent")}
	if code, _, stderr := run(t, "", append(call, "--ca-file", cert)...); code != cli.OK {
		t.Errorf("with the authority: %d, %s", code, stderr)
	}
	t.Setenv("VANCE_CA_FILE", cert)
	if code, _, stderr := run(t, "", call...); code != cli.OK {
		t.Errorf("with the authority in the environment: %d, %s", code, stderr)
	}
	for name, more := range map[string][]string{
		"another authority": {"--ca-file", stranger},
		"the system's":      {"--ca-file", ""},
	} {
		if code, stdout, stderr := run(t, "", append(call, more...)...); code != cli.Unreachable || stdout != "" || !strings.Contains(stderr, "certificate") {
			t.Errorf("%s: %d, %q, %q", name, code, stdout, stderr)
		}
	}
}

func TestClearTextToATLSListenerReachesNoBrain(t *testing.T) {
	cert, key := selfSigned(t, t.TempDir(), "one")
	b := serve(t, "--tls-cert", cert, "--tls-key", key)
	code, _, stderr := run(t, "", "call", "client_list", "{}", "--token-file", b.token(t, "agent"),
		"--url", "http://"+strings.TrimPrefix(b.url, "https://"))
	if code != cli.Unreachable && code != cli.Failed {
		t.Errorf("%d, %s", code, stderr)
	}
}

func TestOffLoopbackABrainListensWithTLSOrWhenItIsAllowedTo(t *testing.T) {
	cert, key := selfSigned(t, t.TempDir(), "one")
	for name, more := range map[string][]string{
		"TLS":     {"--tls-cert", cert, "--tls-key", key},
		"allowed": {"--allow-insecure"},
	} {
		t.Run(name, func(t *testing.T) {
			home(t)
			b := serveOn(t, filepath.Join(t.TempDir(), "data"), append(more, "--listen", "0.0.0.0:0")...)
			_, port, err := net.SplitHostPort(b.url[strings.LastIndex(b.url, "/")+1:])
			if err != nil {
				t.Fatal(err)
			}
			url := "https://127.0.0.1:" + port
			if name == "allowed" {
				url = "http://127.0.0.1:" + port
			}
			code, _, stderr := run(t, "", "call", "client_list", "{}", "--token-file", b.token(t, "agent"), "--url", url, "--ca-file", cert)
			if code != cli.OK {
				t.Errorf("%d, %s", code, stderr)
			}
		})
	}
}

func TestARenewedCertificateIsUsedAndABrokenOneIsNot(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := selfSigned(t, dir, "old")
	config, err := tlsFlags{TLSCert: certFile, TLSKey: keyFile}.config(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	name := func() string {
		c, err := config.GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Subject.CommonName
	}
	later := time.Now()
	touch := func() { // the clock of a file system may be coarse
		later = later.Add(time.Minute)
		for _, f := range []string{certFile, keyFile} {
			if err := os.Chtimes(f, later, later); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := name(); got != "old" {
		t.Errorf("at first: %s", got)
	}
	selfSigned(t, dir, "new")
	touch()
	if got := name(); got != "new" {
		t.Errorf("renewed: %s", got)
	}
	if err := os.WriteFile(certFile, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	touch()
	if got := name(); got != "new" {
		t.Errorf("half-way: %s", got)
	}
	if err := os.Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "new" {
		t.Errorf("gone: %s", got)
	}
	selfSigned(t, dir, "newer")
	touch()
	if got := name(); got != "newer" {
		t.Errorf("renewed again: %s", got)
	}
}

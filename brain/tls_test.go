package main

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/tlstest"
)

func TestACallOverTLSTrustsTheAuthorityItWasTold(t *testing.T) {
	cert, key := tlstest.SelfSigned(t, t.TempDir(), "one")
	stranger, _ := tlstest.SelfSigned(t, t.TempDir(), "two")
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
	cert, key := tlstest.SelfSigned(t, t.TempDir(), "one")
	b := serve(t, "--tls-cert", cert, "--tls-key", key)
	code, _, stderr := run(t, "", "call", "client_list", "{}", "--token-file", b.token(t, "agent"),
		"--url", "http://"+strings.TrimPrefix(b.url, "https://"))
	if code != cli.Unreachable || !strings.Contains(stderr, "use https://") {
		t.Errorf("%d, %s", code, stderr)
	}
	code, _, stderr = run(t, "", "call", "client_list", "{}", "--token-file", b.token(t, "agent"), "--url", b.url)
	if code != cli.Unreachable || !strings.Contains(stderr, "--ca-file") {
		t.Errorf("an unknown authority: %d, %s", code, stderr)
	}
}

func TestOffLoopbackABrainListensWithTLSOrWhenItIsAllowedTo(t *testing.T) {
	cert, key := tlstest.SelfSigned(t, t.TempDir(), "one")
	for name, more := range map[string][]string{
		"TLS":     {"--tls-cert", cert, "--tls-key", key},
		"allowed": {"--allow-insecure"},
	} {
		t.Run(name, func(t *testing.T) {
			home(t)
			b := serveOn(t, filepath.Join(t.TempDir(), "data"), append(more, "--listen", "0.0.0.0:0")...)
			if !strings.Contains(b.url, "://0.0.0.0:") {
				t.Errorf("it listens on %s", b.url)
			}
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
	certFile, keyFile := tlstest.SelfSigned(t, dir, "old")
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
	tlstest.SelfSigned(t, dir, "new")
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
	tlstest.SelfSigned(t, dir, "newer")
	touch()
	if got := name(); got != "newer" {
		t.Errorf("renewed again: %s", got)
	}
}

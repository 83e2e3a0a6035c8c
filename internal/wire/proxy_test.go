package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vancetope/transfer/internal/proxytest"
)

// through is a Proxy of DialConfig that always names one.
func through(t *testing.T, text string) func(*http.Request) (*url.URL, error) {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return http.ProxyURL(u)
}

func TestAConnectionGoesThroughAProxy(t *testing.T) {
	server, results := tlsBrain(t, Config{})
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	proxy := proxytest.Start(t, proxytest.Options{Target: server.Listener.Addr().String()})
	var log bytes.Buffer
	foot, _, err := Dial(t.Context(), DialConfig{URL: "wss://example.com", Tenant: "acme", Hello: testHello(), Token: "hush",
		TLS: &tls.Config{RootCAs: roots}, Proxy: through(t, "http://user:pa%20ss@"+proxy.Address),
		Config: Config{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}})
	if err != nil {
		t.Fatal(err)
	}
	brain := (<-results).conn
	brainEnded, footEnded := serve(brain, newCollector()), serve(foot, newCollector())
	asked := proxy.Asked()
	if len(asked) != 1 || asked[0].Method != "CONNECT" || asked[0].RequestURI != "example.com:443" {
		t.Fatalf("the proxy was asked %+v", asked)
	}
	if got := asked[0].Header; got.Get("Proxy-Authorization") != "Basic dXNlcjpwYSBzcw==" || got.Get("Authorization") != "" {
		t.Errorf("the proxy was told %v", got)
	}
	foot.Close(CloseNormal, "")
	await(t, "the Foot's end", footEnded)
	await(t, "the Brain's end", brainEnded)
	if strings.Contains(log.String(), "pa ss") || strings.Contains(log.String(), "pa%20ss") {
		t.Error("the log tells the proxy's password")
	}
}

func TestTheCertificateOfAProxyThatSpeaksTLSIsChecked(t *testing.T) {
	server, _ := tlsBrain(t, Config{}) // for its certificate alone
	proxy := proxytest.Start(t, proxytest.Options{TLS: server.TLS})
	// Nobody knows the proxy's authority, so its certificate is what is told.
	_, _, err := Dial(t.Context(), DialConfig{URL: "ws://brain.test", Tenant: "acme", Hello: testHello(), Proxy: through(t, "https://"+proxy.Address)})
	var failed *DialError
	if !errors.As(err, &failed) || failed.Kind != DialUnreachable || !strings.Contains(err.Error(), "through the proxy "+proxy.Address) || !strings.Contains(err.Error(), "certificate") {
		t.Fatal(err)
	}
	if asked := proxy.Asked(); len(asked) != 0 {
		t.Errorf("the proxy was asked %+v", asked)
	}
}

func TestAPlainConnectionGoesThroughAProxyToo(t *testing.T) {
	b := startBrain(t, brainOptions{tcp: true})
	plain := proxytest.Start(t, proxytest.Options{Target: b.ln.Addr().String()})
	foot, _, err := Dial(t.Context(), DialConfig{URL: "ws://brain.test:99", Tenant: "acme", Hello: testHello(), Proxy: through(t, "http://"+plain.Address)})
	if err != nil {
		t.Fatal(err)
	}
	if asked := plain.Asked(); len(asked) != 1 || asked[0].RequestURI != "brain.test:99" {
		t.Errorf("the proxy was asked %+v", asked)
	}
	brain := b.accept(t).conn
	brainEnded, footEnded := serve(brain, newCollector()), serve(foot, newCollector())
	brain.Close(CloseNormal, "")
	await(t, "the Brain's end", brainEnded)
	await(t, "the Foot's end", footEnded)
}

func TestAProxyThatMakesNoTunnelIsNamedWithoutItsPassword(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	answering := func(text string) string { return proxytest.Start(t, proxytest.Options{Answer: text}).Address }
	for name, row := range map[string]struct{ address, text string }{
		"it is not there":        {nobody, "connection refused"},
		"it wants a password":    {answering("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), "407"},
		"it refuses":             {answering("HTTP/1.1 403 \x1b[2J\r\n\r\n"), "it refuses (HTTP 403)"},
		"a status without words": {answering("HTTP/1.1 502\r\n\r\n"), "HTTP 502"},
		"no HTTP":                {answering("SSH-2.0-OpenSSH_9.9\r\n"), "malformed"},
		"it hangs up":            {answering("\r\n"), "through the proxy"},
		"it says too much":       {answering("HTTP/1.1 200 OK\r\n\r\nhello"), "more than was asked"},
		"it never stops":         {answering("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 1<<20)), "through the proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Dial(t.Context(), DialConfig{URL: "wss://brain.test", Tenant: "acme", Token: "hush", Hello: testHello(),
				Proxy: through(t, "http://user:passw0rd@"+row.address)})
			var failed *DialError
			if !errors.As(err, &failed) {
				t.Fatal(err)
			}
			if !strings.Contains(err.Error(), row.text) || !strings.Contains(err.Error(), row.address) {
				t.Errorf("the text is %q", err)
			}
			if strings.Contains(err.Error(), "passw0rd") || strings.Contains(err.Error(), "hush") || strings.ContainsRune(err.Error(), 0x1b) {
				t.Errorf("the text tells too much: %q", err)
			}
		})
	}
}

func TestAProxyThatStaysSilentEndsWithThePhase(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts by itself, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	began := time.Now()
	_, _, err = Dial(t.Context(), DialConfig{URL: "wss://brain.test", Tenant: "acme", Hello: testHello(),
		Proxy: through(t, "http://"+silent.Addr().String()), Config: Config{PhaseTimeout: 200 * time.Millisecond}})
	if err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, _, err = Dial(ctx, DialConfig{URL: "wss://brain.test", Tenant: "acme", Hello: testHello(),
		Proxy: through(t, "http://"+silent.Addr().String())}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestABadProxyVariableIsToldWithoutItsText(t *testing.T) {
	bad := func(*http.Request) (*url.URL, error) { return nil, errors.New("from the environment") }
	_, _, err := Dial(t.Context(), DialConfig{URL: "wss://brain.test", Tenant: "acme", Hello: testHello(), Proxy: bad})
	var failed *DialError
	if !errors.As(err, &failed) || failed.Kind != DialUnreachable {
		t.Error(err)
	}
}

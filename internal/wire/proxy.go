package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// EnvironmentProxy is the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name
// for a request, nil for none. Other than http.ProxyFromEnvironment's, its error
// does not quote the variable, which may hold a password.
func EnvironmentProxy(r *http.Request) (*url.URL, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, errors.New("the proxy that HTTPS_PROXY or HTTP_PROXY names is not a URL such as http://proxy.example:3128")
	}
	return proxy, nil
}

// proxyFor is the proxy on the way to a WebSocket address.
func (cfg *DialConfig) proxyFor(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	u.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	find := cfg.Proxy
	if find == nil {
		find = EnvironmentProxy
	}
	return find(&http.Request{URL: u})
}

// tunnels reports whether a proxy makes a tunnel on CONNECT. The others are
// SOCKS, which the WebSocket library speaks.
func tunnels(proxy *url.URL) bool { return proxy.Scheme == "http" || proxy.Scheme == "https" }

// proxyAddress is where a proxy listens.
func proxyAddress(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[proxy.Scheme]
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

// maxProxyAnswer bounds the head of a proxy's answer.
const maxProxyAnswer = 64 << 10

// tunnel asks a proxy at the other end of c for a connection to an address. Its
// errors name the proxy without its user and password. c is the caller's to close
// on failure, and is closed by somebody else when ctx ends.
func tunnel(ctx context.Context, c net.Conn, proxy *url.URL, address string) (net.Conn, error) {
	if proxy.Scheme == "https" {
		secure := tls.Client(c, &tls.Config{ServerName: proxy.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, throughProxy(proxy, err)
		}
		c = secure
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password() // without one it is empty
		request.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.Write(c); err != nil {
		return nil, throughProxy(proxy, err)
	}
	r := bufio.NewReader(io.LimitReader(c, maxProxyAnswer))
	response, err := http.ReadResponse(r, request)
	switch {
	case err != nil:
		return nil, throughProxy(proxy, err)
	case response.StatusCode == http.StatusProxyAuthRequired:
		return nil, throughProxy(proxy, errors.New("it wants a user and a password (HTTP 407): http://user:password@host:port"))
	case response.StatusCode != http.StatusOK:
		return nil, throughProxy(proxy, fmt.Errorf("it refuses (HTTP %d)", response.StatusCode))
	case r.Buffered() > 0:
		return nil, throughProxy(proxy, errors.New("it says more than was asked"))
	}
	return c, nil
}

func throughProxy(proxy *url.URL, err error) error {
	return fmt.Errorf("through the proxy %s: %w", proxy.Host, err)
}

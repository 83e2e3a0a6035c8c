// Package proxytest is an HTTP proxy for tests: it makes tunnels on CONNECT and
// keeps what it was asked for. Whatever the address, it connects to one target,
// so that a test can use names that nobody resolves.
package proxytest

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Options say how a proxy behaves. The zero value refuses everything.
type Options struct {
	// Target is where every tunnel leads, host:port.
	Target string
	// Answer, if set, is sent in place of a tunnel: a whole HTTP answer.
	Answer string
	// TLS, if set, is how the proxy itself is spoken to.
	TLS *tls.Config
}

// Proxy is a running one.
type Proxy struct {
	// Address is host:port.
	Address string

	o     Options
	mu    sync.Mutex
	asked []*http.Request
	conns []net.Conn
}

// Start starts a proxy that ends with the test.
func Start(t testing.TB, o Options) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Address: l.Addr().String(), o: o}
	if o.TLS != nil {
		l = tls.NewListener(l, o.TLS)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the test is over
			}
			p.keep(c)
			running.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // nothing depends on it
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		running.Wait()
	})
	return p
}

// Asked are the requests so far.
func (p *Proxy) Asked() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*http.Request(nil), p.asked...)
}

func (p *Proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
}

// serve takes one request. Its errors are those of peers that went away.
func (p *Proxy) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, r)
	p.mu.Unlock()
	if p.o.Answer != "" || r.Method != http.MethodConnect || p.o.Target == "" {
		answer := p.o.Answer
		if answer == "" {
			answer = "HTTP/1.1 403 Forbidden\r\n\r\n"
		}
		_, _ = io.WriteString(c, answer)
		return
	}
	far, err := net.Dial("tcp", p.o.Target)
	if err != nil {
		_, _ = io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	p.keep(far)
	defer far.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(far, in)
		_ = far.Close()
	}()
	_, _ = io.Copy(c, far)
	_ = c.Close()
	<-done
}

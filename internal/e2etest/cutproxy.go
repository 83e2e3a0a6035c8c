package e2etest

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// CutProxy passes TCP on and cuts it when told to, or after a number of bytes.
type CutProxy struct {
	URL string // what to dial instead of the upstream's URL

	upstream string
	listener net.Listener
	budget   atomic.Int64 // bytes that may still pass in either direction; < 0: no end
	reset    atomic.Bool  // cut by RST instead of FIN

	mu    sync.Mutex
	conns map[net.Conn]bool
	cuts  int
}

// NewCutProxy listens on loopback and passes connections on to an http:// URL.
func NewCutProxy(t testing.TB, upstream string) *CutProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &CutProxy{
		URL:      "http://" + listener.Addr().String(),
		upstream: strings.TrimPrefix(upstream, "http://"),
		listener: listener,
		conns:    map[net.Conn]bool{},
	}
	p.budget.Store(-1)
	go p.accept()
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		p.Cut()
	})
	return p
}

// CutAfter lets n more bytes pass, both directions together, then cuts every
// connection once: by RST or by FIN. Later connections pass unhindered.
func (p *CutProxy) CutAfter(n int64, reset bool) {
	p.reset.Store(reset)
	p.budget.Store(n)
}

// Cut closes every connection now.
func (p *CutProxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conns) > 0 {
		p.cuts++
	}
	for conn := range p.conns {
		if tcp, ok := conn.(*net.TCPConn); ok && p.reset.Load() {
			if tcp.SetLinger(0) != nil {
				continue // closed already
			}
		}
		closeQuietly(conn)
		delete(p.conns, conn)
	}
}

// Cuts counts how often living connections were cut.
func (p *CutProxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *CutProxy) accept() {
	for {
		down, err := p.listener.Accept()
		if err != nil {
			return // closed by the test's end
		}
		up, err := net.Dial("tcp", p.upstream)
		if err != nil {
			closeQuietly(down)
			continue
		}
		p.mu.Lock()
		p.conns[down], p.conns[up] = true, true
		p.mu.Unlock()
		go p.pass(down, up)
		go p.pass(up, down)
	}
}

func (p *CutProxy) pass(from, to net.Conn) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		allowed, cut := p.spend(n)
		if _, writeErr := to.Write(buffer[:allowed]); writeErr != nil || err != nil {
			p.forget(from, to)
			return
		}
		if cut {
			p.Cut()
			return
		}
	}
}

// spend takes n bytes from the budget and says how many may pass and whether
// the budget ended with them.
func (p *CutProxy) spend(n int) (allowed int, cut bool) {
	for {
		left := p.budget.Load()
		switch {
		case left < 0:
			return n, false
		case left > int64(n):
			if p.budget.CompareAndSwap(left, left-int64(n)) {
				return n, false
			}
		default:
			if p.budget.CompareAndSwap(left, -1) {
				return int(left), true
			}
		}
	}
}

func (p *CutProxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		closeQuietly(conn)
		delete(p.conns, conn)
	}
}

// closeQuietly closes what may be closed already.
func closeQuietly(c io.Closer) {
	_ = c.Close() // its other end or another goroutine was quicker: nothing to do
}

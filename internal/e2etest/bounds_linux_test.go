package e2etest

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// usage is what a process holds right now.
type usage struct {
	memory int64 // resident bytes
	files  int   // open descriptors
}

func usageOf(t testing.TB, pid int) usage {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`).FindSubmatch(status)
	if match == nil {
		t.Fatalf("no VmRSS in\n%s", status)
	}
	kib, err := strconv.ParseInt(string(match[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return usage{kib << 10, len(files)}
}

// stays checks that a process needs no more than before but for some memory,
// once it has got over what was done to it.
func (before usage) stays(t testing.TB, child *Child, more int64) {
	t.Helper()
	Eventually(t, func() string {
		now := usageOf(t, child.PID())
		if now.files > before.files+4 || now.memory > before.memory+more {
			return fmt.Sprintf("%s holds %d files and %d MiB, before it were %d and %d", child.Name(),
				now.files, now.memory>>20, before.files, before.memory>>20)
		}
		return ""
	})
}

// shippedWorld is a World of the programs as shipped, since it is measured.
func shippedWorld(t *testing.T, settings map[string]string) (*World, string) {
	t.Helper()
	w := NewWorld(t, WorldOptions{Binaries: ShippedBinaries(t), BrainSettings: settings, FootSettings: settings})
	dir := w.NewDir(t)
	fillPools(t, w)
	return w, dir
}

// fillPools makes the Brain open what it keeps open between calls, connections
// of agents and of its database, so that it does not look like a leak later.
func fillPools(t *testing.T, w *World) {
	t.Helper()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if got := attempt(Bounded(t), w.Agent, "transfer_status", map[string]any{}); !got.OK {
				t.Errorf("transfer_status answers %s", got)
			}
		})
	}
	all.Wait()
}

// served checks that a transfer in each direction goes well within a time in
// which nobody would complain.
func served(t testing.TB, w *World, dir, name string) {
	t.Helper()
	begun := time.Now()
	hash := WriteFile(t, w.AtFoot("served"), 300_000, 0o644, anHourAgo)
	up := w.Agent.Call(t, "client_file_upload", map[string]any{"foot": "laptop", "localPath": "served", "dirName": dir, "remotePath": name})
	if !up.OK || *up.Hash != hash {
		t.Errorf("%s: an upload ends with %s", name, up)
	}
	down := w.Agent.Call(t, "client_file_download", map[string]any{"foot": "laptop", "localPath": "back", "dirName": dir, "remotePath": name})
	if !down.OK || *down.Hash != hash {
		t.Errorf("%s: a download ends with %s", name, down)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("%s: it took %v", name, took)
	}
}

func (u usage) String() string {
	return fmt.Sprintf("%.1f MiB, %d files", float64(u.memory)/(1<<20), u.files)
}

// figureOf reads one of the figures of a Brain that serves them.
func figureOf(t testing.TB, b *Brain, name string) int {
	t.Helper()
	url := regexp.MustCompile(`msg=metrics url=(\S+)`).FindStringSubmatch(b.Log())
	if url == nil {
		t.Fatalf("no figures in the log:\n%s", b.Log())
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: Patience}
	answer, err := client.Get(url[1])
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	value := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindSubmatch(text)
	if value == nil {
		t.Fatalf("no %s in\n%s", name, text)
	}
	n, err := strconv.Atoi(string(value[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// rowLength is scaled down in `make test`; `make soak` makes it ten thousand.
var rowLength = flag.Int("row", 300, "how many transfers are made in a row")

func TestTenThousandTransfersInARowLeaveMemoryFilesAndMapsAsBefore(t *testing.T) {
	w, dir := shippedWorld(t, map[string]string{"vance.brain.metrics-listen": "127.0.0.1:0"})
	for _, at := range []string{w.AtFoot("f"), w.AtBrain(dir, "f")} {
		WriteFile(t, at, 5000, 0o644, anHourAgo)
	}
	move := func(n int) {
		for i := range n {
			tool, args := "client_file_upload", map[string]any{"localPath": "f", "dirName": dir, "remotePath": "to"}
			switch {
			case i%10 == 9: // some fail
				args["localPath"] = "missing"
			case i%2 == 1:
				tool, args = "client_file_download", map[string]any{"localPath": "to", "dirName": dir, "remotePath": "f"}
			}
			if got := attempt(t.Context(), w.Agent, tool, args); got.OK != (i%10 != 9) {
				t.Fatalf("transfer %d ends with %s", i, got)
			}
		}
	}
	move(300) // pools and caches fill
	brain, foot, goroutines := usageOf(t, w.Brain.PID()), usageOf(t, w.Foot.PID()), figureOf(t, w.Brain, "go_goroutines")
	move(*rowLength)
	brain.stays(t, w.Brain.Child, 16<<20)
	foot.stays(t, w.Foot.Child, 8<<20)
	Eventually(t, func() string {
		if now := figureOf(t, w.Brain, "go_goroutines"); now > goroutines+4 {
			return fmt.Sprintf("the Brain has %d goroutines, before it were %d", now, goroutines)
		}
		return ""
	})
	for _, name := range []string{"vancetope_transfers_running", "vancetope_transfers_queued"} {
		if n := figureOf(t, w.Brain, name); n != 0 {
			t.Errorf("%s is %d", name, n)
		}
	}
	t.Logf("%d transfers: Brain %v, now %v, %d goroutines, now %d; Foot %v, now %v", *rowLength, brain, usageOf(t, w.Brain.PID()),
		goroutines, figureOf(t, w.Brain, "go_goroutines"), foot, usageOf(t, w.Foot.PID()))
	if left := running(t, w.Agent); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	onlyStaging(t, w.AtBrain(dir, ""))
	onlyStaging(t, w.Foot.Project)
}

func TestAThousandConnectionsWithBadTokensCostNothing(t *testing.T) {
	w, dir := shippedWorld(t, nil)
	served(t, w, dir, "before")
	before, lines := usageOf(t, w.Brain.PID()), strings.Count(w.Brain.Log(), "\n")
	var all sync.WaitGroup
	for worker := range 20 {
		all.Go(func() {
			for i := range 50 {
				header := http.Header{"Authorization": {fmt.Sprintf("Bearer bad-%d-%d", worker, i)}}
				dialer := websocket.Dialer{Subprotocols: []string{Subprotocol}, HandshakeTimeout: Patience}
				conn, answer, err := dialer.Dial("ws"+strings.TrimPrefix(w.Brain.URL, "http")+"/brain/acme/ws", header)
				if err == nil {
					closeQuietly(conn)
					t.Error("a bad token is let in")
				} else if answer == nil || answer.StatusCode != http.StatusUnauthorized {
					t.Errorf("a bad token is answered by %v, %v", answer, err)
				}
			}
		})
	}
	served(t, w, dir, "meanwhile")
	all.Wait()
	before.stays(t, w.Brain.Child, 16<<20)
	if more := strings.Count(w.Brain.Log(), "\n") - lines; more > 50 {
		t.Errorf("a thousand bad tokens wrote %d lines into the log", more)
	}
}

func TestHandshakesThatStayHalfOpenAreBoundedAndEnd(t *testing.T) {
	w, dir := shippedWorld(t, map[string]string{"vance.transfer.phase-timeout": "3s"})
	silent := w.Brain.Token(t, w.Tenant, w.Project, "foot", "silent")
	served(t, w, dir, "before")
	before := usageOf(t, w.Brain.PID())
	let, refused := 0, 0
	var conns []*Peer
	for range 200 {
		p, answer, err := TryDialAsFoot(t, w.Brain.URL, w.Tenant, silent)
		switch {
		case err == nil:
			let++
			conns = append(conns, p)
		case answer != nil && answer.StatusCode == http.StatusTooManyRequests:
			refused++
		default:
			t.Errorf("answered by %v, %v", answer, err)
		}
	}
	if let < 1 || refused < 1 {
		t.Errorf("%d connections were let in and %d refused", let, refused)
	}
	// Connections that do not even send a request.
	var raw []net.Conn
	for range 200 {
		c, err := net.Dial("tcp", strings.TrimPrefix(w.Brain.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, c)
		if _, err := c.Write([]byte("GET /brain/acme/ws HTTP/1.1\r\nHost: x\r\n")); err != nil {
			t.Error(err)
		}
	}
	served(t, w, dir, "meanwhile")
	for _, p := range conns {
		if err := p.SetReadDeadline(time.Now().Add(Patience)); err != nil {
			t.Error(err)
		}
		for {
			if _, _, err := p.ReadMessage(); err != nil {
				if code := closeCode(err); code != websocket.ClosePolicyViolation {
					t.Errorf("a silent connection ends with %v", err)
				}
				break
			}
		}
	}
	for _, c := range raw {
		if err := c.SetReadDeadline(time.Now().Add(Patience)); err != nil {
			t.Error(err)
		}
		if _, err := bufio.NewReader(c).ReadString(0); err == nil || os.IsTimeout(err) {
			t.Errorf("a request that does not end is kept: %v", err)
		}
		closeQuietly(c)
	}
	before.stays(t, w.Brain.Child, 16<<20)
	if n := strings.Count(w.Brain.Log(), "too many connections"); n != 1 {
		t.Errorf("the limit was logged %d times, want once", n)
	}
}

func TestFloodsOfAnyFrameCostNothingAndOthersAreServed(t *testing.T) {
	w, dir := shippedWorld(t, nil)
	hostile := w.Brain.Token(t, w.Tenant, w.Project, "foot", "hostile")
	served(t, w, dir, "before")
	before, lines := usageOf(t, w.Brain.PID()), strings.Count(w.Brain.Log(), "\n")
	floods := map[string]func(p *Peer) error{
		"pings": func(p *Peer) error {
			return p.WriteControl(websocket.PingMessage, []byte("flood"), time.Now().Add(Patience))
		},
		"errors": func(p *Peer) error {
			return p.WriteMessage(websocket.TextMessage, []byte(`{"type":"error","code":"internal","message":"flood"}`))
		},
		"unknown frames": func(p *Peer) error {
			return p.WriteMessage(websocket.TextMessage, []byte(`{"type":"transfer_teleport"}`))
		},
		"no JSON": func(p *Peer) error { return p.WriteMessage(websocket.TextMessage, []byte(`{{{`)) },
		"chunks of no transfer": func(p *Peer) error {
			return p.WriteMessage(websocket.TextMessage, []byte(encode(t, chunk(unknownID, 0, "x", false))))
		},
		"offers nobody asked for": func(p *Peer) error {
			return p.WriteMessage(websocket.TextMessage, []byte(encode(t, Message{"type": "transfer_init",
				"transferId": unknownID, "target": "x", "totalSize": 1, "hash": hashOf("x")})))
		},
	}
	for name, send := range floods {
		t.Run(name, func(t *testing.T) {
			p := DialAsFoot(t, w.Brain.URL, w.Tenant, hostile)
			if err := p.SetReadDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			go func() { // the answers are taken
				for {
					if _, _, err := p.ReadMessage(); err != nil {
						return
					}
				}
			}()
			flooded := make(chan int)
			go func() {
				n := 0
				for ; n < 50_000 && send(p) == nil; n++ {
				}
				flooded <- n
			}()
			served(t, w, dir, "during "+name)
			t.Logf("%d sent", <-flooded)
			closeQuietly(p)
			before.stays(t, w.Brain.Child, 24<<20)
		})
	}
	if more := strings.Count(w.Brain.Log(), "\n") - lines; more > 200 {
		t.Errorf("the floods wrote %d lines into the log", more)
	}
}

func TestAReaderThatNeverReadsHoldsNobodyElseAndLittleMemory(t *testing.T) {
	w, dir := shippedWorld(t, map[string]string{"vance.transfer.phase-timeout": "2s", "vance.transfer.ping-interval": "1s"})
	lazy := w.Brain.Token(t, w.Tenant, w.Project, "foot", "lazy")
	WriteFile(t, w.AtBrain(dir, "large"), 64<<20, 0o644, anHourAgo)
	served(t, w, dir, "before")
	before := usageOf(t, w.Brain.PID())
	p := DialAsFoot(t, w.Brain.URL, w.Tenant, lazy)
	var all sync.WaitGroup
	results := make(chan Result, 8)
	for i := range 8 {
		all.Go(func() {
			results <- attempt(Bounded(t), w.Agent, "client_file_download", map[string]any{"foot": "lazy",
				"localPath": fmt.Sprint("f", i), "dirName": dir, "remotePath": "large"})
		})
	}
	for range 8 {
		init := p.AwaitAny("transfer_init")
		p.Send(Message{"type": "transfer_init_response", "transferId": init["transferId"], "ok": true, "error": nil})
	}
	// From here on nothing is read.
	served(t, w, dir, "meanwhile")
	all.Wait()
	close(results)
	for got := range results {
		if got.OK || got.Raw == nil {
			t.Errorf("a call ends with %s", got)
		}
	}
	before.stays(t, w.Brain.Child, 24<<20)
	if left := running(t, w.Agent); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// AwaitAny passes frames by until one of that type comes.
func (p *Peer) AwaitAny(frameType string) Message {
	p.t.Helper()
	for {
		if m := p.Receive(); m.Str("type") == frameType {
			return m
		}
	}
}

func TestABrainThatFloodsAFootCostsItLittle(t *testing.T) {
	fake := NewFakeBrain(t, nil)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("scripted-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	foot := StartFoot(t, FootOptions{Binaries: ShippedBinaries(t), URL: fake.URL, Tenant: "acme", ProjectID: "proj-research", TokenFile: token})
	l := newLine(fake.AwaitFoot(t))
	foot.AwaitEvent(t, "connected")
	l.settle(t)
	before, lines := usageOf(t, foot.PID()), strings.Count(foot.Log(), "\n")
	for _, frame := range []string{`{"type":"error","code":"internal","message":"flood"}`, `{"type":"transfer_teleport"}`, `{{{`,
		encode(t, chunk(unknownID, 0, "x", false))} {
		for range 20_000 {
			l.write(t, websocket.TextMessage, frame)
		}
		l.drain()
	}
	l.settle(t)
	before.stays(t, foot.Child, 24<<20)
	if more := strings.Count(foot.Log(), "\n") - lines; more > 200 {
		t.Errorf("the floods wrote %d lines into the log", more)
	}
}

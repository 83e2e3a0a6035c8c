//go:build unix

package e2etest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vancetope/transfer/internal/tlstest"
)

// What docs/ tells operators to install, tried where the programs are there.

// ofDocs reads a file of docs/ and replaces text of it, all of which has to be
// in it.
func ofDocs(t *testing.T, name string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for i := 0; i+1 < len(replace); i += 2 {
		if !strings.Contains(s, replace[i]) {
			t.Fatalf("docs/%s has no %q", name, replace[i])
		}
		s = strings.ReplaceAll(s, replace[i], replace[i+1])
	}
	return s
}

func installed(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		path, err = exec.LookPath(filepath.Join("/usr/sbin", program))
	}
	if err != nil {
		t.Skipf("%s is not installed here", program)
	}
	return path
}

// freePort is a port that was free a moment ago: proxies cannot pick one and tell.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// daemon runs a proxy in the foreground until the test is over.
func daemon(t *testing.T, dir, path string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}
	log := &logBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = Patience
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // ended by a signal
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(path), log)
		}
	})
}

type proxied struct {
	port, cert, key, dir string
	brain                string // host:port
}

func (p proxied) file(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEverythingWorksBehindTheProxiesOfTheDocuments(t *testing.T) {
	for name, start := range map[string]func(*testing.T, proxied){
		"nginx": func(t *testing.T, p proxied) {
			path := installed(t, "nginx")
			server := ofDocs(t, "reverse-proxy/nginx.conf", "127.0.0.1:9990", p.brain, "listen 443 ssl", "listen 127.0.0.1:"+p.port+" ssl",
				"server_name brain.example", "server_name localhost", "/etc/ssl/brain.pem", p.cert, "/etc/ssl/brain.key", p.key)
			temp := ""
			for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				temp += kind + "_temp_path " + filepath.Join(p.dir, kind) + ";\n"
			}
			config := p.file(t, "nginx.conf", "daemon off;\nmaster_process off;\npid "+p.dir+"/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"+temp+server+"}\n")
			daemon(t, p.dir, path, "-p", p.dir, "-c", config, "-e", "stderr")
		},
		"caddy": func(t *testing.T, p proxied) {
			path := installed(t, "caddy")
			site := ofDocs(t, "reverse-proxy/Caddyfile", "127.0.0.1:9990", p.brain,
				"brain.example {", "https://localhost:"+p.port+" {\n\tbind 127.0.0.1\n\ttls "+p.cert+" "+p.key)
			config := p.file(t, "Caddyfile", "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"+site)
			daemon(t, p.dir, path, "run", "--adapter", "caddyfile", "--config", config)
		},
	} {
		t.Run(name, func(t *testing.T) { behind(t, start) })
	}
}

// behind is a session of everybody with a Brain behind a proxy.
func behind(t *testing.T, start func(*testing.T, proxied)) {
	dir := t.TempDir()
	p := proxied{port: freePort(t), dir: dir}
	p.cert, p.key = tlstest.SelfSigned(t, dir, "brain")
	url := "https://localhost:" + p.port
	brain := StartBrain(t, BrainOptions{Dir: dir, Args: []string{"--public-url", url}})
	p.brain = strings.TrimPrefix(brain.URL, "http://")
	start(t, p)
	awaitHealth(t, url, p.cert)

	link, stderr, code := brain.Run(t, "token", "create", "--data", brain.Data, "--tenant", "acme", "--project", "p", "--role", "foot",
		"--name", "laptop", "--link", "--public-url", url)
	if link = strings.TrimSpace(link); code != 0 || !strings.HasPrefix(link, url+"/login#") {
		t.Fatalf("%d, %q, %s", code, link, stderr)
	}
	foot, home, state := RaceBinaries(t).Foot, filepath.Join(dir, "home"), filepath.Join(dir, "state")
	mkdir(t, home)
	if _, stderr, code := runProgram(t, foot, home, "login", link, "--state", state, "--ca-file", p.cert); code != 0 {
		t.Fatalf("foot login: %d, %s", code, stderr)
	}
	root := filepath.Join(dir, "root")
	child := startChild(t, foot, home, "run", "--json", "--state", state, "--root", root, "--confirm", "writes")
	if _, err := child.AwaitNamed(Bounded(t), "connected"); err != nil {
		t.Fatalf("%v\n%s", err, child.Log())
	}
	agent := brain.Token(t, "acme", "p", "agent", "helper")
	call := func(want int, tool, arguments string) string {
		t.Helper()
		stdout, stderr, code := brain.Run(t, "call", tool, arguments, "--url", url, "--token-file", agent, "--ca-file", p.cert)
		if code != want {
			t.Fatalf("%s: %d, %s, %s", tool, code, stdout, stderr)
		}
		return stdout
	}
	hash := WriteFile(t, filepath.Join(root, "acme", "p", "a"), 12_000_000, 0o600, anHourAgo)
	call(0, "workspace_create_ephemeral_dir", `{"dirName":"d"}`)
	call(0, "client_file_upload", `{"localPath":"a","dirName":"d","remotePath":"a"}`)
	// The person lets the call wait a little.
	over := make(chan string, 1)
	go func() { over <- call(0, "client_file_download", `{"localPath":"b","dirName":"d","remotePath":"a"}`) }()
	event, err := child.AwaitNamed(Bounded(t), "approval")
	if err != nil {
		t.Fatal(err)
	}
	var question struct{ ID string }
	if err := event.Decode(&question); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := runProgram(t, foot, home, "approve", question.ID, "--state", state); code != 0 {
		t.Fatalf("foot approve: %d, %s", code, stderr)
	}
	<-over
	if got := HashFile(t, filepath.Join(root, "acme", "p", "b")); got != hash {
		t.Error("the file came back changed")
	}
	// What is larger than the proxies' defaults allow gets to the Brain, which refuses it itself.
	body := strings.NewReader(`{"code":"` + strings.Repeat("x", 1_500_000) + `"}`)
	response, err := trusting(t, p.cert).Post(url+"/api/v1/login", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), "the body has more than") {
		t.Errorf("%d %.300s, %v", response.StatusCode, text, err)
	}
}

// trusting is a client that trusts one authority.
func trusting(t *testing.T, caFile string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &http.Client{Timeout: Patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
}

func awaitHealth(t *testing.T, url, caFile string) {
	t.Helper()
	client := trusting(t, caFile)
	ctx := Bounded(t)
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the proxy does not answer: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestTheUnitsOfTheDocumentsAreGood(t *testing.T) {
	path := installed(t, "systemd-analyze")
	dir := t.TempDir()
	b := RaceBinaries(t)
	for unit, c := range map[string]struct {
		was, is string
		args    []string
	}{
		"vancetope-brain.service": {"/usr/local/bin/brain", b.Brain, nil},
		"vancetope-foot.service":  {"%h/.local/bin/foot", b.Foot, []string{"--user"}},
	} {
		file := filepath.Join(dir, unit)
		if err := os.WriteFile(file, []byte(ofDocs(t, "systemd/"+unit, c.was, c.is)), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(Bounded(t), path, append(append([]string{"verify", "--man=no"}, c.args...), file)...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		// Other units of this machine may be looked at as well, and be wrong.
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), unit) || err != nil && len(out) == 0 {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}

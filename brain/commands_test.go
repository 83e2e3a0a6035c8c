package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/vancetope/transfer/brain/audit"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/settings"
)

func TestEveryCommandHasExamplesThatParse(t *testing.T) {
	missing, err := commandLine(&grammar{}, console{out: io.Discard, err: io.Discard}).Missing()
	if len(missing) > 0 || err != nil {
		t.Errorf("without an example: %q; wrong: %v", missing, err)
	}
}

func TestConfigTellsEachSettingAndWhereItComesFrom(t *testing.T) {
	home(t)
	file := filepath.Join(t.TempDir(), "brain.yaml")
	if err := os.WriteFile(file, []byte("vance:\n  transfer:\n    chunk-size: 32KiB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	code := execute(t.Context(), []string{"config", "--json", "--config", file, "--listen", "127.0.0.1:1", "--public-url", "https://brain.example/"},
		console{out: &out, err: &log, environ: []string{"VANCE_TRANSFER_MAX_CONCURRENT=7"}})
	var values []settings.Value
	if err := json.Unmarshal(out.Bytes(), &values); err != nil || code != cli.OK {
		t.Fatalf("%d, %s, %s, %v", code, &out, &log, err)
	}
	got := map[string]settings.Value{}
	for _, v := range values {
		got[v.Name] = v
	}
	for name, want := range map[string]settings.Value{
		"vance.transfer.chunk-size":     {Value: "32KiB", Origin: settings.FromFile},
		"vance.transfer.max-concurrent": {Value: "7", Origin: settings.FromEnv},
		"vance.brain.listen":            {Value: "127.0.0.1:1", Origin: settings.FromFlag},
		"vance.brain.public-url":        {Value: "https://brain.example", Origin: settings.FromFlag},
		"vance.transfer.phase-timeout":  {Value: "30s", Origin: settings.FromDefault},
	} {
		want.Name = name
		if got[name] != want {
			t.Errorf("%+v, want %+v", got[name], want)
		}
	}
	for _, s := range settings.Table() {
		if _, ok := got[s.Name]; ok != (s.Program&settings.ForBrain != 0) {
			t.Errorf("%s: listed %v", s.Name, ok)
		}
	}
	code, stdout, _ := run(t, "", "config", "--config", file)
	if code != cli.OK || !strings.HasPrefix(stdout, "SETTING ") || !regexp.MustCompile(`vance\.transfer\.chunk-size +32KiB +file\n`).MatchString(stdout) {
		t.Errorf("%d, %s", code, stdout)
	}
	if code, _, stderr := run(t, "", "config", "--metrics-listen", "nowhere"); code != cli.Usage || !strings.Contains(stderr, "HOST:PORT") {
		t.Errorf("%d, %s", code, stderr)
	}
}

// link makes a one-time link on the server's data.
func (b *brainServer) link(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t, "", append([]string{"token", "create", "--data", b.data, "--link",
		"--tenant", "acme", "--project", "research", "--role", "foot", "--name", "laptop"}, args...)...)
	if code != cli.OK || stderr != "" || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("token create --link: %d, %q, %q", code, stdout, stderr)
	}
	return strings.TrimSpace(stdout)
}

// login posts a body to the login and returns the answer.
func (b *brainServer) login(t *testing.T, body string, header ...string) (int, map[string]string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/api/v1/login", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer map[string]string
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer, response.Header
}

func codeBody(link string) string {
	_, code, _ := strings.Cut(link, "#")
	return `{"code":"` + code + `"}`
}

func TestALinkIsRedeemedOnce(t *testing.T) {
	b := serve(t, "--log-level", "debug")
	link := b.link(t)
	if !strings.HasPrefix(link, b.url+"/login#vl_") {
		t.Errorf("link %s of %s", link, b.url)
	}
	var mu sync.Mutex
	statuses := map[int]int{}
	var token string
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			status, answer, header := b.login(t, codeBody(link))
			mu.Lock()
			defer mu.Unlock()
			if statuses[status]++; status == http.StatusOK {
				token = answer["token"]
				if answer["tenant"] != "acme" || answer["project"] != "research" || answer["name"] != "laptop" || header.Get("Cache-Control") != "no-store" {
					t.Errorf("%v %v", answer, header)
				}
			} else if answer["errorCode"] != "unauthorized" {
				t.Errorf("%v", answer)
			}
		})
	}
	all.Wait()
	if statuses[200] != 1 || statuses[401] != 3 {
		t.Errorf("%v", statuses)
	}
	_, code, _ := strings.Cut(link, "#")
	text, err := os.ReadFile(filepath.Join(b.data, audit.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for name, log := range map[string]string{"log": b.log.String(), "audit log": string(text)} {
		if strings.Contains(log, code) || strings.Contains(log, token) || strings.Contains(log, token[20:]) {
			t.Errorf("the %s has a secret:\n%s", name, log)
		}
	}
	if n := strings.Count(string(text), `"action":"login"`); n != 4 || !strings.Contains(string(text), `"name":"laptop"`) {
		t.Errorf("audit log: %s", text)
	}
}

func TestAWrongLoginIsRefusedAndAttemptsAreLimited(t *testing.T) {
	b := serve(t)
	for _, body := range []string{"", "{}", "[]", `{"code":7}`} {
		if status, answer, _ := b.login(t, body); status != http.StatusBadRequest || answer["errorCode"] != "invalid_request" {
			t.Errorf("%.40s: %d %v", body, status, answer)
		}
	}
	if status, answer, _ := b.login(t, `{"code":"`+strings.Repeat("x", 10000)+`"}`); status != http.StatusRequestEntityTooLarge || answer["errorCode"] != "size_limit" {
		t.Errorf("a long one: %d %v", status, answer)
	}
	limited := 0
	for range 10 {
		status, answer, header := b.login(t, `{"code":"vl_nope"}`)
		switch {
		case status == http.StatusTooManyRequests && answer["errorCode"] == "limit" && header.Get("Retry-After") != "":
			limited++
		case status != http.StatusUnauthorized:
			t.Errorf("%d %v", status, answer)
		}
	}
	if limited < 4 {
		t.Errorf("%d of 10 were too many", limited)
	}
}

func TestALinkIsMadeForTheAddressThatOthersUse(t *testing.T) {
	b := serve(t, "--public-url", "https://brain.example/base/")
	if link := b.link(t, "--public-url", "https://brain.example/base"); !strings.HasPrefix(link, "https://brain.example/base/login#") {
		t.Error(link)
	}
	for host, want := range map[string]int{"brain.example": 401, "BRAIN.example:443": 401, "localhost:1": 401, "evil.example": 403, "brain.example:8": 403} {
		if status, answer, _ := b.login(t, `{"code":"vl_nope"}`, "Host", host); status != want {
			t.Errorf("%s: %d %v", host, status, answer)
		}
	}
	if status, answer, _ := b.login(t, `{"code":"vl_nope"}`, "Origin", "https://evil.example"); status != http.StatusForbidden {
		t.Errorf("another origin: %d %v", status, answer)
	}
	for origin, want := range map[string]int{"https://evil.example": 403, "https://brain.example": 401} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/api/v1/projects/research/feet", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", origin)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != want {
			t.Errorf("reading for a page of %s: %d, %v", origin, answer.StatusCode, err)
		}
	}
	if status, answer, _ := b.login(t, `{"code":"vl_nope"}`, "Origin", "https://brain.example"); status != http.StatusUnauthorized {
		t.Errorf("the own origin: %d %v", status, answer)
	}
	for name, args := range map[string][]string{
		"a link for an agent":         {"--role", "agent", "--link"},
		"a lasting link":              {"--role", "foot", "--link", "--link-ttl", "8d"},
		"a time of a link without":    {"--role", "foot", "--link-ttl", "1m"},
		"an address without a link":   {"--role", "foot", "--public-url", "https://x"},
		"no time":                     {"--role", "foot", "--link", "--link-ttl", "0s"},
		"an address that is none":     {"--role", "foot", "--link", "--public-url", "x"},
		"a place that nobody goes to": {"--role", "foot", "--link", "--data", t.TempDir(), "--config", zeroPort(t)},
	} {
		code, stdout, stderr := run(t, "", append([]string{"token", "create", "--tenant", "a", "--project", "p", "--name", "n", "--data", b.data}, args...)...)
		if code != cli.Usage || stdout != "" || stderr == "" {
			t.Errorf("%s: %d, %q, %q", name, code, stdout, stderr)
		}
	}
}

func zeroPort(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "brain.yaml")
	if err := os.WriteFile(file, []byte("vance.brain.listen: 0.0.0.0:0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestABackupIsADataDirectory(t *testing.T) {
	b := serve(t)
	agent := b.token(t, "agent")
	b.call(t, agent, "workspace_create_ephemeral_dir", `{"dirName":"inbox"}`)
	inbox := filepath.Join(b.data, "workspaces", "acme", "research", "inbox")
	for name, text := range map[string]string{"a.txt": "hello", ".vance-part-1": "half"} {
		if err := os.WriteFile(filepath.Join(inbox, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("/etc/passwd", filepath.Join(inbox, "link")); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "brain.tar")
	if code, stdout, stderr := run(t, "", "backup", "--data", b.data, file); code != cli.OK || !strings.Contains(stdout, "3 files") {
		t.Fatalf("%d, %s, %s", code, stdout, stderr)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if more, err2 := filepath.Glob(filepath.Join(b.data, ".backup*")); len(left) != 1 || len(more) != 0 || err != nil || err2 != nil {
		t.Errorf("left behind: %v %v", left, more)
	}
	b.stop()

	restored := filepath.Join(t.TempDir(), "restored")
	unpack(t, file, restored)
	again := serveOn(t, restored)
	got := again.call(t, agent, "client_list", `{}`)
	if !strings.Contains(got, `"ok":true`) {
		t.Errorf("the token of before: %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(restored, "workspaces", "acme", "research", "inbox", "a.txt")); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	code, _, stderr := run(t, "", "call", "workspace_create_ephemeral_dir", `{"dirName":"inbox"}`, "--url", again.url, "--token-file", agent)
	if code != cli.Failed {
		t.Errorf("the RootDir of before is unknown: %d, %s", code, stderr)
	}
	for name, args := range map[string][]string{
		"a file that is there":     {"backup", "--data", restored, file},
		"a place in what it saves": {"backup", "--data", restored, filepath.Join(restored, "workspaces", "x.tar")},
		"nothing to back up":       {"backup", "--data", filepath.Join(t.TempDir(), "none"), file + "2"},
	} {
		if code, _, stderr := run(t, "", args...); code != cli.Usage || stderr == "" {
			t.Errorf("%s: %d, %s", name, code, stderr)
		}
	}
}

// call calls a tool, which has to succeed, and returns its result.
func (b *brainServer) call(t *testing.T, tokenFile, tool, arguments string) string {
	t.Helper()
	code, stdout, stderr := run(t, "", "call", tool, arguments, "--url", b.url, "--token-file", tokenFile)
	if code != cli.OK {
		t.Fatalf("%s: %d, %s, %s", tool, code, stdout, stderr)
	}
	return stdout
}

// unpack is `tar -x`.
func unpack(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(name, 0o700)
		} else {
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
					err = os.WriteFile(name, text, h.FileInfo().Mode().Perm())
				}
			}
		}
		if err != nil || strings.Contains(h.Name, "vance-part") || h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeReg {
			t.Fatalf("%s: %v", h.Name, err)
		}
	}
}

func TestFeetAndTransfersAreListedForPeopleAndPrograms(t *testing.T) {
	b := serve(t)
	agent := b.token(t, "agent")
	for command, heading := range map[string]string{"feet": "NAME ", "transfers": "TRANSFER "} {
		code, stdout, stderr := run(t, "", command, "--url", b.url, "--token-file", agent)
		if code != cli.OK || !strings.HasPrefix(stdout, heading) {
			t.Errorf("%s: %d, %q, %q", command, code, stdout, stderr)
		}
		if code, stdout, _ := run(t, "", command, "--json", "--url", b.url, "--token-file", agent); code != cli.OK || stdout != "[]\n" {
			t.Errorf("%s --json: %d, %q", command, code, stdout)
		}
		if code, _, _ := run(t, "", command, "--url", b.url, "--token-file", b.token(t, "foot")); code != cli.Refused {
			t.Errorf("%s with a Foot's token: %d", command, code)
		}
		if code, _, _ := run(t, "", command, "--url", "http://127.0.0.1:1", "--token-file", agent); code != cli.Unreachable {
			t.Errorf("%s without a Brain: %d", command, code)
		}
	}
}

func TestFiguresAreServedWhereTheyAreAskedFor(t *testing.T) {
	b := serve(t, "--metrics-listen", "127.0.0.1:0")
	agent := b.token(t, "agent")
	b.call(t, agent, "client_list", `{}`)
	if status, _, _ := b.get(t, "/metrics", ""); status != http.StatusNotFound {
		t.Errorf("the main listener answers %d", status)
	}
	url := regexp.MustCompile(`msg=metrics url=(\S+)`).FindStringSubmatch(b.log.String())
	if url == nil {
		t.Fatal(b.log)
	}
	response, err := http.Get(url[1])
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"vancetope_feet_connected 0\n", `vancetope_tool_calls_total{code="ok",tool="client_list"} 1`, "vancetope_build_info{", "go_goroutines ", "vancetope_transfers_queued 0"} {
		if !bytes.Contains(text, []byte(line)) {
			t.Errorf("no %q in\n%.3000s", line, text)
		}
	}
}

func TestATokenFileThatOthersCanReadIsClosedToThem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such permissions there")
	}
	b := serve(t)
	agent := b.token(t, "agent")
	if err := os.Chmod(agent, 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := run(t, "", "call", "client_list", "{}", "--url", b.url, "--token-file", agent)
	if code != cli.OK || !strings.Contains(stderr, "could be read by others") {
		t.Errorf("%d, %s", code, stderr)
	}
	if info, err := os.Stat(agent); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestADataDirectoryThatIsOpenToOthersIsClosedToThem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such permissions there")
	}
	b := serve(t)
	b.token(t, "agent")
	b.stop()
	open := map[string]os.FileMode{"": 0o755, "state.db": 0o644, "audit.log": 0o640}
	for name, mode := range open {
		if err := os.Chmod(filepath.Join(b.data, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	again := serveOn(t, b.data)
	for name, mode := range open {
		info, err := os.Stat(filepath.Join(b.data, name))
		if err != nil || info.Mode().Perm() != mode&0o700 {
			t.Errorf("%q: %v, %v", name, info.Mode(), err)
		}
	}
	if n := strings.Count(again.log.String(), "was open to others"); n != len(open) {
		t.Errorf("%d warnings: %s", n, again.log)
	}
}

func TestAProjectThatNobodyKnowsIsRefusedAndNotKept(t *testing.T) {
	b := serve(t)
	b.link(t)
	b.token(t, "agent")
	for _, state := range []string{"suspend", "recover", "close"} {
		code, stdout, stderr := run(t, "", "project", state, "--data", b.data, "--tenant", "acme", "--project", "reserch")
		if code != cli.Failed || stdout != "" || !strings.Contains(stderr, "no such project") || strings.Contains(stderr, "deleted") {
			t.Errorf("%s: %d, %q, %q", state, code, stdout, stderr)
		}
		code, stdout, _ = run(t, "", "project", state, "--data", b.data, "--tenant", "a/b", "--project", "x")
		if code != cli.Usage || stdout != "" {
			t.Errorf("%s of no name: %d, %q", state, code, stdout)
		}
	}
	if code, stdout, _ := run(t, "", "project", "list", "--data", b.data); code != cli.OK || stdout != "[]\n" {
		t.Errorf("the list: %d, %s", code, stdout)
	}
	code, stdout, stderr := run(t, "", "project", "suspend", "--data", b.data, "--tenant", "acme", "--project", "research")
	if code != cli.OK || !strings.Contains(stdout, `"suspended"`) || !strings.Contains(stderr, "is deleted") {
		t.Errorf("a project with tokens only: %d, %q, %q", code, stdout, stderr)
	}
}

func TestAFullDiskIsNoMistakeInTheCommandLine(t *testing.T) {
	for code, want := range map[common.ErrorCode]int{common.ErrorCodeDiskFull: cli.Failed, common.ErrorCodeConflict: cli.Failed, common.ErrorCodeInvalidPath: cli.Usage} {
		var exit *cli.Exit
		if err := exitOfProject(fault.New(code)); !errors.As(err, &exit) || exit.Code != want {
			t.Errorf("%s: %v, want %d", code, err, want)
		}
	}
}

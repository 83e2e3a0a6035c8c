package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vancetope/transfer/foot/internal/fakebrain"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/proxytest"
)

const code = "vl-s3cret-code"

// grants answers the first use of the code with a token of a project.
func grants(t *testing.T, project, token string) http.HandlerFunc {
	used := false
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Code string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		if used || asked.Code != code {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"the code is unknown, used or expired","errorCode":"unauthorized"}`)
			return
		}
		used = true
		fmt.Fprintf(w, `{"token":%q,"tenant":"acme","project":%q,"name":"laptop"}`, token, project)
	}
}

// quiet asserts that a program told no secret.
func (p *program) quiet(t *testing.T, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(p.stdout.String()+p.stderr.String(), secret) {
			t.Errorf("%v tells %q:\n%s%s", p.Args[1:], secret, &p.stdout, &p.stderr)
		}
	}
}

func TestAfterALoginFootRunNeedsNothingElse(t *testing.T) {
	b := fakebrain.New(t)
	b.Login(grants(t, "proj", "secret-token"))
	in := command(t, "login", b.URL+"/login#"+code, "--log-level", "debug")
	if exit := in.run(t); exit != cli.OK {
		t.Fatalf("exit code %d; stderr:\n%s", exit, &in.stderr)
	}
	in.quiet(t, code, "secret-token")
	state := filepath.Join(in.home, ".vancetope", "state", "foot", "acme", "proj")
	if want := "logged in as laptop of acme/proj; the token is in " + state + "\nnow start: foot run (one that runs already has to be started again)\n"; in.stdout.String() != want {
		t.Errorf("login says %q, want %q", &in.stdout, want)
	}
	info, err := os.Stat(filepath.Join(state, "login.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v", info, err)
	}
	again := in.mustRun(t, cli.Refused, "login", b.URL+"/login#"+code)
	again.quiet(t, code)
	if !strings.Contains(again.stderr.String(), "ask for a new one") {
		t.Errorf("a used code: %s", &again.stderr)
	}

	run := in.beside(t, "run", "--json", "--log-level", "debug")
	run.begin(t)
	peer := b.Await(t)
	if got := peer.Request.Header.Get("Authorization"); got != "Bearer secret-token" || peer.Request.URL.Path != "/brain/acme/ws" {
		t.Errorf("connected to %s with %q", peer.Request.URL, got)
	}
	interrupt(t, run, syscall.SIGTERM)
	for run.lines.Scan() {
	}
	if exit := run.code(t); exit != cli.OK {
		t.Errorf("exit code %d; stderr:\n%s", exit, &run.stderr)
	}
	run.quiet(t, "secret-token")
}

func TestFlagsWinOverTheLogin(t *testing.T) {
	b, other := fakebrain.New(t), fakebrain.New(t)
	b.Login(grants(t, "proj", "secret-token"))
	in := command(t, "login", b.URL+"/login#"+code)
	if exit := in.run(t); exit != cli.OK {
		t.Fatalf("exit code %d; stderr:\n%s", exit, &in.stderr)
	}
	run := in.beside(t, "run", "--brain", other.URL, "--token-file", file(t, "other-token"))
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if got := other.Await(t).Request.Header.Get("Authorization"); got != "Bearer other-token" {
		t.Errorf("connected with %q", got)
	}
	interrupt(t, run, syscall.SIGTERM)
	if exit := run.code(t); exit != cli.OK {
		t.Errorf("exit code %d; stderr:\n%s", exit, &run.stderr)
	}
	if out := in.mustRun(t, cli.Usage, "run", "--tenant", "stranger"); !strings.Contains(out.stderr.String(), "foot login") {
		t.Errorf("another tenant: %s", &out.stderr)
	}
}

func TestOfSeveralLoginsOneHasToBeNamed(t *testing.T) {
	b := fakebrain.New(t)
	b.Login(grants(t, "proj", "first-token"))
	in := command(t, "login", b.URL+"/login#"+code)
	if exit := in.run(t); exit != cli.OK {
		t.Fatalf("exit code %d; stderr:\n%s", exit, &in.stderr)
	}
	b.Login(grants(t, "other", "second-token"))
	in.mustRun(t, cli.OK, "login", b.URL+"/login#"+code)
	if out := in.mustRun(t, cli.Usage, "run"); !strings.Contains(out.stderr.String(), "acme/other, acme/proj") {
		t.Errorf("run says %s", &out.stderr)
	}
	b.Refuse(http.StatusUnauthorized, common.ErrorCodeUnauthorized, "token revoked")
	out := in.mustRun(t, cli.Refused, "run", "--project", "other")
	if !strings.Contains(out.stderr.String(), "foot login") {
		t.Errorf("the remedy is not told: %s", &out.stderr)
	}
	own := t.TempDir()
	b.Login(grants(t, "third", "third-token"))
	if out := in.mustRun(t, cli.Usage, "run", "--project", "third"); !strings.Contains(out.stderr.String(), "acme/other, acme/proj") {
		t.Errorf("the logins there are are not told: %s", &out.stderr)
	}
	out = in.mustRun(t, cli.OK, "login", b.URL+"/login#"+code, "--state", own)
	if !strings.Contains(out.stdout.String(), "now start: foot run --state "+own+" (") {
		t.Errorf("the command that finds the login is not told: %s", &out.stdout)
	}
	if _, err := os.Stat(filepath.Join(own, "login.json")); err != nil {
		t.Error(err)
	}
	in.mustRun(t, cli.Refused, "run", "--state", own)
}

// The Brain has not looked at the code of an attempt that was one too many.
func TestTooManyAttemptsLeaveTheLinkGoodAndNothingBehind(t *testing.T) {
	b := fakebrain.New(t)
	b.Login(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	in := command(t, "login", b.URL+"/login#"+code)
	if exit := in.run(t); exit != cli.Failed || !strings.Contains(in.stderr.String(), "the link is still good, try it again in 3s") {
		t.Errorf("exit code %d; stderr:\n%s", exit, &in.stderr)
	}
	if left, err := os.ReadDir(in.home); err != nil || len(left) > 0 {
		t.Errorf("%v, %v is left in the home folder", left, err)
	}
}

func TestWhatCanGoWrongWithALoginHasItsExitCode(t *testing.T) {
	b := fakebrain.New(t)
	for name, row := range map[string]struct {
		args []string
		want int
		text string
	}{
		"no link":                     {nil, cli.Usage, "URL#CODE"},
		"no code":                     {[]string{b.URL + "/login"}, cli.Usage, "no code"},
		"clear text":                  {[]string{"http://brain.example/login#" + code}, cli.Usage, "https://"},
		"another scheme":              {[]string{"ssh://brain.example/login#" + code}, cli.Usage, "https://"},
		"a state that cannot be used": {[]string{b.URL + "/login#" + code, "--state", file(t, "")}, cli.Usage, "--state"},
		"no file of authorities":      {[]string{b.URL + "/login#" + code, "--ca-file", "/nowhere/ca.pem"}, cli.Usage, "--ca-file"},
		"nobody there":                {[]string{"http://127.0.0.1:1/login#" + code}, cli.Unreachable, "connection refused"},
		"no Brain":                    {[]string{b.URL + "/login#" + code}, cli.Unreachable, "no Brain answers there"},
	} {
		t.Run(name, func(t *testing.T) {
			p := command(t, append([]string{"login"}, row.args...)...)
			if exit := p.run(t); exit != row.want || !strings.Contains(p.stderr.String(), row.text) || p.stdout.Len() > 0 {
				t.Errorf("exit code %d, want %d; stdout %q, stderr %q", exit, row.want, &p.stdout, &p.stderr)
			}
			p.quiet(t, code)
		})
	}
}

func TestLoginAndRunGoThroughTheProxyOfTheEnvironment(t *testing.T) {
	b := fakebrain.New(t)
	b.Login(grants(t, "proj", "secret-token"))
	proxy := proxytest.Start(t, proxytest.Options{Target: strings.TrimPrefix(b.URL, "http://")})
	const password = "pr0xy-password"
	variable := "http_proxy=http://user:" + password + "@" + proxy.Address
	// net/http sends no CONNECT for clear text, so the login asks this proxy for
	// the whole, which it refuses.
	in := command(t, "login", "http://brain.test/login#"+code, "--allow-insecure")
	in.Env = append(in.Env, variable)
	if exit := in.run(t); exit != cli.Refused {
		t.Errorf("exit code %d; stderr:\n%s", exit, &in.stderr)
	}
	in.quiet(t, code, password)

	args := []string{"run", "--json", "--brain", "http://brain.test", "--tenant", "acme", "--allow-insecure", "--log-level", "debug",
		"--token-file", file(t, "secret-token")}
	run := command(t, args...)
	run.Env = append(run.Env, variable)
	run.begin(t)
	b.Await(t)
	interrupt(t, run, syscall.SIGTERM)
	for run.lines.Scan() {
	}
	if exit := run.code(t); exit != cli.OK {
		t.Errorf("exit code %d; stderr:\n%s", exit, &run.stderr)
	}
	run.quiet(t, password, "secret-token")
	asked := proxy.Asked()
	if last := asked[len(asked)-1]; last.Method != http.MethodConnect || last.RequestURI != "brain.test:80" || last.Header.Get("Authorization") != "" {
		t.Errorf("the proxy was asked %+v", last)
	}

	for name, more := range map[string]string{
		"no_proxy":       "no_proxy=brain.test",
		"a bad variable": "http_proxy=http://user:" + password + "@bad host",
	} {
		t.Run(name, func(t *testing.T) {
			before := len(proxy.Asked())
			p := command(t, append(args, "--once")...)
			p.Env = append(p.Env, variable, more)
			if exit := p.run(t); exit != cli.Unreachable {
				t.Errorf("exit code %d; stderr:\n%s", exit, &p.stderr)
			}
			p.quiet(t, password)
			if len(proxy.Asked()) != before {
				t.Error("the proxy was asked")
			}
		})
	}
}

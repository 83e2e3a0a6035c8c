package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vancetope/transfer/internal/cli"
)

// oneLine checks that a result is one line of JSON and returns it.
func oneLine(t *testing.T, stdout string) map[string]any {
	t.Helper()
	if strings.Count(stdout, "\n") != 1 || !strings.HasSuffix(stdout, "\n") {
		t.Fatalf("%q is not one line", stdout)
	}
	var result map[string]any
	if err := json.Unmarshal([]byte(stdout), &result); err != nil {
		t.Fatalf("%q: %v", stdout, err)
	}
	return result
}

func TestACallPrintsTheToolsResultAsOneLine(t *testing.T) {
	b := serve(t)
	agent := b.token(t, "agent")
	code, stdout, stderr := run(t, "", "call", "client_list", "{}", "--url", b.url, "--token-file", agent)
	if result := oneLine(t, stdout); code != cli.OK || result["ok"] != true || len(result["feet"].([]any)) != 0 {
		t.Errorf("code %d, %v, stderr %q", code, result, stderr)
	}
	// The address may end in a slash, and the arguments may come in by a pipe.
	code, stdout, stderr = run(t, "\n {\"dirName\": \"in-box\"}\n", "call", "workspace_create_ephemeral_dir", "-", "--url", b.url+"/", "--token-file", agent)
	if result := oneLine(t, stdout); code != cli.OK || result["dirName"] != "in-box" {
		t.Errorf("code %d, %v, stderr %q", code, result, stderr)
	}
}

func TestACallTakesAddressAndTokenFromTheEnvironment(t *testing.T) {
	b := serve(t)
	t.Setenv("VANCE_URL", b.url)
	t.Setenv("VANCE_TOKEN_FILE", b.token(t, "agent"))
	if code, stdout, stderr := run(t, "", "call", "client_list", "{}"); code != cli.OK {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestAToolThatFailsExitsWith1AndItsJSON(t *testing.T) {
	b := serve(t)
	agent := b.token(t, "agent")
	for name, c := range map[string]struct{ tool, arguments, code string }{
		"no such dir":         {"client_file_upload", `{"localPath":"a","dirName":"none","remotePath":"a"}`, "dir_not_found"},
		"an unknown argument": {"client_list", `{"verbose":true}`, "invalid_request"},
		"a name that is none": {"workspace_create_ephemeral_dir", `{"dirName":"a/b"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", "call", c.tool, c.arguments, "--url", b.url, "--token-file", agent)
			result := oneLine(t, stdout)
			if code != cli.Failed || result["ok"] != false || result["error"] == "" || c.code != "" && result["errorCode"] != c.code {
				t.Errorf("code %d, %v, stderr %q", code, result, stderr)
			}
		})
	}
}

func TestAnUnknownToolIsAMistakeInTheCommandLine(t *testing.T) {
	b := serve(t)
	code, stdout, stderr := run(t, "", "call", "client_fly", "{}", "--url", b.url, "--token-file", b.token(t, "agent"))
	if code != cli.Usage || stdout != "" || !strings.Contains(stderr, "client_fly") || !strings.Contains(stderr, "client_file_upload, ") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// A Brain that dies while it has a call may have done all of it.
func TestACallThatBreaksOffDoesNotSayThatItFailed(t *testing.T) {
	b := serve(t)
	target, err := neturl.Parse(b.url)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	dies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(`"tools/call"`)) {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	defer dies.Close()
	url := dies.URL
	code, stdout, stderr := run(t, "", "call", "client_list", "{}", "--url", url, "--token-file", b.token(t, "agent"))
	if code != cli.Unreachable || stdout != "" || !strings.Contains(stderr, "whether it succeeded is not known") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestARefusedTokenExitsWith3(t *testing.T) {
	b := serve(t)
	other := serveOn(t, filepath.Join(t.TempDir(), "other"))
	for name, token := range map[string]string{"of a Foot": b.token(t, "foot"), "of another Brain": other.token(t, "agent")} {
		code, stdout, stderr := run(t, "", "call", "client_list", "{}", "--url", b.url, "--token-file", token)
		if code != cli.Refused || stdout != "" || !strings.Contains(stderr, "refused") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, stdout, stderr)
		}
	}
}

func TestABrainThatIsNotThereExitsWith4(t *testing.T) {
	b := serve(t)
	agent := b.token(t, "agent")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	draining := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer draining.Close()
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<p>It works!") // the client judges
	}))
	defer page.Close()
	for name, url := range map[string]string{
		"a web page":     page.URL,
		"nobody listens": "http://" + closed.Addr().String(), "draining": draining.URL, "another server": elsewhere.URL,
	} {
		code, stdout, stderr := run(t, "", "call", "client_list", "{}", "--url", url, "--token-file", agent)
		if code != cli.Unreachable || stdout != "" || !strings.Contains(stderr, "cannot be reached") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, stdout, stderr)
		}
	}
}

func TestHTTPSToAServerWithoutTLSSaysSo(t *testing.T) {
	b := serve(t)
	code, _, stderr := run(t, "", "call", "client_list", "{}", "--url", strings.Replace(b.url, "http:", "https:", 1), "--token-file", b.token(t, "agent"))
	if code != cli.Unreachable || !strings.Contains(stderr, "use http:// in --url") {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
}

func TestATokenIsNotCarriedByARedirect(t *testing.T) {
	b := serve(t)
	agent := b.token(t, "agent")
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("redirected with %q", r.Header.Get("Authorization"))
	}))
	defer target.Close()
	from := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusTemporaryRedirect))
	defer from.Close()
	if code, stdout, _ := run(t, "", "call", "client_list", "{}", "--url", from.URL, "--token-file", agent); code == cli.OK {
		t.Errorf("stdout %q", stdout)
	}
}

// silent is a server that takes calls and never answers them; each one is told
// to called.
func silent(t *testing.T, called chan<- struct{}) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		// Only once the body is read does the server notice that a client left.
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		called <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return s
}

func TestATimeoutEndsACallWithAFailedResult(t *testing.T) {
	b := serve(t)
	code, stdout, _ := run(t, "", "call", "client_list", "{}", "--url", silent(t, make(chan struct{}, 8)).URL, "--token-file", b.token(t, "agent"), "--timeout", "50ms")
	if result := oneLine(t, stdout); code != cli.Failed || result["ok"] != false || result["errorCode"] != "cancelled" {
		t.Errorf("code %d, %v", code, result)
	}
}

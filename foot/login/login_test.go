package login

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const code = "vl_s3cret-code"

func TestALinkIsReadAndNeverTold(t *testing.T) {
	for text, brain := range map[string]string{
		"https://brain.example/login#" + code:         "https://brain.example",
		"https://brain.example:8443/login/#" + code:   "https://brain.example:8443",
		"https://brain.example/vance/login#" + code:   "https://brain.example/vance",
		" https://brain.example/login#" + code + "\n": "https://brain.example",
		"http://127.0.0.1:9990/login#" + code:         "http://127.0.0.1:9990",
		"http://localhost/login#" + code:              "http://localhost",
		"https://brain.example#" + code:               "https://brain.example",
	} {
		l, err := ParseLink(text, false)
		if err != nil || l.Brain() != brain || l.code != code {
			t.Errorf("%q: %q, %v", text, l.Brain(), err)
		}
		if told := fmt.Sprintf("%v %+v %#v %s", l, l, l, l); strings.Contains(told, code) {
			t.Errorf("the code is told: %s", told)
		}
	}
	if _, err := ParseLink("http://brain.example/login#"+code, true); err != nil {
		t.Errorf("--allow-insecure: %v", err)
	}
	for text, why := range map[string]string{
		"http://brain.example/login#" + code:                      "https://",
		"https://brain.example/login":                             "no code",
		"https://brain.example/login#":                            "no code",
		code:                                                      "https://",
		"#" + code:                                                "https://",
		"ftp://brain.example/login#" + code:                       "https://",
		"https://u:p@brain.example/login#" + code:                 "user",
		"https://brain.example/login?x=1#" + code:                 "query",
		"https://brain.example/login#" + code + " x":              "malformed",
		"https://brain.example/login#" + code + "\x01":            "malformed",
		"https://brain.example/%zz#" + code:                       "malformed",
		"https://brain.example/login#" + strings.Repeat(code, 99): "malformed",
	} {
		l, err := ParseLink(text, false)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v", text, l, err)
		}
		if err != nil && strings.Contains(err.Error(), code) {
			t.Errorf("the code is told: %v", err)
		}
	}
}

// brain answers a login.
func brain(t *testing.T, status int, body string, header ...string) (Link, *[]string) {
	t.Helper()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked = append(asked, r.Method+" "+r.URL.Path+" "+string(b))
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		if _, err := io.WriteString(w, body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	l, err := ParseLink(server.URL+"/prefix/login#"+code, false)
	if err != nil {
		t.Fatal(err)
	}
	return l, &asked
}

func TestACodeIsGivenOnceAndBecomesALogin(t *testing.T) {
	l, asked := brain(t, 200, `{"token":"vt_t","tenant":"acme","project":"research","name":"laptop","later":1}`)
	got, err := Redeem(t.Context(), l, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Login{Brain: l.Brain(), Tenant: "acme", ProjectID: "research", FootID: "laptop", Token: "vt_t"}); got != want {
		t.Errorf("%+v", got)
	}
	if len(*asked) != 1 || (*asked)[0] != `POST /prefix/api/v1/login {"code":"`+code+`"}` {
		t.Errorf("asked %q", *asked)
	}
}

func TestEveryOtherAnswerIsAClearError(t *testing.T) {
	for name, row := range map[string]struct {
		status  int
		body    string
		refused bool
		text    string
	}{
		"used or expired":      {401, `{"error":"missing, unknown, revoked or expired token","errorCode":"unauthorized"}`, true, "ask for a new one"},
		"a bare 401":           {401, ``, true, "unknown, used or expired"},
		"hostile words":        {401, `{"error":"\u001b[2Jhello"}`, true, `\x1b[2Jhello`},
		"draining":             {503, `{"error":"draining","errorCode":"draining"}`, false, "draining"},
		"no Brain":             {404, `<html>`, false, "no Brain answers there (HTTP 404)"},
		"sent elsewhere":       {307, ``, false, "sends elsewhere"},
		"no JSON":              {200, `<html>`, false, "no Brain"},
		"no token":             {200, `{"tenant":"acme","project":"p","name":"n"}`, false, "lacks the token"},
		"a tenant that climbs": {200, `{"token":"t","tenant":"..","project":"p","name":"n"}`, false, "tenant"},
	} {
		t.Run(name, func(t *testing.T) {
			l, asked := brain(t, row.status, row.body, "Location", "/elsewhere")
			_, err := Redeem(t.Context(), l, nil)
			var refused *RefusedError
			if errors.As(err, &refused) != row.refused || errors.Is(err, ErrUnreachable) == row.refused {
				t.Errorf("the error is %#v", err)
			}
			if err == nil || !strings.Contains(err.Error(), row.text) || strings.Contains(err.Error(), code) || strings.ContainsRune(err.Error(), 0x1b) {
				t.Errorf("the text is %q, want %q", err, row.text)
			}
			if len(*asked) != 1 {
				t.Errorf("asked %q", *asked)
			}
		})
	}
}

func TestNoAnswerIsUnreachable(t *testing.T) {
	l, err := ParseLink("http://127.0.0.1:1/login#"+code, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Redeem(t.Context(), l, nil); !errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), code) {
		t.Errorf("%v", err)
	}
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	if l, err = ParseLink(server.URL+"/login#"+code, false); err != nil {
		t.Fatal(err)
	}
	var unknown x509.UnknownAuthorityError
	if _, err := Redeem(t.Context(), l, &tls.Config{RootCAs: x509.NewCertPool()}); !errors.Is(err, ErrUnreachable) || !errors.As(err, &unknown) {
		t.Errorf("an authority of its own: %v", err)
	}
}

func TestALoginIsKeptForTheOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "acme", "research")
	if _, err := Load(dir); !errors.Is(err, ErrNone) || Kept(dir) {
		t.Errorf("before: %v", err)
	}
	want := Login{Brain: "https://b", Tenant: "acme", ProjectID: "research", FootID: "laptop", Token: "vt_1"}
	for _, token := range []string{"vt_1", "vt_2"} { // the second replaces the first
		want.Token = token
		if err := Keep(dir, want); err != nil {
			t.Fatal(err)
		}
		if got, err := Load(dir); err != nil || got != want || !Kept(dir) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(filepath.Join(dir, fileName), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, fileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a login that others could read is still so: %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("beside the login: %v, %v", left, err)
	}
	folder, err := os.Stat(dir)
	if err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("the folder's mode: %v, %v", folder.Mode(), err)
	}
}

func TestADamagedLoginIsToldWithoutItsToken(t *testing.T) {
	good, err := json.Marshal(Login{Brain: "https://b", Tenant: "acme", ProjectID: "p", Token: "vt_secret"})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"cut":        good[:len(good)-2],
		"no names":   bytes.Replace(good, []byte("acme"), nil, 1),
		"it climbs":  bytes.Replace(good, []byte("acme"), []byte("a/.."), 1),
		"no address": bytes.Replace(good, []byte("https://b"), nil, 1),
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "foot login") || strings.Contains(err.Error(), "vt_secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

var laptop = Grant{Tenant: "acme", Project: "research", Role: RoleFoot, Name: "laptop", Access: common.AccessEdit}

type world struct {
	*Tokens
	store *state.SQLite
	dir   string
	clock time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), clock: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	var err error
	if w.store, err = state.OpenSQLite(t.Context(), w.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Tokens = NewTokens(w.store, nil)
	w.now = func() time.Time { return w.clock }
	return w
}

func (w *world) create(t *testing.T, g Grant) string {
	t.Helper()
	token, err := w.Create(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (w *world) record(t *testing.T, token string) record {
	t.Helper()
	id, ok := idOf(token)
	if !ok {
		t.Fatalf("%q has no id", token)
	}
	e, err := w.store.Get(t.Context(), key(id))
	if err != nil {
		t.Fatal(err)
	}
	var r record
	if err := json.Unmarshal(e.Value, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestATokenSaysWhoItsHolderIs(t *testing.T) {
	w := newWorld(t)
	token := w.create(t, laptop)
	p, err := w.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := idOf(token)
	if diff := cmp.Diff(Principal{Grant: laptop, TokenID: id}, p); diff != "" {
		t.Error(diff)
	}
}

func TestTokensDiffer(t *testing.T) {
	w := newWorld(t)
	one, two := w.create(t, laptop), w.create(t, laptop)
	if one == two || !strings.HasPrefix(one, "vt_") || strings.ContainsAny(one, " \n/+=") {
		t.Errorf("%q and %q", one, two)
	}
}

func TestTheTokenItselfIsNowhereInTheDataDirectory(t *testing.T) {
	w := newWorld(t)
	token := w.create(t, laptop)
	if _, err := w.Authenticate(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	secret := token[len(token)-secretLength:]
	files, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%s holds the secret, or %v", f, err)
		}
	}
}

func TestWhatIsNotExactlyTheTokenIsRefused(t *testing.T) {
	w := newWorld(t)
	token, other := w.create(t, laptop), w.create(t, laptop)
	flipped := token[:len(token)-1] + "a"
	if flipped == token {
		flipped = token[:len(token)-1] + "q"
	}
	for _, bad := range []string{
		"", "vt_", token[:len(token)-1], token + "a", " " + token, strings.ToUpper(token), flipped,
		token[3:], "vt_" + strings.Repeat("a", idLength) + token[3+idLength:],
		other[:3+idLength] + token[3+idLength:], // one's id, the other's secret
		"vt_" + strings.Repeat("\x00", idLength) + token[3+idLength:],
		"vt_../../../../../x" + token[19:],
	} {
		if p, err := w.Authenticate(t.Context(), bad); fault.CodeOf(err) != common.ErrorCodeUnauthorized {
			t.Errorf("%q: %+v, %v", bad, p, err)
		}
	}
}

func TestATokenIsGoodUntilItExpires(t *testing.T) {
	w := newWorld(t)
	g := laptop
	g.ExpiresAt = w.clock.Add(time.Hour)
	token := w.create(t, g)
	w.clock = g.ExpiresAt.Add(-1)
	if p, err := w.Authenticate(t.Context(), token); err != nil || !p.ExpiresAt.Equal(g.ExpiresAt) {
		t.Errorf("just before: %+v, %v", p, err)
	}
	w.clock = g.ExpiresAt
	if _, err := w.Authenticate(t.Context(), token); fault.CodeOf(err) != common.ErrorCodeUnauthorized {
		t.Errorf("at its end: %v", err)
	}
}

func TestTheLastUseIsNotedToTheMinute(t *testing.T) {
	w := newWorld(t)
	token := w.create(t, laptop)
	if r := w.record(t, token); r.LastUsedAt != nil || !r.CreatedAt.Equal(w.clock) {
		t.Errorf("before the first use: %+v", r)
	}
	first := w.clock
	for _, c := range []struct {
		after time.Duration
		want  time.Time
	}{
		{0, first},
		{59 * time.Second, first},
		{60 * time.Second, first.Add(time.Minute)},
	} {
		w.clock = first.Add(c.after)
		if _, err := w.Authenticate(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		if r := w.record(t, token); r.LastUsedAt == nil || !r.LastUsedAt.Equal(c.want) {
			t.Errorf("after %v: %v, want %v", c.after, r.LastUsedAt, c.want)
		}
	}
}

func TestNotingAUseBringsNoRemovedTokenBack(t *testing.T) {
	w := newWorld(t)
	token := w.create(t, laptop)
	id, _ := idOf(token)
	e, err := w.store.Get(t.Context(), key(id))
	if err != nil {
		t.Fatal(err)
	}
	r := w.record(t, token)
	if err := w.store.Delete(t.Context(), key(id)); err != nil {
		t.Fatal(err)
	}
	w.noteUse(t.Context(), id, e.Revision, r)
	if _, err := w.Authenticate(t.Context(), token); fault.CodeOf(err) != common.ErrorCodeUnauthorized {
		t.Errorf("got %v", err)
	}
}

func TestNamesThatAreNoPathSegmentAreRefused(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(*Grant){
		"empty tenant":      func(g *Grant) { g.Tenant = "" },
		"tenant with slash": func(g *Grant) { g.Tenant = "a/b" },
		"dots as project":   func(g *Grant) { g.Project = ".." },
		"long project":      func(g *Grant) { g.Project = strings.Repeat("p", 65) },
		"newline in name":   func(g *Grant) { g.Name = "a\nb" },
		"empty name":        func(g *Grant) { g.Name = "" },
		"unknown role":      func(g *Grant) { g.Role = "root" },
	} {
		g := laptop
		change(&g)
		if token, err := w.Create(t.Context(), g); err == nil {
			t.Errorf("%s: got %s", name, token)
		}
	}
}

func TestAStoreThatFailsIsNoBadToken(t *testing.T) {
	w := newWorld(t)
	token := w.create(t, laptop)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Authenticate(gone, token); !errors.Is(err, context.Canceled) || fault.CodeOf(err) != common.ErrorCodeInternal {
		t.Errorf("got %v", err)
	}
}

func TestRequestsAreLetThroughByRole(t *testing.T) {
	w := newWorld(t)
	user := laptop
	user.Role = RoleUser
	userToken, footToken := w.create(t, user), w.create(t, laptop)
	served := w.Require(RoleUser, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p, ok := From(r.Context())
		if !ok || p.Role != RoleUser || p.Project != "research" {
			t.Errorf("sender %+v, %v", p, ok)
		}
		rw.WriteHeader(http.StatusNoContent)
	}))
	for name, c := range map[string]struct {
		header []string
		status int
		code   common.ErrorCode
	}{
		"right token":        {[]string{"Bearer " + userToken}, http.StatusNoContent, ""},
		"scheme in any case": {[]string{"bEARER " + userToken}, http.StatusNoContent, ""},
		"no token":           {nil, http.StatusUnauthorized, common.ErrorCodeUnauthorized},
		"another scheme":     {[]string{"Basic " + userToken}, http.StatusUnauthorized, common.ErrorCodeUnauthorized},
		"no scheme":          {[]string{userToken}, http.StatusUnauthorized, common.ErrorCodeUnauthorized},
		"two tokens":         {[]string{"Bearer " + userToken, "Bearer " + userToken}, http.StatusUnauthorized, common.ErrorCodeUnauthorized},
		"unknown token":      {[]string{"Bearer " + userToken + "x"}, http.StatusUnauthorized, common.ErrorCodeUnauthorized},
		"another role":       {[]string{"Bearer " + footToken}, http.StatusForbidden, common.ErrorCodeAccessDenied},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			for _, h := range c.header {
				r.Header.Add("Authorization", h)
			}
			rw := httptest.NewRecorder()
			served.ServeHTTP(rw, r)
			if rw.Code != c.status {
				t.Fatalf("status %d, want %d: %s", rw.Code, c.status, rw.Body)
			}
			if challenge := rw.Header().Get("WWW-Authenticate"); (challenge == "Bearer") != (c.status == http.StatusUnauthorized) {
				t.Errorf("challenge %q", challenge)
			}
			var body struct{ Error, ErrorCode string }
			if c.code != "" {
				if err := json.Unmarshal(rw.Body.Bytes(), &body); err != nil || body.Error == "" || body.ErrorCode != string(c.code) {
					t.Errorf("body %s, %v", rw.Body, err)
				}
			}
		})
	}
}

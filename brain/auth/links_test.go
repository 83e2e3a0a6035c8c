package auth

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

func (w *world) link(t *testing.T, tokenTTL, linkTTL time.Duration) string {
	t.Helper()
	code, err := w.CreateLink(t.Context(), laptop, tokenTTL, linkTTL)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestACodeIsGoodForOneToken(t *testing.T) {
	w := newWorld(t)
	code := w.link(t, 0, time.Hour)
	token, p, err := w.Redeem(t.Context(), code)
	if err != nil || p.Name != "laptop" || p.Tenant != "acme" || p.Project != "research" {
		t.Fatalf("%+v, %v", p, err)
	}
	if again, err := w.Authenticate(t.Context(), token); err != nil || again.TokenID != p.TokenID || again.Role != RoleFoot {
		t.Errorf("%+v, %v", again, err)
	}
	if _, _, err := w.Redeem(t.Context(), code); fault.CodeOf(err) != common.ErrorCodeUnauthorized {
		t.Errorf("a second time: %v", err)
	}
	if _, err := w.Authenticate(t.Context(), code); fault.CodeOf(err) != common.ErrorCodeUnauthorized {
		t.Errorf("the code as a token: %v", err)
	}
}

func TestACodeEnds(t *testing.T) {
	w := newWorld(t)
	code := w.link(t, 0, 10*time.Minute)
	w.clock = w.clock.Add(10 * time.Minute)
	if _, _, err := w.Redeem(t.Context(), code); fault.CodeOf(err) != common.ErrorCodeUnauthorized {
		t.Error(err)
	}
}

func TestTheTokensTimeBeginsWithTheRedemption(t *testing.T) {
	w := newWorld(t)
	code := w.link(t, time.Hour, 30*time.Minute)
	w.clock = w.clock.Add(20 * time.Minute)
	token, p, err := w.Redeem(t.Context(), code)
	if err != nil || !p.ExpiresAt.Equal(w.clock.Add(time.Hour)) {
		t.Fatalf("%v, %v", p.ExpiresAt, err)
	}
	w.clock = w.clock.Add(59 * time.Minute)
	if _, err := w.Authenticate(t.Context(), token); err != nil {
		t.Error(err)
	}
	w.clock = w.clock.Add(time.Minute)
	if _, err := w.Authenticate(t.Context(), token); err == nil {
		t.Error("it is good for ever")
	}
}

func TestOtherCodesAreRefusedAlike(t *testing.T) {
	w := newWorld(t)
	code := w.link(t, 0, time.Hour)
	last := "a"
	if strings.HasSuffix(code, last) {
		last = "b"
	}
	for _, other := range []string{"", "vl_", "x", code[:len(code)-1] + last, code + "a", "vt_" + code[3:], strings.ToUpper(code), w.create(t, laptop),
		codePrefix + strings.Repeat("a", len(code)-3)} {
		if _, _, err := w.Redeem(t.Context(), other); fault.CodeOf(err) != common.ErrorCodeUnauthorized {
			t.Errorf("%q: %v", other, err)
		}
	}
	if _, _, err := w.Redeem(t.Context(), code); err != nil {
		t.Errorf("the code itself afterwards: %v", err)
	}
}

func TestOfManyWhoComeAtOnceOneGetsTheToken(t *testing.T) {
	w := newWorld(t)
	code := w.link(t, 0, time.Hour)
	var mu sync.Mutex
	won := 0
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			_, _, err := w.Redeem(t.Context(), code)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case fault.CodeOf(err) != common.ErrorCodeUnauthorized:
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, err := w.List(t.Context())
	if won != 1 || len(list) != 1 || err != nil {
		t.Errorf("%d got one, %d tokens, %v", won, len(list), err)
	}
}

func TestACodeIsStoredAsAHashOnly(t *testing.T) {
	w := newWorld(t)
	code := w.link(t, 0, time.Hour)
	secret := []byte(code[len(code)-secretLength:])
	files, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil || bytes.Contains(text, secret) {
			t.Errorf("%s holds the code (%v)", name, err)
		}
	}
}

func TestALinkIsForAFootAndForAShortTime(t *testing.T) {
	w := newWorld(t)
	agent := laptop
	agent.Role = RoleAgent
	for name, create := range map[string]func() (string, error){
		"an agent":   func() (string, error) { return w.CreateLink(t.Context(), agent, 0, time.Hour) },
		"no time":    func() (string, error) { return w.CreateLink(t.Context(), laptop, 0, 0) },
		"too long":   func() (string, error) { return w.CreateLink(t.Context(), laptop, 0, MaxLinkTTL+1) },
		"a bad name": func() (string, error) { return w.CreateLink(t.Context(), Grant{Role: RoleFoot}, 0, time.Hour) },
	} {
		if code, err := create(); err == nil || code != "" || fault.CodeOf(err) == common.ErrorCodeInternal {
			t.Errorf("%s: %v", name, err)
		}
	}
}

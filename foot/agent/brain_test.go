package agent

import (
	"strings"
	"testing"
)

func TestEveryFormOfABrainsURLLeadsToTheTenantsSocket(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1:9990":       "ws://127.0.0.1:9990/brain/acme/ws",
		"ws://127.0.0.1:9990/":        "ws://127.0.0.1:9990/brain/acme/ws",
		"http://localhost:1":          "ws://localhost:1/brain/acme/ws",
		"ws://[::1]:9990":             "ws://[::1]:9990/brain/acme/ws",
		"http://127.8.9.10":           "ws://127.8.9.10/brain/acme/ws",
		"https://brain.example":       "wss://brain.example/brain/acme/ws",
		"wss://brain.example:8443":    "wss://brain.example:8443/brain/acme/ws",
		"https://example.org/a/base/": "wss://example.org/a/base/brain/acme/ws",
		"HTTPS://brain.example":       "wss://brain.example/brain/acme/ws",
	} {
		got, err := ParseBrain(in, "acme")
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got.String() != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestAWrongBrainURLIsRefusedWithTheReason(t *testing.T) {
	for _, row := range []struct{ name, url, tenant, reason string }{
		{"clear text off loopback", "http://brain.example", "acme", "use wss://"},
		{"clear text to a private address", "ws://192.168.0.4:9990", "acme", "use wss://"},
		{"a name that only looks like loopback", "ws://127.0.0.1.example", "acme", "use wss://"},
		{"a name below localhost", "ws://a.localhost", "acme", "use wss://"},
		{"no scheme", "127.0.0.1:9990", "acme", "URL"},
		{"another scheme", "ftp://127.0.0.1", "acme", "must begin with"},
		{"no host", "ws:///x", "acme", "no host"},
		{"a password", "wss://u:secret@brain.example", "acme", "password"},
		{"a query", "wss://brain.example?x=1", "acme", "must end with"},
		{"a tenant with a slash", "wss://brain.example", "a/b", "tenant"},
		{"a tenant that climbs", "wss://brain.example", "..", "tenant"},
		{"an empty tenant", "wss://brain.example", "", "tenant"},
		{"a tenant that is too long", "wss://brain.example", strings.Repeat("a", 65), "tenant"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := ParseBrain(row.url, row.tenant)
			if err == nil || !strings.Contains(err.Error(), row.reason) {
				t.Fatalf("error %v, want one about %q", err, row.reason)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

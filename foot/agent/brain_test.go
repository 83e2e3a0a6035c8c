package agent

import (
	"strings"
	"testing"
)

func TestClearTextStaysOnThisMachine(t *testing.T) {
	for _, address := range []string{
		"http://127.0.0.1:9990", "ws://127.0.0.1:9990/", "http://localhost:1", "ws://[::1]:9990", "http://127.8.9.10",
		"https://brain.example", "wss://brain.example:8443", "https://example.org/a/base/", "wss://192.168.0.4",
	} {
		if err := CheckBrain(address, "acme", false); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{
		"http://brain.example", "ws://192.168.0.4:9990", "ws://127.0.0.1.example", "http://[fd00::1]", "ws://0.0.0.0:1",
	} {
		err := CheckBrain(address, "acme", false)
		if err == nil || !strings.Contains(err.Error(), "use wss://") {
			t.Errorf("%s: %v, want a refusal with the remedy", address, err)
		}
		if err := CheckBrain(address, "acme", true); err != nil {
			t.Errorf("%s: refused although the user allows it: %v", address, err)
		}
	}
}

func TestAWrongAddressIsRefusedWithTheReason(t *testing.T) {
	for _, row := range []struct{ name, address, tenant, reason string }{
		{"no scheme", "127.0.0.1:9990", "acme", "URL"},
		{"another scheme", "ftp://127.0.0.1", "acme", "begin with"},
		{"no host", "ws:///x", "acme", "no host"},
		{"a password", "wss://u:secret@brain.example", "acme", "user"},
		{"a query", "wss://brain.example?x=1", "acme", "query"},
		{"a tenant with a slash", "wss://brain.example", "a/b", "tenant"},
		{"a tenant that climbs", "wss://brain.example", "..", "tenant"},
		{"an empty tenant", "wss://brain.example", "", "tenant"},
		{"a tenant that is too long", "wss://brain.example", strings.Repeat("a", 65), "tenant"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := CheckBrain(row.address, row.tenant, true)
			if err == nil || !strings.Contains(err.Error(), row.reason) {
				t.Fatalf("error %v, want one about %q", err, row.reason)
			}
		})
	}
}

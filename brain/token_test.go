package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vancetope/transfer/brain/hub/hubtest"
	"github.com/vancetope/transfer/internal/cli"
)

// listed is a token as token list --json prints it.
type listed struct {
	ID, Tenant, Project, Role, Name, Access string
	CreatedAt                               time.Time
	ExpiresAt, LastUsedAt                   *time.Time
}

func listTokens(t *testing.T, data string) []listed {
	t.Helper()
	code, stdout, stderr := run(t, "", "token", "list", "--json", "--data", data)
	var list []listed
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != cli.OK || stderr != "" || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("token list: %d, %q, %q, %v", code, stdout, stderr, err)
	}
	return list
}

// createToken makes a token and returns it with its id.
func createToken(t *testing.T, data, role string, more ...string) (token, id string) {
	t.Helper()
	code, stdout, stderr := run(t, "", append([]string{"token", "create", "--data", data,
		"--tenant", "acme", "--project", "research", "--role", role, "--name", role}, more...)...)
	if code != cli.OK {
		t.Fatalf("token create: %d, %q", code, stderr)
	}
	token = strings.TrimSpace(stdout)
	return token, strings.Split(token, "_")[1]
}

func TestTheListTellsEveryTokenAndNoSecret(t *testing.T) {
	home(t)
	data := filepath.Join(t.TempDir(), "data")
	before := time.Now()
	token, id := createToken(t, data, "agent", "--ttl", "90d", "--access", "read")
	_, footID := createToken(t, data, "foot")
	list := listTokens(t, data)
	if len(list) != 2 || list[0].ID != id || list[1].ID != footID {
		t.Fatalf("%+v", list)
	}
	agent, foot := list[0], list[1]
	if agent.Tenant != "acme" || agent.Project != "research" || agent.Role != "agent" || agent.Name != "agent" || agent.Access != "read" ||
		agent.LastUsedAt != nil || agent.ExpiresAt.Sub(before).Round(time.Hour) != 90*24*time.Hour {
		t.Errorf("%+v", agent)
	}
	if foot.Access != "edit" || foot.ExpiresAt != nil || foot.CreatedAt.Before(before.Add(-time.Second)) {
		t.Errorf("%+v", foot)
	}
	code, stdout, _ := run(t, "", "token", "list", "--data", data)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != cli.OK || len(lines) != 3 || !strings.HasPrefix(lines[0], "ID ") || !strings.HasPrefix(lines[1], id) || !strings.Contains(lines[2], "never") {
		t.Errorf("%d\n%s", code, stdout)
	}
	if secret := strings.Split(token, "_")[2]; strings.Contains(stdout, secret) {
		t.Error("the secret is in the list")
	}
}

// deaf takes nothing that is written.
type deaf struct{}

func (deaf) Write([]byte) (int, error) { return 0, errors.New("nobody listens") }

func TestATokenThatCouldNotBePrintedIsTakenBack(t *testing.T) {
	home(t)
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"token", "create", "--data", data, "--tenant", "acme", "--project", "research", "--role", "foot", "--name", "x"}
	for _, more := range [][]string{nil, {"--link", "--public-url", "https://brain.example"}} {
		var stderr strings.Builder
		code := execute(t.Context(), append(args, more...), console{in: strings.NewReader(""), out: deaf{}, err: &stderr})
		if code != cli.Failed || strings.Contains(stderr.String(), "taken back") {
			t.Errorf("%v: %d, %q", more, code, &stderr)
		}
	}
	if list := listTokens(t, data); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	store, err := openState(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	left, err := store.List(t.Context(), "link/")
	if err := errors.Join(err, store.Close()); err != nil || len(left) != 0 {
		t.Errorf("%d links, %v", len(left), err)
	}
}

func TestADurationThatIsTooLongSaysHowLongItMayBe(t *testing.T) {
	home(t)
	for _, ttl := range []string{"99999999d", "99999999999999d", "106751d24h"} {
		code, _, stderr := run(t, "", "token", "create", "--data", t.TempDir(), "--tenant", "acme", "--project", "p",
			"--role", "foot", "--name", "x", "--ttl", ttl)
		if code != cli.Usage || !strings.Contains(stderr, "too long: at most 106751d") {
			t.Errorf("%s: %d, %q", ttl, code, stderr)
		}
	}
}

func TestRevokingAnUnknownTokenFails(t *testing.T) {
	home(t)
	data := filepath.Join(t.TempDir(), "data")
	token, id := createToken(t, data, "agent")
	for _, wrong := range []string{"none", token, strings.ToUpper(id), ""} {
		code, stdout, stderr := run(t, "", "token", "revoke", wrong, "--data", data)
		if code != cli.Failed || stdout != "" || !strings.Contains(stderr, "no token with this id") {
			t.Errorf("%q: %d, %q, %q", wrong, code, stdout, stderr)
		}
	}
	if code, stdout, stderr := run(t, "", "token", "revoke", id, "--data", data); code != cli.OK || stdout != "" || stderr != "" {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
	if list := listTokens(t, data); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// within fails the test when something took longer than a second.
func within(t *testing.T, since time.Time) {
	t.Helper()
	if took := time.Since(since); took > time.Second+lateness {
		t.Errorf("it took %v", took)
	}
}

// lateness is what a machine that does much else adds to a second.
const lateness = 2 * time.Second

func TestARevokedTokenIsRefusedAndItsFootClosedWithinASecond(t *testing.T) {
	b := serve(t)
	token, id := createToken(t, b.data, "foot")
	f := hubtest.Dial(t, b.url, "acme", token)
	revoked := time.Now()
	if code, _, stderr := run(t, "", "token", "revoke", id, "--data", b.data); code != cli.OK {
		t.Fatal(stderr)
	}
	if code, reason := f.Closed(); code != 1008 || reason != "token revoked" {
		t.Errorf("closed with %d %q", code, reason)
	}
	within(t, revoked)
	if _, answer, err := hubtest.Request(b.url, "acme", token, "vancetope.v1"); err == nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the token is still good: %v", err)
	}
}

func TestAnExpiredTokenIsRefusedAndItsFootClosedWithinASecond(t *testing.T) {
	b := serve(t)
	made := time.Now()
	token, _ := createToken(t, b.data, "foot", "--ttl", "3s")
	f := hubtest.Dial(t, b.url, "acme", token)
	if code, reason := f.Closed(); code != 1008 || reason != "token expired" {
		t.Errorf("closed with %d %q", code, reason)
	}
	if took := time.Since(made); took < 3*time.Second {
		t.Errorf("it came after %v already", took)
	}
	within(t, made.Add(3*time.Second))
	if _, answer, err := hubtest.Request(b.url, "acme", token, "vancetope.v1"); err == nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the token is still good: %v", err)
	}
}

func TestACallWithARevokedTokenExitsWith3(t *testing.T) {
	b := serve(t)
	token, id := createToken(t, b.data, "agent")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	call := []string{"call", "client_list", "{}", "--url", b.url, "--token-file", file}
	if code, _, stderr := run(t, "", call...); code != cli.OK {
		t.Fatal(stderr)
	}
	if code, _, stderr := run(t, "", "token", "revoke", id, "--data", b.data); code != cli.OK {
		t.Fatal(stderr)
	}
	if code, _, stderr := run(t, "", call...); code != cli.Refused || !strings.Contains(stderr, "revoked") {
		t.Errorf("%d, %q", code, stderr)
	}
}

func TestTheDataDirectoryIsASettingOfAllCommands(t *testing.T) {
	home(t)
	data := filepath.Join(t.TempDir(), "data")
	createToken(t, data, "agent")
	config := filepath.Join(os.Getenv("HOME"), ".vancetope")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "brain.yaml"), []byte("vance.brain.data: "+data+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, "", "token", "list")
	if code != cli.OK || !strings.Contains(stdout, "research") {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
}

// A data directory that is mistyped must not look like a Brain without tokens.
func TestOnlyMakingATokenBeginsAState(t *testing.T) {
	home(t)
	data := filepath.Join(t.TempDir(), "typo")
	for _, args := range [][]string{{"token", "list"}, {"token", "revoke", "abcdefghijklmnop"}} {
		code, stdout, stderr := run(t, "", append(args, "--data", data)...)
		if code != cli.Usage || stdout != "" || !strings.Contains(stderr, "there is no state in the data directory") {
			t.Errorf("%v: %d, %q, %q", args, code, stdout, stderr)
		}
		if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v made it: %v", args, err)
		}
	}
	create := []string{"token", "create", "--data", data, "--tenant", "acme", "--project", "research", "--role", "agent", "--name", "a"}
	if code, _, stderr := run(t, "", create...); code != cli.OK || !strings.Contains(stderr, "a new one was begun") || !strings.Contains(stderr, "typo") {
		t.Errorf("the first token: %d, %q", code, stderr)
	}
	if code, _, stderr := run(t, "", create...); code != cli.OK || stderr != "" {
		t.Errorf("the second token: %d, %q", code, stderr)
	}
}

func TestAnEmptyStateIsRefusedByEveryCommand(t *testing.T) {
	home(t)
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "state.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"token", "list"}} {
		if code, stdout, stderr := run(t, "", append(args, "--data", data)...); code != cli.Usage || stdout != "" || !strings.Contains(stderr, "is empty") {
			t.Errorf("%v: %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

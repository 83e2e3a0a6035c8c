package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vancetope/transfer/internal/e2etest"
	"github.com/vancetope/transfer/tools/conformance/broken"
	"github.com/vancetope/transfer/tools/conformance/peer"
	"github.com/vancetope/transfer/tools/conformance/suite"
)

func TestMain(m *testing.M) { os.Exit(e2etest.Main(m)) }

const (
	tenant = "acme"
	// longPatience is for sound peers on a busy machine, shortPatience for broken ones,
	// whose silence is what is looked for.
	longPatience  = 30 * time.Second
	shortPatience = 400 * time.Millisecond
)

// quick are the settings of a peer whose timeouts are short.
var quick = map[string]string{"vance.transfer.phase-timeout": "2s", "vance.transfer.ping-interval": "2s"}

// trial is a peer under test behind a proxy that can break it.
type trial struct {
	proxy   *broken.Proxy
	options suite.Options
}

// run tries rules while the peer has a fault.
func (tr *trial) run(t *testing.T, fault *broken.Fault, patience time.Duration, rules []*suite.Rule) []suite.Result {
	t.Helper()
	tr.proxy.Set(fault)
	o := tr.options
	o.Patience = patience
	if patience == shortPatience {
		o.Reconnect = 3 * time.Second
	}
	var results []suite.Result
	if err := suite.Run(t.Context(), o, rules, func(r suite.Result) { results = append(results, r) }); err != nil {
		t.Fatalf("%s: %v", fault.Name, err)
	}
	return results
}

// newBrain starts a Brain behind a proxy.
func newBrain(t *testing.T, settings map[string]string) *trial {
	t.Helper()
	b := e2etest.StartBrain(t, e2etest.BrainOptions{Binaries: e2etest.ShippedBinaries(t), Settings: settings})
	proxy, err := broken.NewProxy(b.URL, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return &trial{proxy, suite.Options{
		Role:       suite.Brain,
		MaxWait:    40 * time.Second,
		TenantURL:  proxy.URL + "/brain/" + tenant,
		MCPURL:     proxy.URL + "/mcp",
		FootToken:  token(t, b.Token(t, tenant, "proj", "foot", "laptop")),
		AgentToken: token(t, b.Token(t, tenant, "proj", "agent", "agent")),
	}}
}

func token(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// newFoot starts a Foot that connects through a proxy.
func newFoot(t *testing.T) *trial {
	t.Helper()
	l, err := peer.Listen("127.0.0.1:0", tenant, "conformance-token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	proxy, err := broken.NewProxy(l.URL, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	tokenFile := filepath.Join(dir, "foot.token")
	if err := os.WriteFile(tokenFile, []byte("conformance-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := e2etest.StartFoot(t, e2etest.FootOptions{Binaries: e2etest.ShippedBinaries(t), Dir: dir, URL: proxy.URL, Tenant: tenant,
		ProjectID: "conformance", TokenFile: tokenFile,
		Settings: map[string]string{"vance.foot.reconnect-max": "50ms", "vance.transfer.phase-timeout": "2s"}})
	t.Cleanup(func() { f.Stop() }) // its exit code is that of the last rule
	return &trial{proxy, suite.Options{Role: suite.Foot, MaxWait: 40 * time.Second, Listener: l, Reconnect: 20 * time.Second}}
}

func TestOurBrainPassesEveryRule(t *testing.T) {
	t.Parallel()
	allPass(t, newBrain(t, quick))
}

func TestOurFootPassesEveryRule(t *testing.T) {
	t.Parallel()
	allPass(t, newFoot(t))
}

func allPass(t *testing.T, tr *trial) {
	t.Helper()
	rules := suite.Rules(tr.options.Role)
	results := tr.run(t, &broken.Fault{}, longPatience, rules)
	if len(results) != len(rules) {
		t.Errorf("%d of %d rules have a result", len(results), len(rules))
	}
	for _, r := range results {
		if r.Outcome != suite.Passed {
			t.Errorf("%s: %s: %s", r.Rule.Name, r.Outcome, r.Detail)
		}
	}
}

// A peer that knows nothing but the base protocol: no codes, no error frames.
func baseFault() *broken.Fault {
	return &broken.Fault{
		Name: "knows the base protocol only",
		Says: func(_ *broken.Link, m *broken.Message) []*broken.Message {
			switch {
			case m.Type() == "error":
				return nil
			case m.Members["errorCode"] != nil:
				return []*broken.Message{m.With(map[string]any{"errorCode": nil})}
			}
			return []*broken.Message{m}
		},
	}
}

func TestAPeerOfTheBaseProtocolPassesItsProfile(t *testing.T) {
	t.Parallel()
	for _, tr := range []*trial{newBrain(t, quick), newFoot(t)} {
		tr.options.BaseOnly = true
		passed := 0
		for _, r := range tr.run(t, baseFault(), longPatience, suite.Rules(tr.options.Role)) {
			switch r.Outcome {
			case suite.Failed:
				t.Errorf("%s: %s: %s", tr.options.Role, r.Rule.Name, r.Detail)
			case suite.Passed:
				passed++
			}
		}
		if passed < 30 {
			t.Errorf("%s: %d rules of the base protocol were tried", tr.options.Role, passed)
		}
	}
}

// A pattern that means no rule would hold nothing against its fault.
func TestEveryPatternOfAFaultMeansARule(t *testing.T) {
	for _, role := range []suite.Role{suite.Brain, suite.Foot} {
		for _, c := range broken.Cases(role) {
			for _, pattern := range c.Catches {
				found := 0
				for _, of := range []suite.Role{suite.Brain, suite.Foot} {
					rules, err := suite.Select(suite.Rules(of), []string{pattern})
					if err != nil {
						t.Fatal(err)
					}
					if c.Role&of != 0 {
						found += len(rules)
					}
				}
				if found == 0 {
					t.Errorf("%s: %q means no rule", c.Name, pattern)
				}
			}
		}
	}
}

// The matrix: each rule finds a fault that is there for it, one fault at a time.
func TestEveryRuleFindsItsFault(t *testing.T) {
	t.Parallel()
	for _, role := range []suite.Role{suite.Brain, suite.Foot} {
		t.Run(role.String(), func(t *testing.T) {
			t.Parallel()
			caught := &caughtRules{names: map[string]bool{}}
			t.Run("faults", func(t *testing.T) {
				all := broken.Cases(role)
				slow := func(c broken.Case) bool { return c.Timeouts }
				shards := [][]broken.Case{nil, nil, nil}
				for i, c := range all {
					shard := i % 2
					if slow(c) {
						shard = 2
					}
					shards[shard] = append(shards[shard], c)
				}
				for i, cases := range shards {
					t.Run(fmt.Sprint(i), func(t *testing.T) {
						t.Parallel()
						tryFaults(t, role, cases, i == 2, caught)
					})
				}
			})
			for _, r := range suite.Rules(role) {
				if !caught.names[r.Name] {
					t.Errorf("no fault shows that %s finds anything", r.Name)
				}
			}
		})
	}
}

type caughtRules struct {
	mu    sync.Mutex
	names map[string]bool
}

func (c *caughtRules) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names[name] = true
}

// tryFaults tries each fault's rules, all of which must fail.
func tryFaults(t *testing.T, role suite.Role, cases []broken.Case, timeouts bool, caught *caughtRules) {
	t.Helper()
	var tr *trial
	switch {
	case role == suite.Foot:
		tr = newFoot(t)
	case timeouts:
		tr = newBrain(t, quick)
	default:
		tr = newBrain(t, nil)
	}
	for _, c := range cases {
		rules, err := suite.Select(suite.Rules(role), c.Catches)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for _, r := range tr.run(t, &c.Fault, shortPatience, rules) {
			if r.Outcome != suite.Failed {
				t.Errorf("a %s that %s: %s is %s %s", role, c.Name, r.Rule.Name, r.Outcome, r.Detail)
				continue
			}
			caught.add(r.Rule.Name)
		}
		t.Logf("%s: %d rules, %v", c.Name, len(rules), time.Since(began).Round(time.Millisecond))
	}
}

// The program itself: its streams, its reports and its exit codes.
func TestTheProgramReportsAndExits(t *testing.T) {
	t.Parallel()
	tr := newBrain(t, quick)
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	usual := []string{"brain", "--url", tr.options.TenantURL, "--foot-token-file", file("foot", tr.options.FootToken),
		"--agent-token-file", file("agent", tr.options.AgentToken)}
	run := func(more ...string) (code int, out, log string) {
		var o, e bytes.Buffer
		code = execute(t.Context(), slices.Concat(usual, more), streams{&o, &e})
		return code, o.String(), e.String()
	}

	if code, out, log := run("--rule", "receiver/one-chunk", "--rule", "tools/list"); code != 0 ||
		!strings.Contains(out, "ok    receiver/one-chunk\n") || !strings.HasSuffix(out, "2 rules: 2 passed, 0 failed, 0 skipped\n") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out, log)
	}

	tr.proxy.Set(&broken.Fault{Says: func(_ *broken.Link, m *broken.Message) []*broken.Message {
		if m.Type() == "transfer_finish" {
			return []*broken.Message{m.With(map[string]any{"ok": false, "error": "\x1b[31mred", "errorCode": "internal"})}
		}
		return []*broken.Message{m}
	}})
	junit := filepath.Join(dir, "out.xml")
	code, out, _ := run("--rule", "sender/one-chunk", "--rule", "timeout/dead-peer", "--json", "--junit", junit, "--max-wait", "0s")
	var told struct {
		Peer    string
		Counts  struct{ Rules, Passed, Failed, Skipped int }
		Results []struct{ Rule, Source, Outcome, Detail string }
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil || code != 1 || told.Peer != "brain" ||
		told.Counts.Failed != 1 || told.Counts.Skipped != 1 || len(told.Results) != 2 || told.Results[0].Source == "" {
		t.Errorf("exit code %d, %v, stdout %s", code, err, out)
	}
	text, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(text, &suites); err != nil || suites.Tests != 2 || suites.Failures != 1 || len(suites.Cases) != 2 || suites.Cases[0].Failure == nil {
		t.Errorf("%v: %s", err, text)
	}
	if code, out, _ := run("--rule", "sender/one-chunk"); code != 1 || !strings.Contains(out, "FAIL  sender/one-chunk") || strings.Contains(out, "\x1b") {
		t.Errorf("exit code %d, stdout %q", code, out)
	}

	for name, c := range map[string]struct {
		code int
		args []string
	}{
		"no such rule":      {2, append(slices.Clone(usual), "--rule", "nothing")},
		"no tenant":         {2, append(slices.Clone(usual), "--url", "http://127.0.0.1:1")},
		"no token file":     {2, append(slices.Clone(usual), "--foot-token-file", filepath.Join(dir, "none"))},
		"nobody there":      {4, append(slices.Clone(usual), "--url", "http://127.0.0.1:1/brain/acme")},
		"no Foot connects":  {4, []string{"foot", "--reconnect", "50ms"}},
		"an unknown option": {2, []string{"foot", "--nonsense"}},
	} {
		var o, e bytes.Buffer
		if code := execute(context.WithoutCancel(t.Context()), c.args, streams{&o, &e}); code != c.code || e.Len() == 0 {
			t.Errorf("%s: exit code %d, want %d; stderr %q", name, code, c.code, e.String())
		}
	}
}

package e2etest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/vancetope/transfer/internal/launch"
)

// Brain is a running `brain serve`.
type Brain struct {
	*Child
	URL  string // http://127.0.0.1:port
	Data string

	binaries Binaries
	home     string
	config   string
	args     []string
}

// BrainOptions says how a Brain is started. The zero value will do.
type BrainOptions struct {
	Binaries Binaries
	Dir      string // holds data and home; "" is a new one
	Settings map[string]string
	Listen   string // "" picks a free port
	Args     []string
}

// StartBrain starts a Brain and returns once it accepts connections.
func StartBrain(t testing.TB, o BrainOptions) *Brain {
	t.Helper()
	if o.Binaries == (Binaries{}) {
		o.Binaries = RaceBinaries(t)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	b := &Brain{Data: filepath.Join(o.Dir, "brain-data"), binaries: o.Binaries, home: filepath.Join(o.Dir, "brain-home")}
	mkdir(t, b.home)
	b.config = filepath.Join(b.home, "brain.yaml")
	b.args = o.Args
	writeSettings(t, b.config, o.Settings)
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	b.start(t, o.Listen)
	return b
}

func (b *Brain) start(t testing.TB, listen string) {
	t.Helper()
	args := []string{"serve", "--listen", listen, "--data", b.Data, "--config", b.config}
	b.Child = startChild(t, b.binaries.Brain, b.home, append(args, b.args...)...)
	event, err := b.AwaitNamed(Bounded(t), "ready")
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	var ready struct {
		URL string `json:"url"`
		PID int    `json:"pid"`
	}
	if err := event.Decode(&ready); err != nil || ready.URL == "" || ready.PID != b.PID() {
		t.Fatalf("ready line %s of process %d: %v", event.Raw, b.PID(), err)
	}
	b.URL = ready.URL
}

// Restart ends the Brain and starts it again on the same port and data.
func (b *Brain) Restart(t testing.TB) {
	t.Helper()
	if code := b.Stop(); code != 0 {
		t.Errorf("brain serve ended with exit code %d on SIGTERM, want 0", code)
	}
	b.start(t, strings.TrimPrefix(b.URL, "http://"))
}

// Run runs another command of the brain program to its end.
func (b *Brain) Run(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return runProgram(t, b.binaries.Brain, b.home, args...)
}

// Token makes a token and returns the path of a file that holds it.
func (b *Brain) Token(t testing.TB, tenant, project, role, name string, more ...string) string {
	t.Helper()
	stdout, stderr, code := b.Run(t, append([]string{"token", "create", "--data", b.Data,
		"--tenant", tenant, "--project", project, "--role", role, "--name", name}, more...)...)
	token := strings.TrimSpace(stdout)
	if code != 0 || token == "" || strings.ContainsAny(token, " \n\t") {
		t.Fatalf("brain token create: exit code %d, stdout %q, stderr:\n%s", code, stdout, stderr)
	}
	file := filepath.Join(t.TempDir(), role+".token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Foot is a running `foot run`.
type Foot struct {
	*Child
	Project string // the folder of its project: <root>/<tenant>/<project>
	seen    int    // events already awaited
}

// FootOptions says how a Foot is started.
type FootOptions struct {
	Binaries  Binaries
	Dir       string // holds root, state and home; "" is a new one
	Settings  map[string]string
	URL       string // of the Brain
	Tenant    string
	ProjectID string
	TokenFile string
	Args      []string
}

// StartFoot starts a Foot. It does not wait for the connection.
func StartFoot(t testing.TB, o FootOptions) *Foot {
	t.Helper()
	if o.Binaries == (Binaries{}) {
		o.Binaries = RaceBinaries(t)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	home := filepath.Join(o.Dir, "foot-home")
	mkdir(t, home)
	config := filepath.Join(home, "foot.yaml")
	settings := map[string]string{"vance.foot.reconnect-min": "10ms", "vance.foot.reconnect-max": "500ms"}
	for name, value := range o.Settings {
		settings[name] = value
	}
	writeSettings(t, config, settings)
	root := filepath.Join(o.Dir, "foot-root")
	args := []string{"run", "--json", "--brain", o.URL, "--tenant", o.Tenant, "--token-file", o.TokenFile,
		"--root", root, "--state", filepath.Join(o.Dir, "foot-state"), "--config", config}
	f := &Foot{Project: filepath.Join(root, o.Tenant, o.ProjectID)}
	f.Child = startChild(t, o.Binaries.Foot, home, append(args, o.Args...)...)
	return f
}

// AwaitEvent returns the next event of that name after the ones awaited before.
func (f *Foot) AwaitEvent(t testing.TB, name string) launch.Event {
	t.Helper()
	event, next, err := f.Await(Bounded(t), f.seen, func(e launch.Event) bool { return e.Name == name })
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, tail(f.Log(), 4000))
	}
	f.seen = next
	return event
}

func runProgram(t testing.TB, path, home string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(Bounded(t), path, args...)
	cmd.Env = launch.Environment(home)
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "WARNING: DATA RACE") {
		t.Errorf("%s %v: data race:\n%s", filepath.Base(path), args, log.String())
	}
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

// writeSettings writes a configuration file of dotted keys.
func writeSettings(t testing.TB, file string, settings map[string]string) {
	t.Helper()
	var lines []string
	for name, value := range settings {
		quoted, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s: %s\n", name, quoted))
	}
	sort.Strings(lines)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

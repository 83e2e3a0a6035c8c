package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/foot/internal/fakebrain"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/cli"
)

// TestMain lets the test binary stand in for the program, with the race
// detector and all: a child with this variable runs main.
func TestMain(m *testing.M) {
	if os.Getenv("FOOT_TEST_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is a running foot.
type program struct {
	*exec.Cmd
	home           string
	stdout, stderr bytes.Buffer
	lines          *bufio.Scanner // of stdout, when it was asked for
}

// command prepares the program in a home of its own.
func command(t *testing.T, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.CommandContext(t.Context(), self, args...), home: t.TempDir()}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "VANCE_") && !strings.HasPrefix(v, "HOME=") {
			p.Env = append(p.Env, v)
		}
	}
	// The race detector would otherwise add a second to every end.
	p.Env = append(p.Env, "GORACE=atexit_sleep_ms=0", "FOOT_TEST_PROGRAM=1", "HOME="+p.home, "USERPROFILE="+p.home)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	return p
}

// begin starts the program with its standard output as lines.
func (p *program) begin(t *testing.T) {
	t.Helper()
	p.Stdout = nil
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
}

// next returns the next line of the standard output.
func (p *program) next(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("no further line; stderr:\n%s", &p.stderr)
	}
	return p.lines.Text()
}

// code waits for the end.
func (p *program) code(t *testing.T) int {
	t.Helper()
	err := p.Wait()
	if p.ProcessState == nil {
		t.Fatal(err)
	}
	if strings.Contains(p.stderr.String(), "DATA RACE") {
		t.Errorf("a data race:\n%s", &p.stderr)
	}
	return p.ProcessState.ExitCode()
}

func (p *program) run(t *testing.T) int {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p.code(t)
}

func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestEveryMistakeBeforeTheConnectionIsExitTwoOnTheStandardError(t *testing.T) {
	token := file(t, "secret-token\n")
	good := []string{"run", "--brain", "http://127.0.0.1:1", "--tenant", "acme", "--token-file", token}
	with := func(more ...string) []string { return append(good[:len(good):len(good)], more...) }
	for _, row := range []struct {
		name string
		args []string
		env  string
		text string
	}{
		{"no command", nil, "", "foot --help"},
		{"an unknown command", []string{"fly"}, "", "fly"},
		{"missing flags and no login", []string{"run"}, "", "foot login URL#CODE, or give --brain"},
		{"no token file and no login", []string{"run", "--brain", "http://127.0.0.1:1", "--tenant", "acme"}, "", "--token-file"},
		{"an unknown flag", with("--bogus"), "", "--bogus"},
		{"no choice of what is asked about", with("--confirm", "reads"), "", "never or writes or all"},
		{"no level of access", with("--access", "write"), "", "read or edit"},
		{"a grant without a folder", with("--grant", "music"), "", "NAME=PATH"},
		{"a grant without a name", with("--grant", "=/tmp"), "", "name"},
		{"a grant whose name climbs", with("--grant", "..=/tmp"), "", "name"},
		{"a grant of nothing", with("--grant", "music="), "", "path"},
		{"a grant of a folder that is not there", with("--grant", "music=/nowhere/music:rx"), "", `--grant: the folder of music, "/nowhere/music:rx": file not found (it has to be there`},
		{"a grant of a file", with("--grant", "music="+token), "", "--grant: the folder of music"},
		{"two grants of one name", with("--grant", "music="+t.TempDir(), "--grant", "MUSIC="+t.TempDir()), "", "two folders"},
		{"no file of authorities", with("--ca-file", "/nowhere/ca.pem"), "", "--ca-file"},
		{"a file without authorities", with("--ca-file", token), "", "no certificate"},
		{"a bad log level", with("--log-level", "loud"), "", "loud"},
		{"a bad URL", []string{"run", "--brain", "nonsense", "--tenant", "acme", "--token-file", token}, "", "nonsense"},
		{"a port that is none", []string{"run", "--brain", "http://127.0.0.1:99999", "--tenant", "acme", "--token-file", token}, "", "65535"},
		{"clear text to another machine", []string{"run", "--brain", "http://brain.example", "--tenant", "acme", "--token-file", token}, "", "https://"},
		{"a bad tenant", []string{"run", "--brain", "http://127.0.0.1:1", "--tenant", "a/b", "--token-file", token}, "", "tenant"},
		{"no token file", []string{"run", "--brain", "http://127.0.0.1:1", "--tenant", "acme", "--token-file", "/nowhere/token"}, "", "token file"},
		{"an empty token file", []string{"run", "--brain", "http://127.0.0.1:1", "--tenant", "acme", "--token-file", file(t, "\n")}, "", "empty"},
		{"two lines in the token file", []string{"run", "--brain", "http://127.0.0.1:1", "--tenant", "acme", "--token-file", file(t, "a\nb")}, "", "more than a token"},
		{"a root that cannot be made", with("--root", filepath.Join(token, "root")), "", "--root"},
		{"a state folder that cannot be made", with("--state", filepath.Join(token, "state")), "", "--state"},
		{"no settings file", with("--config", "/nowhere/foot.yaml"), "", "foot.yaml"},
		{"an unknown setting", with("--config", file(t, "vance.foot.bogus: 1")), "", "vance.foot.bogus"},
		{"a setting out of its range", good, "VANCE_TRANSFER_CHUNK_SIZE=2MiB", "vance.transfer.chunk-size"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := command(t, row.args...)
			if row.env != "" {
				p.Env = append(p.Env, row.env)
			}
			if code := p.run(t); code != cli.Usage {
				t.Errorf("exit code %d, want 2", code)
			}
			if p.stdout.Len() > 0 {
				t.Errorf("on the standard output: %s", &p.stdout)
			}
			if !strings.Contains(p.stderr.String(), row.text) {
				t.Errorf("the standard error does not tell of %q:\n%s", row.text, &p.stderr)
			}
			if strings.Contains(p.stderr.String(), "secret-token") {
				t.Error("the token is on the standard error")
			}
		})
	}
}

func TestHelpIsAResult(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}} {
		p := command(t, args...)
		if code := p.run(t); code != cli.OK || p.stderr.Len() > 0 || !strings.Contains(p.stdout.String(), "Usage: foot") {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", args, code, &p.stdout, &p.stderr)
		}
	}
}

// runArgs are the flags of a good run.
func runArgs(t *testing.T, b *fakebrain.Brain, more ...string) []string {
	t.Helper()
	return append([]string{"run", "--brain", b.URL, "--tenant", "acme", "--token-file", file(t, "secret-token\n")}, more...)
}

func TestTheExitCodeTellsHowItEnded(t *testing.T) {
	for _, row := range []struct {
		name    string
		prepare func(*fakebrain.Brain)
		script  func(*fakebrain.Foot)
		once    bool
		want    int
	}{
		{"refused with 401", func(b *fakebrain.Brain) { b.Refuse(http.StatusUnauthorized, common.ErrorCodeUnauthorized, "") }, nil, false, cli.Refused},
		{"refused with 403", func(b *fakebrain.Brain) { b.Refuse(http.StatusForbidden, common.ErrorCodeAccessDenied, "") }, nil, false, cli.Refused},
		{"revoked", nil, func(p *fakebrain.Foot) { p.Close(1008, "token revoked") }, false, cli.Refused},
		{"replaced", nil, func(p *fakebrain.Foot) { p.Close(1008, "replaced") }, false, cli.InUse},
		{"once, unavailable", func(b *fakebrain.Brain) { b.Refuse(http.StatusServiceUnavailable, common.ErrorCodeDraining, "") }, nil, true, cli.Unreachable},
		{"once, lost", nil, (*fakebrain.Foot).Cut, true, cli.Unreachable},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := fakebrain.New(t)
			if row.prepare != nil {
				row.prepare(b)
			}
			args := runArgs(t, b)
			if row.once {
				args = append(args, "--once")
			}
			p := command(t, args...)
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			if row.script != nil {
				row.script(b.Await(t))
			}
			if code := p.code(t); code != row.want {
				t.Errorf("exit code %d, want %d; stderr:\n%s", code, row.want, &p.stderr)
			}
			if !strings.Contains(p.stderr.String(), "foot: ") {
				t.Errorf("no reason on the standard error:\n%s", &p.stderr)
			}
			if strings.Contains(p.stderr.String()+p.stdout.String(), "secret-token") {
				t.Error("the token is told")
			}
		})
	}
}

func TestASecondFootOnOneStateFolderIsExitFiveAndDisturbsNobody(t *testing.T) {
	b := fakebrain.New(t)
	state := t.TempDir()
	first := command(t, runArgs(t, b, "--json", "--state", state)...)
	first.begin(t)
	first.next(t)
	second := command(t, runArgs(t, b, "--state", state)...)
	if code := second.run(t); code != cli.InUse || !strings.Contains(second.stderr.String(), state) {
		t.Errorf("exit code %d, want 5; stderr:\n%s", code, &second.stderr)
	}
	interrupt(t, first, syscall.SIGTERM)
	if code := first.code(t); code != cli.OK {
		t.Errorf("the first: exit code %d", code)
	}
}

func TestASecondFootWithTheTokenAndTheDefaultStateIsExitFiveAndDisturbsNobody(t *testing.T) {
	b := fakebrain.New(t)
	args := runArgs(t, b, "--json")
	first := command(t, args...)
	first.begin(t)
	first.next(t)
	peer := b.Await(t)
	second := first.beside(t, args...)
	if code := second.run(t); code != cli.InUse || !strings.Contains(second.stderr.String(), "state folder of this token's project") {
		t.Errorf("exit code %d, want 5; stderr:\n%s", code, &second.stderr)
	}
	peer.Close(1008, "token revoked")
	if code := first.code(t); code != cli.Refused {
		t.Errorf("the first: exit code %d", code)
	}
	// Another token, another matter; and a state of its own as well.
	for _, more := range [][]string{nil, {"--state", t.TempDir()}} {
		b.Refuse(http.StatusUnauthorized, common.ErrorCodeUnauthorized, "")
		if code := first.beside(t, append(args, more...)...).run(t); code != cli.Refused {
			t.Errorf("%v: exit code %d", more, code)
		}
	}
}

func interrupt(t *testing.T, p *program, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func TestEventsOfAWholeLifeAsJSON(t *testing.T) {
	b := fakebrain.New(t)
	p := command(t, runArgs(t, b, "--json")...)
	p.begin(t)
	peer := b.Await(t)
	root := filepath.Join(p.home, ".vancetope", "foot", "acme", "proj")
	var connected struct {
		Event, Tenant, ProjectID, FootID, Root string
		Features                               []string
	}
	decode(t, p.next(t), &connected)
	if connected.Event != "connected" || connected.Tenant != "acme" || connected.ProjectID != "proj" ||
		connected.FootID != "laptop" || connected.Root != root || connected.Features == nil {
		t.Errorf("%+v", connected)
	}
	id := uuid.Must(uuid.NewV7())
	peer.Offer(id, "a\n.txt", "hello")
	if r := fakebrain.Expect[*frames.TransferInitResponse](peer); !r.Ok {
		t.Fatalf("refused: %+v", r)
	}
	peer.Stream(id, "hello", 2)
	fakebrain.Expect[*frames.TransferComplete](peer)
	peer.Send(&frames.TransferFinish{TransferID: id, Ok: true})
	var transfer struct {
		Event, TransferID, Direction, Path, State string
		Bytes, TotalBytes                         int64
	}
	for transfer.State != "complete" {
		decode(t, p.next(t), &transfer)
		if transfer.Event != "transfer" || transfer.TransferID != id.String() || transfer.Direction != "download" ||
			transfer.Path != "a\n.txt" || transfer.TotalBytes != 5 {
			t.Fatalf("%+v", transfer)
		}
	}
	if transfer.Bytes != 5 {
		t.Errorf("%+v", transfer)
	}
	if got, err := os.ReadFile(filepath.Join(root, "a\n.txt")); err != nil || string(got) != "hello" {
		t.Errorf("the file: %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(p.home, ".vancetope", "state", "foot", "acme", "proj", "lock")); err != nil {
		t.Errorf("the state folder: %v", err)
	}
	stops := cli.StopSignals()
	interrupt(t, p, stops[len(stops)-1]) // that of the terminal, where it is heard
	if code := peer.AwaitClose(); code != 1001 {
		t.Errorf("close code %d, want 1001", code)
	}
	var disconnected struct{ Event, Reason string }
	decode(t, p.next(t), &disconnected)
	if disconnected.Event != "disconnected" || disconnected.Reason == "" {
		t.Errorf("%+v", disconnected)
	}
	if code := p.code(t); code != cli.OK {
		t.Errorf("exit code %d on SIGTERM, want 0; stderr:\n%s", code, &p.stderr)
	}
	if p.stderr.Len() > 0 {
		t.Errorf("a good life is no news on the standard error:\n%s", &p.stderr)
	}
}

func decode(t *testing.T, line string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), into); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
}

func TestLinesForPeopleWhereThereIsNoTerminal(t *testing.T) {
	b := fakebrain.New(t)
	p := command(t, runArgs(t, b)...)
	p.begin(t)
	b.Await(t)
	want := []string{
		"connecting to " + b.URL,
		"connected to acme/proj as laptop",
		"files go to and come from " + filepath.Join(p.home, ".vancetope", "foot", "acme", "proj"),
		"waiting for transfers",
	}
	for _, w := range want {
		if got := p.next(t); got != w {
			t.Errorf("line %q, want %q", got, w)
		}
	}
	interrupt(t, p, os.Interrupt)
	if code := p.code(t); code != cli.OK {
		t.Errorf("exit code %d on SIGINT, want 0", code)
	}
}

func TestASignalWhileATransferHangsEndsWithinFiveSeconds(t *testing.T) {
	b := fakebrain.New(t)
	p := command(t, runArgs(t, b, "--json")...)
	p.begin(t)
	peer := b.Await(t)
	peer.Offer(uuid.Must(uuid.NewV7()), "a", "never comes")
	fakebrain.Expect[*frames.TransferInitResponse](peer)
	began := time.Now()
	interrupt(t, p, syscall.SIGTERM)
	for p.lines.Scan() { // so that the program is never held up by its output
	}
	if code := p.code(t); code != cli.OK {
		t.Errorf("exit code %d, want 0; stderr:\n%s", code, &p.stderr)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end took %v, want at most 5 s", took)
	}
	left, err := filepath.Glob(filepath.Join(p.home, ".vancetope", "foot", "acme", "proj", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	hidden, err := filepath.Glob(filepath.Join(p.home, ".vancetope", "foot", "acme", "proj", ".*"))
	if err != nil || len(hidden) > 0 {
		t.Errorf("left behind: %v, %v", hidden, err)
	}
}

// begun starts a Foot with two files half-way, one of them in a granted folder,
// both below folders that were made for them.
func begun(t *testing.T, grant string) *program {
	t.Helper()
	b := fakebrain.New(t)
	p := command(t, runArgs(t, b, "--grant", "g="+grant+":rw")...)
	p.begin(t)
	peer := b.Await(t)
	for _, target := range []string{"there/new/a", "@g/new/deep/a"} {
		peer.Offer(uuid.Must(uuid.NewV7()), target, "never comes")
		fakebrain.Expect[*frames.TransferInitResponse](peer)
	}
	return p
}

// below lists all that is in some folders.
func below(t *testing.T, dirs ...string) (found []string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if path != dir {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestWhatAKilledFootLeftGoesAtTheNextStartWithoutABrainAndWithoutTheGrant(t *testing.T) {
	for name, more := range map[string][]string{
		"without the grant": nil, "read only": {"--access", "read"}, "a read-only grant": {"--grant", "g=GRANT"},
	} {
		t.Run(name, func(t *testing.T) {
			grant := t.TempDir()
			first := begun(t, grant)
			if n := len(below(t, grant, first.folder())); n != 6 {
				t.Fatalf("%d files and folders while two files are half-way", n)
			}
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			first.code(t)
			args := []string{"run", "--once", "--brain", "http://127.0.0.1:1", "--tenant", "acme", "--token-file", file(t, "x")}
			for _, arg := range more {
				args = append(args, strings.Replace(arg, "GRANT", grant, 1))
			}
			if code := first.beside(t, args...).run(t); code != cli.Unreachable {
				t.Errorf("exit code %d, want 4", code)
			}
			if left := below(t, grant, first.folder()); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestASecondSignalLeavesNothingBehind(t *testing.T) {
	grant := t.TempDir()
	p := begun(t, grant)
	interrupt(t, p, syscall.SIGTERM)
	for !strings.Contains(p.next(t), "stopping") {
	}
	interrupt(t, p, syscall.SIGTERM)
	if code := p.code(t); code != cli.Interrupted {
		t.Errorf("exit code %d, want 130; stderr:\n%s", code, &p.stderr)
	}
	if left := below(t, grant, p.folder()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAReaderThatGoesAwayDoesNotEndTheFoot(t *testing.T) {
	b := fakebrain.New(t)
	p := command(t, runArgs(t, b, "--json")...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stdout = w
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	peer := b.Await(t)
	for range 3 {
		id := uuid.Must(uuid.NewV7())
		peer.Offer(id, "a", "x")
		fakebrain.Expect[*frames.TransferInitResponse](peer)
		peer.Stream(id, "x", 1)
		if c := fakebrain.Expect[*frames.TransferComplete](peer); !c.Ok {
			t.Errorf("%+v", c)
		}
		peer.Send(&frames.TransferFinish{TransferID: id, Ok: true})
	}
	interrupt(t, p, syscall.SIGTERM)
	if code := p.code(t); code != cli.OK {
		t.Errorf("exit code %d, want 0; stderr:\n%s", code, &p.stderr)
	}
	if !strings.Contains(p.stderr.String(), "output") {
		t.Errorf("the loss is not told:\n%s", &p.stderr)
	}
}

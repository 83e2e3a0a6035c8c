package main

import (
	"encoding/json"
	"os"
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

// What the person at a running Foot sees and does from other terminals.

// withProgress makes later Feet agree on the extensions.
func withProgress(b *fakebrain.Brain) {
	b.Welcome(func(w *frames.Welcome) { w.Features = []string{"cancel", "on-existing", "progress"} })
}

// beside runs another command of the same home.
func (p *program) beside(t *testing.T, args ...string) *program {
	t.Helper()
	other := command(t, args...)
	other.home = p.home
	for i, v := range other.Env {
		for _, name := range []string{"HOME=", "USERPROFILE="} {
			if strings.HasPrefix(v, name) {
				other.Env[i] = name + p.home
			}
		}
	}
	return other
}

func (p *program) mustRun(t *testing.T, want int, args ...string) *program {
	t.Helper()
	other := p.beside(t, args...)
	if code := other.run(t); code != want {
		t.Fatalf("foot %v: exit code %d, want %d; stdout %q, stderr %q", args, code, want, &other.stdout, &other.stderr)
	}
	return other
}

// folder is where the files of the project are.
func (p *program) folder() string { return filepath.Join(p.home, ".vancetope", "foot", "acme", "proj") }

// event is any line of --json.
type event struct {
	Event, ID, Direction, Path, State, ErrorCode, TransferID string
	Bytes, TotalBytes                                        int64
}

// awaitEvent passes over other events.
func (p *program) awaitEvent(t *testing.T, fits func(event) bool) event {
	t.Helper()
	for {
		var e event
		decode(t, p.next(t), &e)
		if fits(e) {
			return e
		}
	}
}

// nothingWritten asserts that the project's folder has nothing, hidden or not.
func (p *program) nothingWritten(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(p.folder())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("written before the approval: %v", left)
	}
}

func TestADownloadWaitsForFootApprove(t *testing.T) {
	b := fakebrain.New(t)
	withProgress(b)
	p := command(t, runArgs(t, b, "--json", "--confirm", "writes")...)
	p.begin(t)
	peer := b.Await(t)
	id := uuid.Must(uuid.NewV7())
	peer.Offer(id, "d/a.txt", "hello")
	asked := p.awaitEvent(t, func(e event) bool { return e.Event == "approval" })
	if asked.ID != id.String() || asked.Direction != "download" || asked.Path != "d/a.txt" || asked.Bytes != 5 {
		t.Errorf("the question is %+v", asked)
	}
	if f := fakebrain.Expect[*frames.TransferProgress](peer); f.State != "waiting_for_approval" || f.TransferID != id {
		t.Errorf("the Brain hears %+v", f)
	}
	p.nothingWritten(t)
	status := p.mustRun(t, cli.OK, "status")
	if !strings.Contains(status.stdout.String(), "waiting for your approval: foot approve "+id.String()) {
		t.Errorf("the status is %q", &status.stdout)
	}
	if out := p.mustRun(t, cli.OK, "approve", "--always", id.String()); out.stdout.String() != "approved: d/a.txt\n" {
		t.Errorf("approve says %q", &out.stdout)
	}
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); !r.Ok {
		t.Fatalf("refused: %+v", r)
	}
	peer.Stream(id, "hello", 5)
	fakebrain.Await[*frames.TransferComplete](peer)
	peer.Send(&frames.TransferFinish{TransferID: id, Ok: true})
	if got, err := os.ReadFile(filepath.Join(p.folder(), "d", "a.txt")); err != nil || string(got) != "hello" {
		t.Errorf("the file: %q, %v", got, err)
	}
	next := uuid.Must(uuid.NewV7())
	peer.Offer(next, "d/e/b.txt", "x") // covered by --always
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); !r.Ok || r.TransferID != next {
		t.Errorf("in the same folder: %+v", r)
	}
	peer.Send(&frames.TransferCancel{TransferID: next, Reason: "enough"})
	interrupt(t, p, syscall.SIGTERM)
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), `"approval"`) {
			t.Errorf("asked again: %s", p.lines.Text())
		}
	}
	if code := p.code(t); code != cli.OK {
		t.Errorf("exit code %d; stderr:\n%s", code, &p.stderr)
	}
}

func TestADeclinedDownloadIsToldToTheBrainAndToTheHistory(t *testing.T) {
	b := fakebrain.New(t)
	withProgress(b)
	p := command(t, runArgs(t, b, "--json", "--confirm", "all")...)
	p.begin(t)
	peer := b.Await(t)
	id := uuid.Must(uuid.NewV7())
	peer.Offer(id, "a\x1b[2J.txt", "hello")
	p.awaitEvent(t, func(e event) bool { return e.Event == "approval" })
	tail := id.String()[24:]
	if out := p.mustRun(t, cli.OK, "decline", tail); out.stdout.String() != "declined: a\\x1b[2J.txt\n" {
		t.Errorf("decline says %q", &out.stdout)
	}
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); r.Ok || *r.ErrorCode != common.ErrorCodeDeclined {
		t.Errorf("the Brain hears %+v", r)
	}
	ended := p.awaitEvent(t, func(e event) bool { return e.Event == "transfer" && e.State == "failed" })
	if ended.ErrorCode != "declined" {
		t.Errorf("the end is %+v", ended)
	}
	p.nothingWritten(t)
	again := p.mustRun(t, cli.Failed, "approve", tail)
	if !strings.Contains(again.stderr.String(), "no question") {
		t.Errorf("approve says %q", &again.stderr)
	}
	interrupt(t, p, syscall.SIGTERM)
	for p.lines.Scan() {
	}
	if code := p.code(t); code != cli.OK {
		t.Errorf("exit code %d; stderr:\n%s", code, &p.stderr)
	}
	var entries []event
	decode(t, p.mustRun(t, cli.OK, "history", "--json").stdout.String(), &entries)
	if len(entries) != 1 || entries[0].TransferID != id.String() || entries[0].State != "failed" || entries[0].ErrorCode != "declined" {
		t.Errorf("the history is %+v", entries)
	}
	line := p.mustRun(t, cli.OK, "history").stdout.String()
	if !strings.Contains(line, `a\x1b[2J.txt: declined`) || strings.Count(line, "\n") != 1 {
		t.Errorf("the history says %q", line)
	}
}

func TestAnUploadWaitsWithConfirmAllOnly(t *testing.T) {
	for choice, asks := range map[string]bool{"never": false, "writes": false, "all": true} {
		t.Run(choice, func(t *testing.T) {
			b := fakebrain.New(t)
			withProgress(b)
			p := command(t, runArgs(t, b, "--json", "--confirm", choice)...)
			p.begin(t)
			peer := b.Await(t)
			if err := os.MkdirAll(p.folder(), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.folder(), "n.txt"), []byte("hello"), 0o600); err != nil {
				t.Fatal(err)
			}
			request := &frames.ClientFileUploadRequest{TransferID: uuid.Must(uuid.NewV7()), LocalPath: "n.txt", DirName: "d", RemotePath: "n.txt"}
			peer.Send(request)
			if asks {
				if e := p.awaitEvent(t, func(e event) bool { return e.Event == "approval" }); e.Direction != "upload" || e.Bytes != 5 {
					t.Errorf("the question is %+v", e)
				}
				if f := fakebrain.Expect[*frames.TransferProgress](peer); f.State != "waiting_for_approval" || f.TotalBytes != 0 {
					t.Errorf("the Brain hears %+v", f)
				}
				p.mustRun(t, cli.OK, "approve", request.TransferID.String())
			}
			if init := fakebrain.Await[*frames.TransferInit](peer); init.TotalSize != 5 {
				t.Errorf("offered %+v", init)
			}
			peer.Send(&frames.TransferCancel{TransferID: request.TransferID, Reason: "enough"})
			interrupt(t, p, syscall.SIGTERM)
			for p.lines.Scan() {
			}
			if code := p.code(t); code != cli.OK {
				t.Errorf("exit code %d; stderr:\n%s", code, &p.stderr)
			}
		})
	}
}

func TestWithoutATerminalAndWithoutJSONItIsDeclinedAtOnce(t *testing.T) {
	b := fakebrain.New(t)
	withProgress(b)
	p := command(t, runArgs(t, b, "--confirm", "all")...)
	p.begin(t)
	peer := b.Await(t)
	peer.Offer(uuid.Must(uuid.NewV7()), "a", "hello")
	// The very first frame: nobody was asked.
	if r := fakebrain.Expect[*frames.TransferInitResponse](peer); r.Ok || *r.ErrorCode != common.ErrorCodeDeclined || !strings.Contains(*r.Error, "no terminal") {
		t.Errorf("the Brain hears %+v", r)
	}
	p.nothingWritten(t)
	interrupt(t, p, syscall.SIGTERM)
	for p.lines.Scan() {
	}
	if code := p.code(t); code != cli.OK {
		t.Errorf("exit code %d; stderr:\n%s", code, &p.stderr)
	}
}

func TestAQuestionEndsByItself(t *testing.T) {
	for name, row := range map[string]struct {
		prepare func(*fakebrain.Brain)
		env     string
	}{
		"after the confirm timeout": {withProgress, "VANCE_FOOT_CONFIRM_TIMEOUT=50ms"},
		"after the phase, of a Brain that cannot be told": {func(b *fakebrain.Brain) {
			b.Welcome(func(w *frames.Welcome) { w.Settings.PhaseTimeoutMs = 100 })
		}, "VANCE_FOOT_CONFIRM_TIMEOUT=1h"},
	} {
		t.Run(name, func(t *testing.T) {
			b := fakebrain.New(t)
			row.prepare(b)
			p := command(t, runArgs(t, b, "--json", "--confirm", "all")...)
			p.Env = append(p.Env, row.env)
			p.begin(t)
			peer := b.Await(t)
			peer.Offer(uuid.Must(uuid.NewV7()), "a", "hello")
			if r := fakebrain.Await[*frames.TransferInitResponse](peer); r.Ok || *r.ErrorCode != common.ErrorCodeDeclined || !strings.Contains(*r.Error, "nobody answered") {
				t.Errorf("the Brain hears %+v", r)
			}
			p.nothingWritten(t)
			interrupt(t, p, syscall.SIGTERM)
			for p.lines.Scan() {
			}
			if code := p.code(t); code != cli.OK {
				t.Errorf("exit code %d; stderr:\n%s", code, &p.stderr)
			}
		})
	}
}

func TestAQuestionDoesNotHoldUpTheEnd(t *testing.T) {
	b := fakebrain.New(t)
	withProgress(b)
	p := command(t, runArgs(t, b, "--json", "--confirm", "all")...)
	p.begin(t)
	peer := b.Await(t)
	peer.Offer(uuid.Must(uuid.NewV7()), "a", "hello")
	p.awaitEvent(t, func(e event) bool { return e.Event == "approval" })
	began := time.Now()
	interrupt(t, p, syscall.SIGTERM)
	for p.lines.Scan() {
	}
	if code := p.code(t); code != cli.OK || time.Since(began) > 3*time.Second {
		t.Errorf("exit code %d after %v; stderr:\n%s", code, time.Since(began), &p.stderr)
	}
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); r.Ok {
		t.Error("approved by the end")
	}
}

func TestTheStatusOfAFootAndOfNone(t *testing.T) {
	b := fakebrain.New(t)
	p := command(t, runArgs(t, b, "--json")...)
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"status", "--state", t.TempDir()}, {"approve", "abcd"}, {"decline", "abcd"}} {
		if out := p.mustRun(t, cli.Unreachable, args...); out.stdout.Len() > 0 || !strings.Contains(out.stderr.String(), "no Foot runs") {
			t.Errorf("%v: stdout %q, stderr %q", args, &out.stdout, &out.stderr)
		}
	}
	p.begin(t)
	b.Await(t)
	p.awaitEvent(t, func(e event) bool { return e.Event == "connected" })
	var status map[string]any
	decode(t, p.mustRun(t, cli.OK, "status", "--json").stdout.String(), &status)
	since, err := time.Parse(time.RFC3339, status["since"].(string))
	if err != nil || time.Since(since) > time.Minute {
		t.Errorf("since: %v", status["since"])
	}
	delete(status, "since")
	got, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"brain":"` + b.URL + `","connected":true,"footId":"laptop","projectId":"proj","tenant":"acme","transfers":[]}`; string(got) != want {
		t.Errorf("the status is %s, want %s", got, want)
	}
	text := p.mustRun(t, cli.OK, "status", "--tenant", "acme", "--project", "proj").stdout.String()
	if !strings.HasPrefix(text, "connected to "+b.URL+" as laptop of acme/proj since ") || !strings.HasSuffix(text, "\nno transfers\n") {
		t.Errorf("the status says %q", text)
	}
	p.mustRun(t, cli.Unreachable, "status", "--tenant", "other")
	p.mustRun(t, cli.Usage, "status", "--tenant", "../acme")
	interrupt(t, p, syscall.SIGTERM)
	for p.lines.Scan() {
	}
	if code := p.code(t); code != cli.OK {
		t.Errorf("exit code %d", code)
	}
	p.mustRun(t, cli.Unreachable, "status")
}

func TestOfSeveralFeetOneHasToBeNamed(t *testing.T) {
	b := fakebrain.New(t)
	first := command(t, runArgs(t, b, "--json")...)
	first.begin(t)
	b.Await(t)
	first.awaitEvent(t, func(e event) bool { return e.Event == "connected" })
	b.Welcome(func(w *frames.Welcome) { w.ProjectID = "other" })
	second := first.beside(t, append(runArgs(t, b, "--json"), "--token-file", file(t, "another"))...)
	second.begin(t)
	b.Await(t)
	second.awaitEvent(t, func(e event) bool { return e.Event == "connected" })
	if out := first.mustRun(t, cli.Usage, "status"); !strings.Contains(out.stderr.String(), "acme/other, acme/proj") {
		t.Errorf("status says %q", &out.stderr)
	}
	if out := first.mustRun(t, cli.OK, "status", "--project", "other"); !strings.Contains(out.stdout.String(), "acme/other") {
		t.Errorf("status says %q", &out.stdout)
	}
	for _, p := range []*program{first, second} {
		interrupt(t, p, syscall.SIGTERM)
		if code := p.code(t); code != cli.OK {
			t.Errorf("exit code %d", code)
		}
	}
}

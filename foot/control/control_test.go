//go:build unix

package control

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/foot/approval"
	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/settings"
)

var one = uuid.MustParse("018f0000-0000-7000-8000-000000000001")

// world is a running Foot's part of this package.
type world struct {
	*Server
	dir    string
	board  *Board
	desk   *approval.Desk
	opened chan approval.Question
}

func (w *world) Opened(q approval.Question)                 { w.opened <- q }
func (w *world) Closed(approval.Question, approval.Outcome) {}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), board: NewBoard("http://127.0.0.1:1", "acme"), opened: make(chan approval.Question, 9)}
	w.desk = approval.New(approval.Options{Policy: settings.ConfirmAll, Timeout: time.Minute, Watchers: []approval.Watcher{w}})
	w.Server = NewServer(w.board, w.desk, slog.New(slog.DiscardHandler))
	w.Listen(w.dir)
	t.Cleanup(w.Close)
	return w
}

// ask opens a question and returns the way it ends.
func (w *world) ask(t *testing.T, id uuid.UUID, path string) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		done <- w.desk.Ask(context.Background(), approval.Question{ID: id, Write: true, Path: path}, 0, func() {})
	}()
	<-w.opened
	return done
}

func TestTheSocketIsForItsOwnerAlone(t *testing.T) {
	w := newWorld(t)
	info, err := os.Stat(filepath.Join(w.dir, "foot.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket's mode is %v", info.Mode())
	}
	left, err := os.ReadDir(w.dir)
	if err != nil || len(left) != 1 {
		t.Errorf("beside the socket: %v, %v", left, err)
	}
	w.Close()
	if _, err := os.Stat(filepath.Join(w.dir, "foot.sock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket outlives its Foot: %v", err)
	}
}

func TestTheStatusShowsConnectionAndTransfers(t *testing.T) {
	w := newWorld(t)
	before, err := AskStatus(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	if before.Connected || before.Brain != "http://127.0.0.1:1" || before.Tenant != "acme" || before.Since.IsZero() || before.Transfers == nil {
		t.Errorf("before the connection: %+v", before)
	}
	w.board.Connected(ui.Connected{Tenant: "acme", ProjectID: "proj", FootID: "laptop"})
	w.board.Transfer(ui.Transfer{ID: one, Direction: ui.Upload, Path: "a", State: ui.Hashing, TotalBytes: 9})
	w.board.Transfer(ui.Transfer{ID: one, Direction: ui.Upload, Path: "a", State: ui.Streaming, Bytes: 3, TotalBytes: 9})
	w.board.Transfer(ui.Transfer{ID: uuid.New(), Direction: ui.Upload, Path: "b", State: ui.Failed})
	got, err := AskStatus(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Connected || got.ProjectID != "proj" || got.FootID != "laptop" || len(got.Transfers) != 1 {
		t.Fatalf("connected: %+v", got)
	}
	if x := got.Transfers[0]; x.TransferID != one || x.Bytes != 3 || x.State != ui.Streaming || x.StartedAt.IsZero() {
		t.Errorf("the transfer: %+v", x)
	}
	w.board.Disconnected("connection lost")
	w.board.Reconnecting(time.Second, "connection refused")
	if got, err = AskStatus(w.dir); err != nil || got.Connected || got.Reason != "connection refused" || got.FootID != "laptop" {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}

func TestAnAnswerComesOverTheSocket(t *testing.T) {
	w := newWorld(t)
	yes, no := w.ask(t, one, "a/f"), w.ask(t, uuid.MustParse("018f0000-0000-7000-8000-00000000bbbb"), "b/f")
	if path, err := Approve(w.dir, one.String(), true); err != nil || path != "a/f" {
		t.Errorf("approve: %q, %v", path, err)
	}
	if err := <-yes; err != nil {
		t.Errorf("approved: %v", err)
	}
	if path, err := Decline(w.dir, "bbbb"); err != nil || path != "b/f" {
		t.Errorf("decline: %q, %v", path, err)
	}
	if err := <-no; fault.CodeOf(err) != common.ErrorCodeDeclined {
		t.Errorf("declined: %v", err)
	}
	if needed, err := w.desk.Needed(approval.Question{Write: true, Path: "a/g"}); needed || err != nil {
		t.Errorf("--always is forgotten: %v", err)
	}
	var refused *RefusedError
	if _, err := Approve(w.dir, one.String(), false); !errors.As(err, &refused) {
		t.Errorf("a second answer: %v", err)
	}
}

func TestWhereNoFootRunsThatIsSaid(t *testing.T) {
	w := newWorld(t)
	w.Close()
	stale := t.TempDir()
	l, err := listen(stale)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.(*socket).UnixListener.Close(); err != nil { // as a killed process leaves it
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"after its end": w.dir, "never": t.TempDir(), "no folder": filepath.Join(stale, "none"), "killed": stale} {
		if _, err := AskStatus(dir); !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := newWorld(t)
	again.Listen(stale) // takes the place of the stale one
	if _, err := AskStatus(stale); err != nil {
		t.Errorf("after the next start: %v", err)
	}
	if _, err := AskStatus(again.dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("the folder that was left: %v", err)
	}
}

func TestTheStateFoldersPathMayBeLong(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w.Listen(dir)
	if _, err := AskStatus(dir); err != nil {
		t.Error(err)
	}
}

func TestAClientThatTalksNonsenseHarmsNobody(t *testing.T) {
	w := newWorld(t)
	for name, said := range map[string]string{
		"nothing": "", "no JSON": "hello\n", "another verb": `{"do":"dance"}`, "endless": `{"do":"` + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := dial(w.dir)
			if err != nil {
				t.Fatal(err)
			}
			// The server may be gone before all of it is written.
			_, _ = c.Write([]byte(said))
			if err := c.(*net.UnixConn).CloseWrite(); err != nil {
				t.Log(err)
			}
			var r response
			if err := receive(c, maxResponse, &r); err == nil && r.Error == "" {
				t.Errorf("answered %+v", r)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := AskStatus(w.dir); err != nil {
		t.Error(err)
	}
}

func TestSilentClientsDoNotHoldUpTheEnd(t *testing.T) {
	w := newWorld(t)
	for range 2 * maxClients { // more than are served at once
		c, err := dial(w.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close() // the test is over
	}
	for range 1000 { // until the server serves as many as it does
		w.talking.Lock()
		n := len(w.talks)
		w.talking.Unlock()
		if n == maxClients {
			break
		}
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	w.Close()
	if took := time.Since(began); took > exchangeTime/2 {
		t.Errorf("the end took %v", took)
	}
}

func TestTheSocketOfAnotherFootIsLeftAlone(t *testing.T) {
	w, dir := newWorld(t), t.TempDir()
	w.Listen(dir)
	next := newWorld(t)
	next.Listen(dir) // as when the first has let go of the folder and not yet of the socket
	w.Close()
	if _, err := AskStatus(dir); err != nil {
		t.Error(err)
	}
}

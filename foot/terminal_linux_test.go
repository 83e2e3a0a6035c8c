package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/vancetope/transfer/foot/internal/fakebrain"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/cli"
)

// terminal is the far end of a pseudo-terminal: what a person would see.
type terminal struct {
	master *os.File
	slave  *os.File

	mu   sync.Mutex
	seen strings.Builder
	done chan struct{}
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 120}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{master: master, slave: slave, done: make(chan struct{})}
	go term.read()
	return term
}

// read ends when the last process has closed the terminal.
func (term *terminal) read() {
	defer close(term.done)
	b := make([]byte, 4096)
	for {
		n, err := term.master.Read(b)
		term.mu.Lock()
		term.seen.Write(b[:n])
		term.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.seen.String()
}

func (term *terminal) await(t *testing.T, want string) {
	t.Helper()
	deadline := time.Now().Add(fakebrain.Patience)
	for !strings.Contains(term.text(), want) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q on the terminal: %q", want, term.text())
		}
		time.Sleep(5 * time.Millisecond) // polling, bounded
	}
}

func TestATerminalShowsABarForASlowTransferAndTheLogAboveIt(t *testing.T) {
	b := fakebrain.New(t)
	term := newTerminal(t)
	p := command(t, runArgs(t, b, "--log-level", "info")...)
	p.Stdin, p.Stdout, p.Stderr = term.slave, term.slave, term.slave
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := term.slave.Close(); err != nil {
		t.Fatal(err)
	}
	peer := b.Await(t)
	term.await(t, "waiting for transfers\r\n")
	id := uuid.Must(uuid.NewV7())
	content := strings.Repeat("x", 4000)
	peer.Offer(id, "slow\x1b[2J.bin", content)
	if r := fakebrain.Expect[*frames.TransferInitResponse](peer); !r.Ok {
		t.Fatalf("refused: %+v", r)
	}
	// One chunk after the other until the transfer is old enough for a bar.
	seq := int64(0)
	for ; !strings.Contains(term.text(), "receiving slow"); seq++ {
		if seq == 1000 {
			t.Fatalf("no bar: %q", term.text())
		}
		peer.Send(&frames.TransferChunk{TransferID: id, Seq: seq, Bytes: []byte("x")})
		time.Sleep(10 * time.Millisecond) // a slow sender
	}
	peer.Send(&frames.TransferChunk{TransferID: id, Seq: seq, Bytes: []byte(content[seq:]), Last: true})
	if c := fakebrain.Expect[*frames.TransferComplete](peer); !c.Ok {
		t.Fatalf("%+v", c)
	}
	term.await(t, `received slow\x1b[2J.bin (3.9 KiB in `)
	term.await(t, "msg=transfer")
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.code(t); code != cli.OK {
		t.Errorf("exit code %d, want 0: %q", code, term.text())
	}
	<-term.done
	if strings.Contains(term.text(), "\x1b[2J") {
		t.Error("a peer's name cleared the screen")
	}
}

// inTerminal starts a program that has the terminal for everything.
func (term *terminal) inTerminal(t *testing.T, p *program) {
	t.Helper()
	p.Stdin, p.Stdout, p.Stderr = term.slave, term.slave, term.slave
	// A session of its own, whose terminal this is.
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := term.slave.Close(); err != nil {
		t.Fatal(err)
	}
}

func (term *terminal) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func TestInATerminalAPersonIsAskedOneQuestionAfterTheOther(t *testing.T) {
	b := fakebrain.New(t)
	withProgress(b)
	term := newTerminal(t)
	p := command(t, runArgs(t, b, "--confirm", "writes")...)
	term.inTerminal(t, p)
	peer := b.Await(t)
	term.await(t, "waiting for transfers\r\n")
	term.types(t, "y\n") // nothing was asked yet
	ids := []uuid.UUID{uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())}
	peer.Offer(ids[0], "d/a\x1b[2J", "hello")
	term.await(t, "\amay the Brain write d/a\\x1b[2J (5 B)?\r\n  y = yes, n = no (as after 5m0s), a = always in d/ and below it; or in another terminal: foot approve "+ids[0].String())
	peer.Offer(ids[1], "d/b", "hello")
	p.nothingWritten(t)
	term.types(t, "what?\n")
	term.await(t, "please type y, n or a")
	p.nothingWritten(t)
	term.types(t, "n\n")
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); r.Ok || *r.ErrorCode != "declined" || r.TransferID != ids[0] {
		t.Errorf("the first: %+v", r)
	}
	term.await(t, "d/a\\x1b[2J: declined\r\n")
	term.await(t, "write d/b (5 B)?")
	term.types(t, "a\n")
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); !r.Ok || r.TransferID != ids[1] {
		t.Errorf("the second: %+v", r)
	}
	peer.Offer(ids[2], "d/c", "hello")
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); !r.Ok || r.TransferID != ids[2] {
		t.Errorf("the third, in the same folder: %+v", r)
	}
	for _, id := range ids[1:] {
		peer.Send(&frames.TransferCancel{TransferID: id, Reason: "enough"})
	}
	term.types(t, "\x03") // Ctrl-C
	if code := p.code(t); code != cli.OK {
		t.Errorf("exit code %d, want 0: %q", code, term.text())
	}
	<-term.done
	if strings.Contains(term.text(), "\x1b[2J") {
		t.Error("a peer's name cleared the screen")
	}
	if strings.Contains(term.text(), "write d/c") {
		t.Error("asked in spite of always")
	}
}

func TestInTheBackgroundOfItsShellAFootGoesOnAndIsAnsweredFromElsewhere(t *testing.T) {
	b := fakebrain.New(t)
	withProgress(b)
	term := newTerminal(t)
	p := command(t, runArgs(t, b, "--confirm", "writes")...)
	// A shell with job control, and the Foot as its job in the background.
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	p.Args = append([]string{"sh", "-mc", `"$0" "$@" & wait`, p.Path}, p.Args[1:]...)
	p.Path = shell
	term.inTerminal(t, p)
	peer := b.Await(t)
	id := uuid.Must(uuid.NewV7())
	if err := os.MkdirAll(p.folder(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.folder(), "a"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	peer.Offer(id, "a", "hello")
	term.await(t, "write a (5 B)? It replaces the file that is there.\r\n")
	term.await(t, "foot approve "+id.String())
	out := p.mustRun(t, cli.OK, "status")
	if !strings.Contains(out.stdout.String(), "waiting for your approval") {
		t.Errorf("the status is %q", &out.stdout)
	}
	p.mustRun(t, cli.OK, "approve", id.String())
	if r := fakebrain.Await[*frames.TransferInitResponse](peer); !r.Ok {
		t.Errorf("refused: %+v", r)
	}
	term.await(t, "a: approved\r\n")
	peer.Close(1008, "replaced") // the way to end it: its process id is the shell's to know
	if code := p.code(t); code != cli.OK {
		t.Errorf("the shell's exit code %d: %q", code, term.text())
	}
	<-term.done
}

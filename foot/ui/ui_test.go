package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/vbauerster/mpb/v8"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

var (
	one = uuid.MustParse("018f0000-0000-7000-8000-000000000001")
	two = uuid.MustParse("018f0000-0000-7000-8000-000000000002")
)

var silent = slog.New(slog.DiscardHandler)

// clock is a time that moves only when told.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

// story tells a UI everything that can happen, in the order of a bad day.
func story(u UI, c *clock) {
	u.Connecting("wss://brain.example/brain/acme/ws")
	u.Reconnecting(1500*time.Millisecond, "connection refused")
	u.Connecting("wss://brain.example/brain/acme/ws")
	u.Connected(Connected{Tenant: "acme", ProjectID: "proj", FootID: "laptop", Root: "/home/u/.vancetope/foot/acme/proj"})
	u.Transfer(Transfer{ID: one, Direction: Download, Path: "reports/q2.pdf", State: Hashing, TotalBytes: 3 << 20})
	u.Transfer(Transfer{ID: one, Direction: Download, Path: "reports/q2.pdf", State: Streaming, TotalBytes: 3 << 20})
	c.advance(time.Second)
	u.Transfer(Transfer{ID: one, Direction: Download, Path: "reports/q2.pdf", State: Streaming, Bytes: 1 << 20, TotalBytes: 3 << 20})
	u.Transfer(Transfer{ID: two, Direction: Upload, Path: "a.wav", State: Hashing, TotalBytes: 10})
	u.Transfer(Transfer{ID: two, Direction: Upload, Path: "a.wav", State: Failed, TotalBytes: 10, Fault: fault.New(common.ErrorCodeSourceChanged)})
	c.advance(time.Second)
	u.Transfer(Transfer{ID: one, Direction: Download, Path: "reports/q2.pdf", State: Verifying, Bytes: 3 << 20, TotalBytes: 3 << 20})
	u.Transfer(Transfer{ID: one, Direction: Download, Path: "reports/q2.pdf", State: Complete, Bytes: 3 << 20, TotalBytes: 3 << 20})
	u.Approval(Approval{ID: two, Direction: Download, Path: "b.txt", Bytes: 10})
	u.Disconnected("connection lost")
	u.Refused("missing, unknown, revoked or expired token", "ask for a new token")
	u.Stopping(2)
}

func TestLinesTellEachChangeInASentence(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	u := newLines(&out, c.Now)
	story(u, c)
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	golden(t, "lines.txt", out.Bytes())
}

func TestJSONWritesTheFourPromisedEventsOnly(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	u := newJSON(&out, silent, c.Now)
	story(u, c)
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	golden(t, "events.jsonl", out.Bytes())
}

// golden compares with testdata/name. There is no flag that rewrites it: these
// outputs are promises.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

func TestNoOutputForPeopleCarriesAControlCharacterOfAPeer(t *testing.T) {
	const evil = "x\x1b]0;owned\a\n\u202e\u009b31m\xff"
	for name, build := range map[string]func(*bytes.Buffer) UI{
		"lines": func(b *bytes.Buffer) UI { return NewLines(b) },
		"bars":  func(b *bytes.Buffer) UI { return newBars(b, time.Now) },
		"json":  func(b *bytes.Buffer) UI { return NewJSON(b, silent) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			u := build(&out)
			u.Connecting(evil)
			u.Connected(Connected{Tenant: evil, ProjectID: evil, FootID: evil, Root: evil, Features: []string{evil}})
			u.Disconnected(evil)
			u.Reconnecting(time.Second, evil)
			u.Refused(evil, evil)
			for _, s := range []State{Queued, WaitingForApproval, Hashing, Streaming, Verifying, Suspended, Failed} {
				u.Transfer(Transfer{ID: one, Direction: Upload, Path: evil, State: s, Fault: fault.Texted(common.ErrorCodeInternal, evil)})
			}
			u.Approval(Approval{ID: one, Direction: Upload, Path: evil})
			if err := u.Close(); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
				for _, r := range line {
					if !unicode.IsPrint(r) {
						t.Fatalf("%U in the line %q", r, line)
					}
				}
			}
		})
	}
}

func TestJSONTellsTheLogWhyThereIsNoConnection(t *testing.T) {
	var out, log bytes.Buffer
	u := NewJSON(&out, slog.New(slog.NewTextHandler(&log, nil)))
	u.Reconnecting(time.Second, "connection refused")
	if out.Len() > 0 || !strings.Contains(log.String(), "connection refused") {
		t.Errorf("output %q, log %q", &out, &log)
	}
}

func TestJSONEscapesReadBackAsTheSameName(t *testing.T) {
	const name = "x\x1b\n\u202e\u009b\U000e0041é\"\\<&>"
	var out bytes.Buffer
	u := NewJSON(&out, silent)
	u.Disconnected(name)
	var back struct{ Reason string }
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Reason != name {
		t.Errorf("read back %q, want %q", back.Reason, name)
	}
}

func TestJSONThinsProgressButNeverAStateOrAnEnd(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	u := newJSON(&out, silent, c.Now)
	tell := func(s State, n int64) {
		u.Transfer(Transfer{ID: one, Direction: Download, Path: "a", State: s, Bytes: n, TotalBytes: 100})
	}
	tell(Streaming, 0)
	tell(Streaming, 1) // too soon
	c.advance(progressInterval)
	tell(Streaming, 2)
	tell(Streaming, 3) // too soon
	tell(Verifying, 100)
	tell(Complete, 100)
	if got := strings.Count(out.String(), "\n"); got != 4 {
		t.Errorf("%d events, want 4:\n%s", got, &out)
	}
	if len(u.pace.last) != 0 {
		t.Errorf("the ended transfer is still remembered: %v", u.pace.last)
	}
}

func TestSizesAndTimesRead(t *testing.T) {
	for in, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1 MiB",
		1 << 20: "1 MiB", 5 << 30: "5 GiB", 1 << 53: "8 PiB",
	} {
		if got := size(in); got != want {
			t.Errorf("size(%d) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[time.Duration]string{
		3 * time.Millisecond: "3ms", 1510 * time.Millisecond: "1.5s", 90500 * time.Millisecond: "1m31s",
	} {
		if got := seconds(in); got != want {
			t.Errorf("seconds(%v) = %q, want %q", in, got, want)
		}
	}
	if got := shorten("a/very/long/path.txt", 9); got != "…path.txt" {
		t.Errorf("shorten = %q", got)
	}
}

// lockedBuffer is an output that the bars' own goroutines may write to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestBarsShowASlowTransferAndLeaveALine(t *testing.T) {
	var out lockedBuffer
	c := newClock()
	refresh := make(chan any)
	u := newBars(&out, c.Now, mpb.WithManualRefresh(refresh), mpb.ForceTTY(), mpb.WithWidth(120))
	tell := func(s State, n int64) {
		u.Transfer(Transfer{ID: one, Direction: Download, Path: "big.bin", State: s, Bytes: n, TotalBytes: 100 << 20})
	}
	tell(Streaming, 0)
	if u.container != nil {
		t.Fatal("a bar at once")
	}
	c.now = time.Now().Add(-10 * time.Second) // the rate goes by the real time
	tell(Hashing, 100<<20)
	tell(Streaming, 0)
	c.now = time.Now()
	tell(Streaming, 50<<20)
	for range 3 { // when the third is taken the first one has been drawn
		refresh <- time.Now()
	}
	for _, want := range []string{"receiving big.bin", "50 %", "50.0 MiB / 100.0 MiB"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
	if !regexp.MustCompile(`100.0 MiB (5.0|4.[0-9]) MiB/s 1[0-9]s`).MatchString(out.String()) {
		t.Errorf("no rate and remaining time of the last ten seconds in %q", out.String())
	}
	if _, err := u.Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	tell(Complete, 100<<20)
	if u.container != nil || len(u.running) != 0 {
		t.Error("the bars outlive their last transfer")
	}
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "a log line\n") {
		t.Error("the log line is lost")
	}
	if !regexp.MustCompile(`received big.bin \(100 MiB in [0-9]+[a-z0-9]*\)\n$`).MatchString(out.String()) {
		t.Errorf("no closing line: %q", out.String())
	}
}

func TestABarSaysWhatIsBeingDone(t *testing.T) {
	var out lockedBuffer
	c := newClock()
	refresh := make(chan any)
	u := newBars(&out, c.Now, mpb.WithManualRefresh(refresh), mpb.ForceTTY(), mpb.WithWidth(120))
	u.Transfer(Transfer{ID: one, Direction: Upload, Path: "big.bin", State: WaitingForApproval, TotalBytes: 9})
	c.advance(time.Minute)
	u.Transfer(Transfer{ID: one, Direction: Upload, Path: "big.bin", State: WaitingForApproval, TotalBytes: 9})
	if u.container != nil {
		t.Fatal("a bar beside the question")
	}
	for _, s := range []State{Hashing, Streaming, Verifying} {
		u.Transfer(Transfer{ID: one, Direction: Upload, Path: "big.bin", State: s, Bytes: 1, TotalBytes: 9})
		c.advance(barAfter)
		u.Transfer(Transfer{ID: one, Direction: Upload, Path: "big.bin", State: s, Bytes: 2, TotalBytes: 9})
		before := len(out.String())
		for range 3 { // when the third is taken the first one has been drawn
			refresh <- time.Now()
		}
		drawn, word := out.String()[before:], strings.ReplaceAll(string(s), "_", " ")
		if strings.Contains(drawn, word) == (s == Streaming) {
			t.Errorf("in the state %s the bar says %q", s, drawn)
		}
	}
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCloseTakesRunningBarsAway(t *testing.T) {
	var out lockedBuffer
	c := newClock()
	u := newBars(&out, c.Now, mpb.WithManualRefresh(make(chan any)), mpb.WithWidth(120))
	for range 2 {
		u.Transfer(Transfer{ID: one, Direction: Upload, Path: "a", State: Streaming, TotalBytes: 0})
		u.Transfer(Transfer{ID: two, Direction: Upload, Path: "b", State: Streaming, TotalBytes: 9, Bytes: 9})
		c.advance(barAfter)
	}
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	if u.container != nil {
		t.Error("the container is still there")
	}
}

// brokenPipe is an output whose reader went away.
type brokenPipe struct{}

var errPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestABrokenOutputIsReportedAtCloseAndHarmsNothingBefore(t *testing.T) {
	for name, u := range map[string]UI{
		"lines": NewLines(brokenPipe{}), "json": NewJSON(brokenPipe{}, silent), "bars": newBars(brokenPipe{}, time.Now),
	} {
		u.Disconnected("a")
		u.Transfer(Transfer{ID: one, State: Complete})
		if err := u.Close(); !errors.Is(err, errPipe) {
			t.Errorf("%s: Close() = %v, want the pipe's error", name, err)
		}
	}
}

package main

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/internal/e2etest"
)

func TestMain(m *testing.M) { os.Exit(e2etest.Main(m)) }

func TestFiguresAreWhatTheirNamesSay(t *testing.T) {
	if got := jain(100, []float64{2, 2, 2, 2}); got != 1 {
		t.Errorf("Jain's index of equal speeds is %v", got)
	}
	if got := jain(100, []float64{1, math.Inf(1), math.Inf(1), math.Inf(1)}); got != 0.25 {
		t.Errorf("Jain's index when one of four has everything is %v", got)
	}
	for _, c := range []struct {
		values []time.Duration
		p      int
		want   time.Duration
	}{
		{[]time.Duration{5}, 99, 5},
		{[]time.Duration{4, 1, 3, 2}, 50, 2},
		{[]time.Duration{4, 1, 3, 2}, 99, 4},
		{[]time.Duration{4, 1, 3, 2}, 75, 3},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("percentile %d of %v is %v, want %v", c.p, c.values, got, c.want)
		}
	}
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median of three: %v", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of four: %v", got)
	}
}

func TestGoalsAreJudgedByTheirDirection(t *testing.T) {
	least := goalResult{Must: 0.5, Aim: 0.7, Got: 0.6}
	if !least.reaches(least.Must) || least.reaches(least.Aim) {
		t.Error("0.6 must reach at least 0.5 and not 0.7")
	}
	most := goalResult{Must: 30, Aim: 10, Most: true, Got: 20}
	if !most.reaches(most.Must) || most.reaches(most.Aim) {
		t.Error("20 must reach at most 30 and not 10")
	}
}

// A case that only --only left out must not make a goal of nothing.
func TestAGoalNeedsEverythingItIsMadeOf(t *testing.T) {
	r := newResults(1)
	r.Groups = []groupResult{{Name: "1G", Baseline: baselineH, Cases: []caseResult{
		{Name: baselineH, Samples: []sample{{Seconds: 1}}},
		{Name: ourCase(upload, "256KiB"), Samples: []sample{{Seconds: 2}}},
	}}}
	r.Groups[0].summarize()
	r.judge()
	if len(r.Goals) != 0 {
		t.Errorf("goals without the download and without scp: %+v", r.Goals)
	}
	if got := r.find("1G", ourCase(upload, "256KiB")).Speed; got != 0.5 {
		t.Errorf("speed %v, want half of the baseline's", got)
	}
}

func TestOnlyPicksGroupsAndCasesWithTheirBaseline(t *testing.T) {
	g := group{name: "256M", baseline: baselineH}
	for _, c := range []struct {
		only, name string
		want       bool
	}{
		{"", "upload 64KiB", true},
		{"256M", "upload 64KiB", true},
		{"25*", "upload 64KiB", true},
		{"256M/upload*", "upload 64KiB", true},
		{"256M/upload*", "download 64KiB", false},
		{"256M/upload*", baselineH, true},
		{"1G", "upload 64KiB", false},
		{"1G/*", baselineH, false},
	} {
		if got := g.wanted(c.only) && g.matches(c.only, c.name); got != c.want {
			t.Errorf("--only %q, case %q: %v", c.only, c.name, got)
		}
	}
}

func TestTheReportReplacesOnlyWhatIsBetweenItsMarkers(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + reportBegins + "old\n" + reportEnds + "after\n")
	if err := replaceReport(page, "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + reportBegins + "new\n" + reportEnds + "after\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	write("no markers\n")
	if err := replaceReport(page, "new\n"); err == nil || !strings.Contains(err.Error(), "has no place for the report") {
		t.Errorf("a page without markers: %v", err)
	}
}

func TestTheBaselineNoticesAFileThatChangesOnTheWay(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "source")
	digest, err := source(file, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httpServerCmd{Dir: dir})
	defer server.Close()
	client := httpClientCmd{File: file, URL: server.URL + "/copy"}
	if err := client.Run(invocation{t.Context()}); err != nil {
		t.Fatal(err)
	}
	if err := arrived(filepath.Join(dir, "copy"), digest); err != nil {
		t.Error(err)
	}
	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set(digestHeader, strings.Repeat("0", 64))
		w.WriteHeader(http.StatusCreated)
	}))
	defer liar.Close()
	client.URL = liar.URL + "/copy"
	if err := client.Run(invocation{t.Context()}); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("a server with another digest: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := arrived(filepath.Join(dir, "other"), digest); err == nil {
		t.Error("a wrong copy passed the check")
	}
}

// The pinger passes every message on as it was, of any size and either way, keeps
// its pings and their pongs from the other end, and counts each ping once.
func TestThePingerMeasuresAndDisturbsNothing(t *testing.T) {
	upgrader := websocket.Upgrader{}
	pings := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		for {
			kind, text, err := c.ReadMessage()
			if err != nil {
				return
			}
			if err := c.WriteMessage(kind, text); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	s := &stage{}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	var p pinger
	url, err := p.between(s, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(url, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer := c.PingHandler()
	c.SetPingHandler(func(payload string) error {
		pings <- payload
		return answer(payload)
	})
	stop := p.start()
	deadline := time.Now().Add(10 * time.Second)
	for rounds := 0; rounds < 40 || len(pings) < 3; rounds++ {
		if time.Now().After(deadline) {
			t.Fatalf("only %d pings in %d messages", len(pings), rounds)
		}
		for _, size := range []int{0, 1, 125, 126, 65535, 65536, 300_000} {
			sent := strings.Repeat("x", size)
			if err := c.WriteMessage(websocket.TextMessage, []byte(sent)); err != nil {
				t.Fatal(err)
			}
			_, got, err := c.ReadMessage()
			if err != nil || string(got) != sent {
				t.Fatalf("%d bytes came back as %d: %v", size, len(got), err)
			}
		}
	}
	stop()
	go c.ReadMessage() // answers the last pings
	trips := p.collect()
	if len(trips) < 3 || p.waiting() != 0 {
		t.Errorf("%d round trips, %d waiting", len(trips), p.waiting())
	}
	for _, trip := range trips {
		if trip <= 0 || trip >= 2*time.Second {
			t.Errorf("a round trip of %v", trip)
		}
	}
}

// The whole of it with the built programs, but for the size of what is moved.
func TestAGroupRunsInTurnsAndLeavesNothing(t *testing.T) {
	binaries := e2etest.ShippedBinaries(t)
	memory, disk := t.TempDir(), t.TempDir()
	command := &runCmd{Rounds: 2, Brain: binaries.Brain, Foot: binaries.Foot, Memory: memory, Disk: disk}
	const size = 300_000
	g := group{name: "tiny", bytes: size, baseline: baselineOne, prepare: func(ctx context.Context, s *stage) ([]contender, error) {
		p, err := s.newPair(ctx, pairOptions{folder: s.memory, chunk: "64KiB"})
		if err != nil {
			return nil, err
		}
		one, err := p.oneFile(baselineOne, download, size)
		if err != nil {
			return nil, err
		}
		many, err := crowd{pair: p, direction: upload, files: 8, size: 1000, atOnce: 4}.contender("many")
		return []contender{one, many}, err
	}}
	result, err := g.measure(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Cases) != 2 || len(result.Cases[0].Samples) != 2 || result.Cases[0].Speed != 1 || result.Cases[1].Speed <= 0 {
		t.Errorf("%+v", result)
	}
	if text := result.table(); !strings.Contains(text, "| many | ") || strings.Count(text, "\n") != 4 {
		t.Error(text)
	}
	for _, dir := range []string{memory, disk} {
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left in %s: %v, %v", dir, left, err)
		}
	}
}

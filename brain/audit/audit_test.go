package audit

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/vancetope/transfer/gen/common"
)

func lines(t *testing.T, name string) []Line {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var all []Line
	for raw := range bytes.Lines(text) {
		var l Line
		if err := json.Unmarshal(raw, &l); err != nil || raw[len(raw)-1] != '\n' {
			t.Fatalf("%q: %v", raw, err)
		}
		all = append(all, l)
	}
	return all
}

func open(t *testing.T) (*Log, string, *bytes.Buffer) {
	t.Helper()
	name := filepath.Join(t.TempDir(), FileName)
	var b bytes.Buffer
	l, err := Open(name, slog.New(slog.NewTextHandler(&b, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return l, name, &b
}

func TestALogIsForItsOwnerAndGrows(t *testing.T) {
	l, name, _ := open(t)
	n := int64(5)
	l.Write(Line{Tenant: "acme", Project: "p", Token: "abc", Role: "agent", Name: "helper", Action: "client_file_upload",
		LocalPath: "a", DirName: "d", Path: "b", Bytes: &n, Digest: "sha256:00", Outcome: OK})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Open(name, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.Write(Line{Action: "transfer_cancel", Outcome: Failed, ErrorCode: common.ErrorCodeNotFound})
	got := lines(t, name)
	if len(got) != 2 || got[0].Name != "helper" || *got[0].Bytes != 5 || got[0].Time.IsZero() || got[1].ErrorCode != common.ErrorCodeNotFound {
		t.Errorf("%+v", got)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestNamesFromElsewhereAreHarmless(t *testing.T) {
	l, name, _ := open(t)
	defer l.Close()
	l.Write(Line{Action: "client_file_download", LocalPath: "a\x1b[2J\n\u202eb", DirName: strings.Repeat("x", 9000), Outcome: OK})
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(text, []byte("\n")) != 1 || bytes.Contains(text, []byte("\x1b")) || bytes.Contains(text, []byte("\u202e")) || len(text) > 6000 {
		t.Errorf("%q", text)
	}
	if got := lines(t, name)[0].LocalPath; got != `a\x1b[2J\n\u202eb` {
		t.Errorf("%q", got)
	}
}

func TestALogThatWasMovedAwayIsBegunAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be moved there")
	}
	l, name, _ := open(t)
	defer l.Close()
	l.Write(Line{Action: "one", Outcome: OK})
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	l.Write(Line{Action: "two", Outcome: OK})
	if old, now := lines(t, name+".1"), lines(t, name); len(old) != 1 || len(now) != 1 || now[0].Action != "two" {
		t.Errorf("%v, %v", old, now)
	}
}

func TestManyWritersDoNotMixTheirLines(t *testing.T) {
	l, name, _ := open(t)
	defer l.Close()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 20 {
				l.Write(Line{Action: "x", LocalPath: strings.Repeat("p", 300), Outcome: OK})
			}
		})
	}
	all.Wait()
	if got := lines(t, name); len(got) != 400 {
		t.Errorf("%d lines", len(got))
	}
}

func TestALogThatCannotBeWrittenIsToldOnce(t *testing.T) {
	l, name, told := open(t)
	defer l.Close()
	if err := os.RemoveAll(filepath.Dir(name)); err != nil {
		t.Fatal(err)
	}
	l.Write(Line{Action: "one", Outcome: OK})
	l.Write(Line{Action: "two", Outcome: OK})
	if n := strings.Count(told.String(), "audit log"); n != 1 {
		t.Errorf("told %d times: %s", n, told)
	}
	if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	l.Write(Line{Action: "three", Outcome: OK})
	if got := lines(t, name); len(got) != 2 || got[0].Action != LinesLost || got[0].Lost != 2 || got[1].Action != "three" {
		t.Errorf("%v", got)
	}
}

func TestALineThatAFullDiskToreIsTakenBackAndToldAsLost(t *testing.T) {
	l, name, told := open(t)
	defer l.Close()
	l.Write(Line{Action: "one", Outcome: OK})
	room := 20
	l.write = func(f *os.File, text []byte) (int, error) {
		n, err := f.Write(text[:min(room, len(text))])
		if room -= n; err == nil && n < len(text) {
			err = syscall.ENOSPC
		}
		return n, err
	}
	l.Write(Line{Action: "two", Outcome: OK})
	l.Write(Line{Action: "three", Outcome: OK})
	if got := lines(t, name); len(got) != 1 {
		t.Errorf("on the full disk: %+v", got)
	}
	room = 1 << 20
	l.Write(Line{Action: "four", Outcome: OK})
	l.Write(Line{Action: "five", Outcome: OK})
	got := lines(t, name)
	if len(got) != 4 || got[1].Action != LinesLost || got[1].Lost != 2 || got[1].Outcome != Failed || got[2].Action != "four" || got[3].Lost != 0 {
		t.Errorf("%+v", got)
	}
	if n := strings.Count(told.String(), "audit log"); n != 1 {
		t.Errorf("told %d times: %s", n, told)
	}
}

func TestWhatFollowsATornLineIsReadable(t *testing.T) {
	l, name, _ := open(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	const torn = `{"time":"2026-05`
	if err := os.WriteFile(name, []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Open(name, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.Write(Line{Action: "one", Outcome: OK})
	l.Write(Line{Action: "two", Outcome: OK})
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rest, ok := strings.CutPrefix(string(text), torn+"\n")
	if !ok || strings.Count(rest, "\n") != 2 || !strings.HasPrefix(rest, "{") {
		t.Errorf("%q", text)
	}
}

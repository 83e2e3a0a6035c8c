package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

type command struct {
	N    int  `help:"A number." default:"1"`
	Need bool `help:"Never mind."`
}

func (c *command) Run(do func() error) error { return do() }

type grammar struct {
	LogFlags
	Do command `cmd:"" help:"Does it."`
}

func execute(do func() error, args ...string) (code int, stdout, stderr string) {
	var out, log bytes.Buffer
	p := Program{Name: "prog", Description: "A program.", Example: "prog do", Grammar: &grammar{},
		Vars: kong.Vars{"log_level": "warn"}, Out: &out, Err: &log}
	code = p.Execute(args, do)
	return code, out.String(), log.String()
}

func TestEveryEndHasItsExitCode(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		do     func() error
		code   int
		stderr string
	}{
		"success":            {[]string{"do"}, func() error { return nil }, OK, ""},
		"an exit":            {[]string{"do"}, func() error { return &Exit{InUse, errors.New("taken")} }, InUse, "prog: taken\n"},
		"a silent exit":      {[]string{"do"}, func() error { return &Exit{Code: Failed} }, Failed, ""},
		"an exit in a chain": {[]string{"do"}, func() error { return errors.Join(errors.New("a"), Usagef("b")) }, Usage, "prog: a\nb\n"},
		"any other error":    {[]string{"do"}, func() error { return errors.New("odd") }, Internal, "prog: internal error: odd\n"},
		"a panic":            {[]string{"do"}, func() error { panic("ouch") }, Internal, "internal error: ouch\n"},
		"no command":         {nil, nil, Usage, "a command is needed, such as prog do"},
		"unknown command":    {[]string{"dont"}, nil, Usage, "prog --help lists"},
		"unknown flag":       {[]string{"do", "--later"}, nil, Usage, "unknown flag --later"},
		"bad value":          {[]string{"do", "--n=x"}, nil, Usage, "--n"},
		"bad log format":     {[]string{"do", "--log-format=xml"}, nil, Usage, "--log-format"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := execute(c.do, c.args...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.stderr) || (c.stderr == "") != (stderr == "") {
				t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

func TestAnArgumentThatIsNotUTF8IsRefused(t *testing.T) {
	ran := func() error { t.Error("the command ran"); return nil }
	for _, args := range [][]string{{"do", "--n=1", "--log-format=t\xff"}, {"\xc3\x28"}, {"do", "\xff", "--version"}} {
		code, stdout, stderr := execute(ran, args...)
		if code != Usage || stdout != "" || !strings.Contains(stderr, "is not UTF-8") || !utf8.ValidString(stderr) {
			t.Errorf("%q: code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	if code, _, stderr := execute(func() error { return nil }, "do", "--n=1"); code != OK {
		t.Errorf("plain text: code %d, stderr %q", code, stderr)
	}
}

func TestHelpIsAResult(t *testing.T) {
	code, stdout, stderr := execute(nil, "do", "--help")
	if code != OK || !strings.Contains(stdout, "A number.") || stderr != "" {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestLogFlagsChooseFormatAndLevel(t *testing.T) {
	var b bytes.Buffer
	log := (&LogFlags{LogFormat: "json", LogLevel: "warn"}).New(&b)
	log.Info("hidden")
	log.Warn("shown", slog.Int("n", 1))
	if got := b.String(); !strings.HasPrefix(got, "{") || strings.Contains(got, "hidden") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
	b.Reset()
	(&LogFlags{LogFormat: "text", LogLevel: "debug"}).New(&b).Debug("seen")
	if !strings.Contains(b.String(), "msg=seen") {
		t.Errorf("%q", b.String())
	}
}

func TestATokenFileHoldsOneTokenOnly(t *testing.T) {
	for text, want := range map[string]string{
		"vt_abc\n": "vt_abc", " vt_abc \r\n": "vt_abc", "": "", "\n": "", "a b": "", "vt_a\nvt_b\n": "", "vt_\x00": "", "é": "",
		strings.Repeat("a", maxToken+1): "",
	} {
		name := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadToken(name, slog.New(slog.DiscardHandler))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%.20q: %.20q, %v", text, got, err)
		}
	}
	if _, err := ReadToken(filepath.Join(t.TempDir(), "none"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a missing file was read")
	}
}

package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestAHelpTextEndsWithExamples(t *testing.T) {
	var out, log strings.Builder
	p := Program{Name: "prog", Grammar: &grammar{}, Out: &out, Err: &log, Vars: map[string]string{"log_level": "warn"},
		Examples: Examples{"": {"prog do"}, "do": {"prog do --n=3", "prog do 'a b' > file"}}}
	for args, want := range map[string]string{
		"--help":    "\nExamples:\n  prog do\n",
		"do --help": "\nExamples:\n  prog do --n=3\n  prog do 'a b' > file\n",
	} {
		out.Reset()
		if code := p.Execute(strings.Fields(args)); code != OK || !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: %d, %s", args, code, out.String())
		}
	}
	missing, err := p.Missing()
	if len(missing) != 0 || err == nil || !strings.Contains(err.Error(), "a b") {
		t.Errorf("%v, %v", missing, err)
	}
	p.Examples = nil
	if missing, err := p.Missing(); err != nil || !slices.Equal(missing, []string{"do"}) {
		t.Errorf("%v, %v", missing, err)
	}
}

func TestAnExampleIsSplitAsAShellDoes(t *testing.T) {
	for line, want := range map[string][]string{
		"a  b":           {"a", "b"},
		"a '{\"b\": 1}'": {"a", `{"b": 1}`},
		"a '' c":         {"a", "", "c"},
		"a b > c":        {"a", "b"},
		"a - < c":        {"a", "-"},
		"a 'b > c'":      {"a", "b > c"},
	} {
		if got := shellWords(line); !slices.Equal(got, want) {
			t.Errorf("%s: %q", line, got)
		}
	}
}

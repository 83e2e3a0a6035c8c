package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type completed struct {
	LogFlags
	Run struct {
		Role string `enum:"foot,agent" default:"foot" help:"What for."`
		Name string `help:"A name."`
		Fast bool   `help:"Be fast."`
	} `cmd:"" help:"Run: it."`
	Token struct {
		Create struct{} `cmd:""`
		List   struct{} `cmd:"" help:"List\nthem."`
	} `cmd:"" help:"Tokens."`
	Hidden     struct{}      `cmd:"" hidden:""`
	Completion CompletionCmd `cmd:"" help:"Complete."`
}

func TestACommandLineIsCompletedByTheGrammar(t *testing.T) {
	for line, want := range map[string][]string{
		"":                        {"completion", "run", "token"},
		"to":                      {"token"},
		"token ":                  {"create", "list"},
		"token l":                 {"list"},
		"hid":                     nil,
		"run --r":                 {"--role"},
		"run --role ":             {"agent", "foot"},
		"run --role f":            {"foot"},
		"run --role=a":            {"--role=agent"},
		"run --role = a":          {"agent"},
		"run --role =":            {"agent", "foot"},
		"run --name ":             nil, // the shell's own: files
		"run --name x --f":        {"--fast"},
		"run --fast ":             nil,
		"--log-level debug run -": {"--fast", "--help", "--log-format", "--log-level", "--name", "--role", "--version"},
		"completion ":             {"bash", "fish", "zsh"},
		"completion bash ":        nil,
		"nonsense ":               {"completion", "run", "token"},
	} {
		var out, log strings.Builder
		p := Program{Name: "prog", Grammar: &completed{}, Out: &out, Err: &log, Vars: map[string]string{"log_level": "warn"}}
		if code := p.Execute(append([]string{"__complete"}, strings.Split(line, " ")...)); code != OK {
			t.Fatalf("%s: %d, %s", line, code, log.String())
		}
		var got []string
		for l := range strings.Lines(out.String()) {
			word, _, ok := strings.Cut(l, "\t")
			if !ok {
				t.Errorf("%s: %q", line, l)
			}
			got = append(got, word)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// The scripts are tried in the shells that are there, with a program that answers
// as ours does; bash has to be.
func TestTheScriptsWorkInTheirShells(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("prog", "#!/bin/sh\nprintf 'token\\tTokens: all of them.\\n--role=foot\\t\\n'\nprintf '<%s>' \"$@\" >"+filepath.Join(dir, "asked")+"\n", 0o755)
	for shell, c := range map[string]struct {
		needed bool
		after  string
		args   []string
		want   string
	}{
		"bash": {true, "COMP_WORDS=(prog run --n ''); COMP_CWORD=3; _prog_complete; printf '%s\\n' \"${COMPREPLY[@]}\"\n", nil, "token\n--role=foot\n"},
		"zsh": {false, "_describe() { print -l -- ${(P)4} }\ncompdef() { : }\nwords=(prog run --n ''); CURRENT=4; _prog\n", []string{"-f"},
			"token:Tokens: all of them.\n--role=foot:\n"},
		"fish": {false, "complete -C 'prog run --n ' | string split -f1 \\t\n", []string{"--no-config"}, "--role=foot\ntoken\n"},
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil && c.needed {
				t.Fatal(err)
			}
			if err != nil {
				t.Skip("not installed here")
			}
			script := completionScripts[shell]
			if shell == "zsh" { // compdef comes with compinit, which looks at files of this machine
				script = "compdef() { : }\n" + script
			}
			file := write(shell+".script", strings.ReplaceAll(script, "PROGRAM", "prog")+c.after, 0o600)
			cmd := exec.CommandContext(t.Context(), path, append(c.args, file)...)
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			lines := strings.SplitAfter(string(out), "\n")
			if shell == "fish" {
				slices.Sort(lines)
			}
			if got := strings.Join(lines, ""); got != c.want {
				t.Errorf("%q", got)
			}
			asked, err := os.ReadFile(filepath.Join(dir, "asked"))
			if err != nil || string(asked) != "<__complete><run><--n><>" {
				t.Errorf("asked %q, %v", asked, err)
			}
		})
	}
}

func TestTheVersionIsForPeopleAndPrograms(t *testing.T) {
	for args, want := range map[string]string{
		"--version":        "prog dev (protocol 1, commit unknown)\n",
		"run --version":    "prog dev (protocol 1, commit unknown)\n",
		"--version --json": `{"version":"dev","protocol":1,"commit":""}` + "\n",
		"--json --version": `{"version":"dev","protocol":1,"commit":""}` + "\n",
	} {
		var out, log strings.Builder
		p := Program{Name: "prog", Grammar: &completed{}, Out: &out, Err: &log, Vars: map[string]string{"log_level": "warn"}}
		if code := p.Execute(strings.Fields(args)); code != OK || out.String() != want {
			t.Errorf("%s: %d, %q, %q", args, code, out.String(), log.String())
		}
	}
}

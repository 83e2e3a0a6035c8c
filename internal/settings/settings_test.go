package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vancetope/transfer/gen/common"
	"pgregory.net/rapid"
)

// home gives the test a home directory of its own.
func home(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	return dir
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func load(t *testing.T, o Options) *Settings {
	t.Helper()
	s, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fromYAML loads a Brain's settings from a file of that text.
func fromYAML(t *testing.T, text string) (*Settings, error) {
	t.Helper()
	home(t)
	return Load(Options{Program: ForBrain, File: write(t, filepath.Join(t.TempDir(), "s.yaml"), text)})
}

func TestDefaultsAreThoseOfTheSpecification(t *testing.T) {
	dir := home(t)
	brain := load(t, Options{Program: ForBrain})
	want := Transfer{
		ChunkSize: 65536, PhaseTimeout: 30 * time.Second, CleanupInterval: 5 * time.Minute,
		MaxUploadSize: 100 << 20, MaxDownloadSize: 100 << 20, BrainModeMask: 0o644,
		MaxFrameSize: 4 << 20, PingInterval: 20 * time.Second, MaxConcurrent: 16,
	}
	if diff := cmp.Diff(want, brain.Transfer); diff != "" {
		t.Error(diff)
	}
	if want := filepath.Join(dir, ".vancetope", "brain", "workspaces"); brain.Workspace.Root != want {
		t.Errorf("workspace root %q, want %q", brain.Workspace.Root, want)
	}

	foot := load(t, Options{Program: ForFoot})
	if foot.Transfer.FootModeMask != 0o755 || foot.Transfer.BrainModeMask != 0 {
		t.Errorf("masks of a Foot: %o and %o", foot.Transfer.FootModeMask, foot.Transfer.BrainModeMask)
	}
	wantFoot := Foot{WorkspaceRoot: filepath.Join(dir, ".vancetope", "foot"), Access: common.AccessEdit,
		Confirm: ConfirmNever, ConfirmTimeout: 5 * time.Minute, ReconnectMin: time.Second, ReconnectMax: 30 * time.Second}
	if diff := cmp.Diff(wantFoot, foot.Foot); diff != "" {
		t.Error(diff)
	}
}

func TestNestedAndDottedKeysMeanTheSame(t *testing.T) {
	for _, text := range []string{
		"vance.transfer.chunk-size: 1KiB\n",
		"vance:\n  transfer:\n    chunk-size: 1KiB\n",
		"vance.transfer:\n  chunk-size: 1KiB\n",
		"vance:\n  transfer.chunk-size: \"1024\"\n  workspace:\n    # root: /x\n",
	} {
		s, err := fromYAML(t, text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if s.Transfer.ChunkSize != 1024 || s.Origin("vance.transfer.chunk-size") != FromFile {
			t.Errorf("%q: %d from %s", text, s.Transfer.ChunkSize, s.Origin("vance.transfer.chunk-size"))
		}
	}
}

// Hazard: masks read as decimal numbers.
func TestMasksAreOctalHoweverTheyAreWritten(t *testing.T) {
	for _, text := range []string{"0644", `"0644"`, "644", "'644'", "0o644"} {
		s, err := fromYAML(t, "vance.transfer.brain-mode-mask: "+text+"\n")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if s.Transfer.BrainModeMask != fs.FileMode(0o644) {
			t.Errorf("%s in the file is %o", text, s.Transfer.BrainModeMask)
		}
	}
	for _, text := range []string{"0644", "644", "0o644"} {
		s := load(t, Options{Program: ForBrain, Environ: []string{"VANCE_TRANSFER_BRAIN_MODE_MASK=" + text}})
		if s.Transfer.BrainModeMask != fs.FileMode(0o644) {
			t.Errorf("%s in the environment is %o", text, s.Transfer.BrainModeMask)
		}
	}
	for _, text := range []string{"0800", "1777", "0x1A4", "rw-r--r--", "-644"} {
		if s, err := fromYAML(t, "vance.transfer.brain-mode-mask: "+text+"\n"); err == nil {
			t.Errorf("%s was taken as %o", text, s.Transfer.BrainModeMask)
		}
	}
}

func TestTheStrongerOriginWins(t *testing.T) {
	dir := home(t)
	write(t, filepath.Join(dir, ".vancetope", "foot.yaml"),
		"vance.foot: {workspace.root: /from/file, reconnect-min: 2s, reconnect-max: 3s}\n")
	s := load(t, Options{
		Program: ForFoot,
		Environ: []string{"PATH=/bin", "VANCE_URL=http://x", "VANCE_FOOT_WORKSPACE_ROOT=/from/env", "VANCE_FOOT_RECONNECT_MIN=2500ms"},
		Flags:   map[string]string{"vance.foot.workspace.root": "~/from/flag"},
	})
	got := map[string]Value{}
	for _, v := range s.Values() {
		if v.Origin != FromDefault {
			got[v.Name] = v
		}
	}
	want := map[string]Value{
		"vance.foot.workspace.root": {"vance.foot.workspace.root", filepath.Join(dir, "from", "flag"), FromFlag},
		"vance.foot.reconnect-min":  {"vance.foot.reconnect-min", "2.5s", FromEnv},
		"vance.foot.reconnect-max":  {"vance.foot.reconnect-max", "3s", FromFile},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheWorkspacesLieInTheDataDirectoryUnlessSaidOtherwise(t *testing.T) {
	dir := home(t)
	data, other := filepath.Join(dir, "data"), filepath.Join(dir, "other")
	flags := map[string]string{"vance.brain.data": data}
	s := load(t, Options{Program: ForBrain, Flags: flags})
	if s.Workspace.Root != filepath.Join(data, "workspaces") || s.Origin("vance.workspace.root") != FromDefault {
		t.Errorf("%q from %s", s.Workspace.Root, s.Origin("vance.workspace.root"))
	}
	s = load(t, Options{Program: ForBrain, Flags: flags, Environ: []string{"VANCE_WORKSPACE_ROOT=" + other}})
	if s.Workspace.Root != other || s.Origin("vance.workspace.root") != FromEnv {
		t.Errorf("%q from %s", s.Workspace.Root, s.Origin("vance.workspace.root"))
	}
}

func TestLevelsSwitchesCountsAndAddresses(t *testing.T) {
	home(t)
	foot := load(t, Options{Program: ForFoot, Environ: []string{
		"VANCE_FOOT_ACCESS=read", "VANCE_FOOT_WORKSPACE_ALLOW_GIT_WRITES=ON", "VANCE_FOOT_STATE=",
	}})
	if foot.Foot.Access != common.AccessRead || !foot.Foot.AllowGitWrites || foot.Foot.State != "" {
		t.Errorf("%+v", foot.Foot)
	}
	brain := load(t, Options{Program: ForBrain, Environ: []string{
		"VANCE_TRANSFER_MAX_CONCURRENT=1024", "VANCE_BRAIN_LISTEN=[::1]:0", "VANCE_MCP_SESSION_TIMEOUT=1d",
		"VANCE_BRAIN_PUBLIC_URL=https://brain.example:8443/base/", "VANCE_BRAIN_METRICS_LISTEN=",
	}})
	if brain.Brain.PublicURL != "https://brain.example:8443/base" || brain.Brain.MetricsListen != "" {
		t.Errorf("%+v", brain.Brain)
	}
	if brain.Transfer.MaxConcurrent != 1024 || brain.Brain.Listen != "[::1]:0" || brain.MCP.SessionTimeout != 24*time.Hour {
		t.Errorf("%+v %+v %+v", brain.Transfer, brain.Brain, brain.MCP)
	}
}

func TestWhatIsWrongIsRefusedWithNameValueRangeAndRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		says []string
	}{
		"above the range":     {"vance.transfer.chunk-size: 2MiB", []string{"vance.transfer.chunk-size", `"2MiB"`, "out of range", "1B to 1MiB", "s.yaml:1"}},
		"below the range":     {"vance.transfer.phase-timeout: 99ms", []string{"vance.transfer.phase-timeout", `"99ms"`, "100ms to 1h0m0s"}},
		"no such level":       {"vance.foot.access: write", []string{"vance.foot.access", `"write"`, "read or edit"}},
		"no such choice":      {"vance.foot.confirm: reads", []string{"vance.foot.confirm", `"reads"`, "never or writes or all"}},
		"half on":             {"vance.foot.workspace.allow-git-writes: maybe", []string{"allow-git-writes", "on or off"}},
		"nobody at a time":    {"vance.transfer.max-concurrent: 0", []string{"out of range", "1 to 1024"}},
		"half a transfer":     {"vance.transfer.max-concurrent: 1.5", []string{"whole number", "1 to 1024"}},
		"no port":             {"vance.brain.listen: 127.0.0.1", []string{"HOST:PORT", "127.0.0.1:9990"}},
		"figures nowhere":     {"vance.brain.metrics-listen: 9991", []string{"vance.brain.metrics-listen", "HOST:PORT"}},
		"a name, no address":  {"vance.brain.public-url: brain.example", []string{"vance.brain.public-url", "https://brain.example"}},
		"another scheme":      {"vance.brain.public-url: ftp://brain.example", []string{"vance.brain.public-url", "https://brain.example"}},
		"a user in it":        {"vance.brain.public-url: https://me@brain.example", []string{"has a user"}},
		"a query in it":       {"vance.brain.public-url: https://brain.example/?a", []string{"has a user, a query or a fragment"}},
		"a fragment in it":    {`vance.brain.public-url: "https://brain.example/#"`, []string{"has a user, a query or a fragment"}},
		"zero chunk":          {"vance.transfer.chunk-size: 0", []string{"out of range", "1B to 1MiB"}},
		"negative":            {"vance.transfer.max-upload-size: -1", []string{"out of range", "0B to 8PiB"}},
		"too large a number":  {"vance.transfer.max-upload-size: 99999999999999999999", []string{"out of range"}},
		"overflowing unit":    {"vance.transfer.max-upload-size: 9000000000PiB", []string{"out of range"}},
		"decimal unit":        {"vance.transfer.chunk-size: 64kB", []string{"not a size", "KiB"}},
		"duration lacks unit": {"vance.transfer.ping-interval: 20", []string{"not a duration", "such as 1s"}},
		"unknown name":        {"vance.transfer.chunksize: 1", []string{"unknown setting vance.transfer.chunksize", "did you mean vance.transfer.chunk-size?"}},
		"later issue's name":  {"vance.transfer.resume-window: 10m", []string{"unknown setting vance.transfer.resume-window"}},
		"not ours at all":     {"server.port: 80", []string{"unknown setting server.port", "the settings are vance.brain.data"}},
		"no value":            {"vance.transfer.chunk-size:", []string{"not a single value"}},
		"a list":              {"vance.transfer.chunk-size: [1, 2]", []string{"not a single value"}},
		"an alias":            {"vance.transfer: {max-upload-size: &x 5, max-download-size: *x}", []string{"vance.transfer.max-download-size", "not a single value"}},
		"given twice":         {"vance.transfer.chunk-size: 1\nvance: {transfer: {chunk-size: 2}}", []string{"is the second value given", "s.yaml:1"}},
		"a list as the file":  {"- 1", []string{"mapping of names to values"}},
		"a bare word":         {"hello", []string{"mapping of names to values"}},
		"broken YAML":         {"a: [", []string{"is not YAML"}},
		"two documents":       {"vance.transfer.chunk-size: 1\n---\nvance.transfer.chunk-size: 2", []string{"more than one YAML document"}},
		"other program's":     {"vance.foot.reconnect-min: soon", []string{"vance.foot.reconnect-min", "not a duration"}},
		"someone's home":      {"vance.workspace.root: ~root/x", []string{"only ~/ is"}},
		"empty path":          {`vance.workspace.root: ""`, []string{"not a path"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fromYAML(t, c.yaml)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestTheListOfSettingsIsToldOnceHoweverManyNamesAreUnknown(t *testing.T) {
	_, err := fromYAML(t, "server.port: 80\nserver.host: x\nserver.name: y\n")
	if err == nil || strings.Count(err.Error(), "the settings are") != 1 || strings.Count(err.Error(), "remove it") != 3 {
		t.Errorf("%v", err)
	}
}

func TestAllThatIsWrongIsToldAtOnce(t *testing.T) {
	_, err := fromYAML(t, "vance.transfer: {chunk-size: 0, ping-interval: 0s, nope: 1}\n")
	for _, part := range []string{"chunk-size", "ping-interval", "nope"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not speak of %s", err, part)
		}
	}
	var one *Error
	if !errors.As(err, &one) || one.Name == "" || one.Remedy == "" {
		t.Errorf("no *Error in %v", err)
	}
}

func TestAWeakerBadValueIsRefusedEvenWhereAStrongerHidesIt(t *testing.T) {
	home(t)
	_, err := Load(Options{Program: ForFoot, Environ: []string{"VANCE_FOOT_WORKSPACE_ROOT="}, Flags: map[string]string{"vance.foot.workspace.root": "/ok"}})
	if err == nil || !strings.Contains(err.Error(), "VANCE_FOOT_WORKSPACE_ROOT") {
		t.Errorf("got %v", err)
	}
}

func TestAnUnknownVariableIsRefused(t *testing.T) {
	home(t)
	_, err := Load(Options{Program: ForBrain, Environ: []string{"VANCE_TRANSFER_CHUNKSIZE=1"}})
	if err == nil || !strings.Contains(err.Error(), "did you mean VANCE_TRANSFER_CHUNK_SIZE?") {
		t.Errorf("got %v", err)
	}
}

func TestAFileThatWasNamedMustExist(t *testing.T) {
	home(t)
	_, err := Load(Options{Program: ForBrain, File: filepath.Join(t.TempDir(), "none.yaml")})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestOneFileMayServeBothPrograms(t *testing.T) {
	home(t)
	shared := write(t, filepath.Join(t.TempDir(), "shared.yaml"),
		"vance:\n  transfer: {chunk-size: 32KiB, foot-mode-mask: 0700, brain-mode-mask: 0600}\n  foot: {reconnect-min: 5s}\n")
	brain := load(t, Options{Program: ForBrain, File: shared})
	if brain.Foot != (Foot{ConfirmTimeout: 5 * time.Minute}) || brain.Transfer.FootModeMask != 0 || brain.Origin("vance.foot.reconnect-min") != "" {
		t.Errorf("Brain took the Foot's settings: %+v", brain)
	}
	foot := load(t, Options{Program: ForFoot, File: shared})
	if foot.Foot.ReconnectMin != 5*time.Second || foot.Transfer.FootModeMask != 0o700 || foot.Transfer.BrainModeMask != 0 {
		t.Errorf("Foot: %+v", foot)
	}
}

func TestAFrameMustHoldOneChunkAsBase64(t *testing.T) {
	home(t)
	// 1 MiB is 1,398,104 characters of base64; with 1 KiB beside it 1,399,128.
	env := func(frame string) []string {
		return []string{"VANCE_TRANSFER_CHUNK_SIZE=1MiB", "VANCE_TRANSFER_MAX_FRAME_SIZE=" + frame}
	}
	if _, err := Load(Options{Program: ForBrain, Environ: env("1399128")}); err != nil {
		t.Error(err)
	}
	_, err := Load(Options{Program: ForFoot, Environ: env("1399127")})
	if err == nil || !strings.Contains(err.Error(), "use at least 1399128B") {
		t.Errorf("got %v", err)
	}
}

func TestTheShortestReconnectWaitIsNotAboveTheLongest(t *testing.T) {
	home(t)
	for _, p := range []Program{ForFoot, ForBrain} { // which checks what the other uses
		_, err := Load(Options{Program: p, Environ: []string{"VANCE_FOOT_RECONNECT_MIN=31s"}})
		if err == nil || !strings.Contains(err.Error(), "vance.foot.reconnect-max") {
			t.Errorf("%v: got %v", p, err)
		}
	}
}

func TestAPortIsOneThatThereIs(t *testing.T) {
	home(t)
	for address, want := range map[string]bool{":99999": false, "127.0.0.1:65536": false, "127.0.0.1:-1": false, "127.0.0.1:": false,
		"127.0.0.1:99999999999999999999": false, "127.0.0.1:65535": true, "[::1]:0": true, "127.0.0.1:http": true} {
		_, err := Load(Options{Program: ForBrain, Flags: map[string]string{"vance.brain.listen": address}})
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "65535") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestDurationsKnowDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * 24 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0, "1s": time.Second, "1h30m": 90 * time.Minute,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "1.5d", "-1d", "1d-2h", "1d2d", "200000d", "106751d24h", "4 d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q was taken as %v", text, got)
		}
	}
}

func TestASizeReadsBackAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<53).Draw(t, "n")
		if got, err := ParseSize(FormatSize(n)); err != nil || got != n {
			t.Fatalf("%d is written %s and read as %d, %v", n, FormatSize(n), got, err)
		}
	})
}

func TestEveryDeclarationIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Table() {
		if seen[EnvName(d.Name)] || !strings.HasPrefix(d.Name, "vance.") || d.Doc == "" || d.Range() == "" {
			t.Errorf("%+v", d)
		}
		seen[EnvName(d.Name)] = true
		if _, err := d.kind.assign(&Settings{}, d.Default); err != nil {
			t.Errorf("default of %s: %v", d.Name, err)
		}
	}
}

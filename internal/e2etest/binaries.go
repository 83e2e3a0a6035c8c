// Package e2etest runs the built binaries against each other over real sockets
// and proves what a user would see: files on disks, tool results, exit codes.
// It owns the harness (children, tokens, clients, proxies that cut, record or
// alter, scripted peers) and the tests of what an issue must show. It imports
// nothing of brain/ or foot/: what it knows of them is their command lines,
// their sockets and the schemas.
package e2etest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// Binaries are the paths of one build of both programs.
type Binaries struct {
	Brain, Foot string
}

var buildRoot string

// Main is the TestMain of packages that use the harness: it removes what was
// built after the tests and returns the exit code.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "vancetope-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	buildRoot = dir
	waitTogether()
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// waitTogether lets twice as many tests run at once as there are processors, unless
// the command line says how many: most wait for timers of the programs. Those that
// measure are not parallel, and so run alone before.
func waitTogether() {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if asked {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err) // the flag is the testing package's own
	}
}

// The builds, each made once a test process: with the race detector for what
// the programs do, as shipped for what they need.
var (
	raceBuild    = sync.OnceValues(func() (Binaries, error) { return build("race", []string{"-race"}, nil) })
	shippedBuild = sync.OnceValues(func() (Binaries, error) {
		return build("shipped", []string{"-trimpath", "-ldflags", "-s -w"}, []string{"CGO_ENABLED=0"})
	})
	slowDiskBuild = sync.OnceValues(func() (Binaries, error) { return build("slowdisk", []string{"-race", "-tags", "slowdisk"}, nil) })
)

func build(kind string, flags, env []string) (Binaries, error) {
	dir := filepath.Join(buildRoot, kind)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Binaries{}, err
	}
	var exe string
	if runtime.GOOS == "windows" {
		exe = ".exe"
	}
	b := Binaries{Brain: filepath.Join(dir, "brain"+exe), Foot: filepath.Join(dir, "foot"+exe)}
	for program, out := range map[string]string{"brain": b.Brain, "foot": b.Foot} {
		args := append([]string{"build", "-o", out}, flags...)
		cmd := exec.Command("go", append(args, "github.com/vancetope/transfer/"+program)...)
		cmd.Env = append(os.Environ(), env...)
		if output, err := cmd.CombinedOutput(); err != nil {
			return Binaries{}, fmt.Errorf("building %s: %w\n%s", program, err, output)
		}
	}
	return b, nil
}

// RaceBinaries returns the programs built with the race detector.
func RaceBinaries(t testing.TB) Binaries { return built(t, raceBuild) }

// ShippedBinaries returns the programs as `make build` makes them.
func ShippedBinaries(t testing.TB) Binaries { return built(t, shippedBuild) }

// SlowDiskBinaries returns programs for which a root called slow-disk is one.
func SlowDiskBinaries(t testing.TB) Binaries { return built(t, slowDiskBuild) }

func built(t testing.TB, build func() (Binaries, error)) Binaries {
	t.Helper()
	b, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

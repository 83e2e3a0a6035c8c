package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	_ "embed"
)

//go:embed switches.go.txt
var switchesSource string

// files are what is mutated.
var files = []string{"gen/common/codec.go", "gen/frames/codec.go", "gen/tools/codec.go", "gen/api/codec.go"}

const known = "tools/framegen/MUTANTS.md"

func main() {
	sample := flag.Int("sample", 0, "try only so many mutants, drawn by -seed (0: all)")
	seed := flag.Uint64("seed", 1, "which sample")
	kind := flag.String("kind", "", "try only mutants of the kinds with these names, with commas between")
	edits := flag.Int("edits", 20_000, "random edits, besides the instances at every limit")
	report := flag.String("report", "", "write the verdict of every mutant there, as text")
	flag.Parse()
	if err := run(*kind, *sample, *seed, *edits, *report); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(kind string, sample int, seed uint64, edits int, report string) error {
	explained, err := readKnown(known)
	if err != nil {
		return fmt.Errorf("%w; run it at the top of the repository", err)
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := build(dir)
	if err != nil {
		return err
	}
	picked := b.mutants
	if kinds := strings.Split(kind, ","); kind != "" {
		picked = slices.DeleteFunc(slices.Clone(picked), func(m mutant) bool { return !slices.Contains(kinds, m.Kind) })
	}
	if sample > 0 && sample < len(picked) {
		picked = slices.Clone(picked)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
		picked = picked[:sample]
		sort.Slice(picked, func(i, j int) bool { return picked[i].ID < picked[j].ID })
	}
	verdicts, err := b.judge(picked, edits)
	if err != nil {
		return err
	}
	if report != "" {
		if err := writeReport(report, picked, verdicts); err != nil {
			return err
		}
	}
	return conclude(b.mutants, picked, verdicts, explained)
}

func writeReport(path string, picked []mutant, verdicts map[int]string) error {
	var out strings.Builder
	for _, m := range picked {
		fmt.Fprintf(&out, "%s\t%s\t%s\n", m.Kind, m.Key, strings.Join(strings.Fields(verdicts[m.ID]), " "))
	}
	return os.WriteFile(path, []byte(out.String()), 0o644)
}

// built are the programs with all mutants in them.
type built struct {
	mutants       []mutant
	trial, checks string
}

// build writes the instrumented sources and compiles them over the real ones.
func build(dir string) (*built, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	put := func(path, source string) error {
		whole, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		changed := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		overlay.Replace[whole] = changed
		return os.WriteFile(changed, []byte(source), 0o600)
	}
	f := &finder{keys: map[string]int{}}
	for _, path := range files {
		source, err := f.instrument(path)
		if err != nil {
			return nil, err
		}
		if err := put(path, source); err != nil {
			return nil, err
		}
	}
	if err := put("gen/internal/wirejson/mutant.go", switchesSource); err != nil {
		return nil, err
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return nil, err
	}
	b := &built{f.mutants, filepath.Join(dir, "trial.exe"), filepath.Join(dir, "checks.exe")}
	if err := command("go", "build", "-overlay", list, "-o", b.trial, "./tools/framegen/mutate/trial"); err != nil {
		return nil, err
	}
	return b, command("go", "test", "-overlay", list, "-c", "-vet=off", "-o", b.checks, "./tools/framegen/difftest")
}

func command(name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// judge lets trial judge the mutants, and the tests by example those that it lets
// live.
func (b *built) judge(picked []mutant, edits int) (map[int]string, error) {
	c := exec.Command(b.trial, "-edits", strconv.Itoa(edits))
	c.Stderr = os.Stderr
	var ids strings.Builder
	for _, m := range picked {
		fmt.Fprintln(&ids, m.ID)
	}
	c.Stdin = strings.NewReader(ids.String())
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	verdicts, broken := readVerdicts(out)
	if err := c.Wait(); err != nil {
		return nil, err
	}
	if broken != nil {
		return nil, broken
	}
	for _, m := range picked {
		v, ok := verdicts[m.ID]
		if !ok {
			return nil, fmt.Errorf("no verdict on %s", m.Key)
		}
		if strings.HasPrefix(v, "killed") {
			continue
		}
		if b.failsATest(m) {
			verdicts[m.ID] = "killed by a test of difftest"
		}
	}
	return verdicts, nil
}

func readVerdicts(out io.Reader) (map[int]string, error) {
	verdicts := map[int]string{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		id, quoted, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(id)
		if err != nil {
			return nil, fmt.Errorf("trial says %q", lines.Text())
		}
		verdict, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("trial says %q", lines.Text())
		}
		verdicts[n] = verdict
	}
	return verdicts, lines.Err()
}

// failsATest runs the tests that hold examples; what takes long is left out but
// for the mutants of what it tests.
func (b *built) failsATest(m mutant) bool {
	tests := "Refus|Feature|Unexpected|InForce"
	if strings.Contains(m.Key, "readSpliced") {
		tests = "FastPath|AChunkCosts"
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, b.checks, "-test.run", tests, "-mutant", strconv.Itoa(m.ID))
	c.Dir = "tools/framegen/difftest"
	return c.Run() != nil
}

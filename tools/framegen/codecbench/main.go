// Command codecbench measures what decoding and encoding frames costs, against
// the other ways to do it, in one run: the cases take turns, the first round does
// not count, and the medians of five are compared. `make bench-codec` runs it.
//
// It owns the goals and says which are met; exit code 1 when one is missed.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/vancetope/transfer/tools/framegen/difftest"
)

const countedRounds = 5

func main() {
	budget := flag.Duration("time", 100*time.Millisecond, "how long each case runs in each round")
	flag.Parse()
	if err := run(*budget); err != nil {
		fmt.Fprintln(os.Stderr, "codecbench:", err)
		os.Exit(1)
	}
}

func run(budget time.Duration) error {
	fmt.Printf("%s %s/%s, %d CPUs; processor time of one thread, medians of %d rounds\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), countedRounds)
	groups, err := groups()
	if err != nil {
		return err
	}
	missed := 0
	for _, g := range groups {
		missed += g.report(g.measure(budget))
	}
	missed += reportHostile()
	if missed > 0 {
		return fmt.Errorf("%d goals missed", missed)
	}
	return nil
}

// one is a way to do the work of a group.
type one struct {
	name string
	do   func() error
}

// goal says that the first case of the group is so many times as fast as another.
type goal struct {
	slower int
	times  float64
}

// group is the cases that do the same work.
type group struct {
	title   string
	payload int // bytes that one call carries
	cases   []one
	goals   []goal
}

// result is what one call of a case costs.
type result struct {
	nanoseconds float64
	allocations uint64
}

func (g group) measure(budget time.Duration) []result {
	all := make([][]float64, len(g.cases))
	results := make([]result, len(g.cases))
	for round := range countedRounds + 1 {
		for i, c := range g.cases {
			cost, allocations := sample(c, budget)
			if round > 0 {
				all[i] = append(all[i], cost)
				results[i].allocations = allocations
			}
		}
	}
	for i := range results {
		results[i].nanoseconds = median(all[i])
	}
	return results
}

// sample calls a case for about budget.
func sample(c one, budget time.Duration) (nanoseconds float64, allocations uint64) {
	calls, total := 0, time.Duration(0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for batch := 1; total < budget; batch *= 2 {
		total += difftest.Busy(func() {
			for range batch {
				if err := c.do(); err != nil {
					panic(c.name + ": " + err.Error())
				}
			}
		})
		calls += batch
	}
	runtime.ReadMemStats(&after)
	return float64(total.Nanoseconds()) / float64(calls), (after.Mallocs - before.Mallocs) / uint64(calls)
}

func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

func (g group) report(results []result) (missed int) {
	fmt.Println(g.title)
	fmt.Printf("  %-34s %12s %10s %8s %8s\n", "", "µs", "MB/s", "allocs", "ratio")
	for i, r := range results {
		fmt.Printf("  %-34s %12.2f %10.0f %8d %8.1f\n", g.cases[i].name, r.nanoseconds/1e3, float64(g.payload)/r.nanoseconds*1e3, r.allocations, r.nanoseconds/results[0].nanoseconds)
	}
	for _, goal := range g.goals {
		ratio := results[goal.slower].nanoseconds / results[0].nanoseconds
		verdict := "met"
		if ratio < goal.times {
			verdict = "MISSED"
			missed++
		}
		fmt.Printf("  goal: %.0f times %s: %.1f, %s\n", goal.times, g.cases[goal.slower].name, ratio, verdict)
	}
	fmt.Println()
	return missed
}

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"github.com/vancetope/transfer/tools/framegen/difftest"
)

// nanosecondsAByte is the most that a hostile message may cost.
const nanosecondsAByte = 50

type hostile struct {
	name    string
	perByte float64
	times   float64 // what it allocates, in lengths of the message
}

// reportHostile shows the dearest messages of the largest size.
func reportHostile() (missed int) {
	var all []hostile
	most := 0.0
	difftest.EachHostile(difftest.MaxFrameSize, func(m difftest.Hostile) {
		h := hostile{m.Name, 1e9, 1e9}
		for round := 0; round < 5 || round < 25 && h.perByte > nanosecondsAByte; round++ {
			perByte, times := hostileCost(m)
			h.perByte, h.times = min(h.perByte, perByte), min(h.times, times)
		}
		most = max(most, h.times)
		if h.perByte > nanosecondsAByte || h.times > 4 {
			missed++
		}
		all = append(all, h)
	})
	slices.SortFunc(all, func(a, b hostile) int { return cmp.Compare(b.perByte, a.perByte) })
	fmt.Printf("%d hostile messages of %d MiB; best of five rounds, of 25 where that is above the goal; the dearest:\n  %-62s %10s %20s\n", len(all), difftest.MaxFrameSize>>20, "", "ns a byte", "allocated, x length")
	for _, h := range all[:8] {
		fmt.Printf("  %-62s %10.1f %20.2f\n", h.name, h.perByte, h.times)
	}
	fmt.Printf("  goal: at most %d ns a byte and 4 times the length: at most %.1f and %.2f, %d of %d messages above\n", nanosecondsAByte, all[0].perByte, most, missed, len(all))
	return missed
}

func hostileCost(m difftest.Hostile) (perByte, times float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	elapsed := difftest.Busy(func() {
		decoded, err := m.Decode(m.Text)
		runtime.KeepAlive(decoded)
		runtime.KeepAlive(err)
	})
	runtime.ReadMemStats(&after)
	length := float64(len(m.Text))
	return float64(elapsed.Nanoseconds()) / length, float64(after.TotalAlloc-before.TotalAlloc) / length
}

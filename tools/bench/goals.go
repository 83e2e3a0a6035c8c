package main

import "math"

// goal is one line of what the project wants to reach. They are ratios, or
// figures that hardly depend on the machine; a run shows them and judges none as
// a failure.
type goal struct {
	what      string
	unit      string
	must, aim float64
	most      bool // the figure is to be at most that, not at least
	// got returns the figure; false when what it needs was not measured.
	got func(*results) (float64, bool)
}

type goalResult struct {
	What string  `json:"what"`
	Unit string  `json:"unit,omitempty"`
	Must float64 `json:"must"`
	Aim  float64 `json:"aim"`
	Most bool    `json:"most"`
	Got  float64 `json:"got"`
}

func (g goalResult) reaches(limit float64) bool {
	if g.Most {
		return g.Got <= limit
	}
	return g.Got >= limit
}

const inMiB = float64(1 << 20)

func goals() []goal {
	return []goal{
		{what: "256 MiB, chunks of 64 KiB, the slower direction", unit: "× H", must: 0.55, aim: 0.65, got: slower("256M", "64KiB", baselineH)},
		{what: "256 MiB, chunks of 256 KiB, the slower direction", unit: "× H", must: 0.60, aim: 0.70, got: slower("256M", "256KiB", baselineH)},
		{what: "1 GiB, chunks of 256 KiB, the slower direction", unit: "× H", must: 0.60, aim: 0.70, got: slower("1G", "256KiB", baselineH)},
		{what: "1 GiB, chunks of 256 KiB, the slower direction", unit: "× scp", must: 1.2, aim: 1.2, got: slower("1G", "256KiB", scpCase)},
		{what: "16 transfers of 16 MiB at once on one socket", unit: "× one", must: 0.85, aim: 0.95, got: speed("many", atOnceCase, baselineOne)},
		{what: "the same: Jain's fairness index, the least", must: 0.98, aim: 0.98, got: extreme("many", atOnceCase, jainFigure, math.Min, 1)},
		{what: "the same: WebSocket ping p99", unit: "ms", must: 30, aim: 10, most: true, got: scaled("many", pingedCase, pingP99Figure, 1000)},
		{what: "1,000 files of 4 KiB, 16 calls in flight", unit: "× rsync", must: 0.25, aim: 0.5, got: speed("small", smallCase, baselineRsync)},
		{what: "VmHWM of the larger process, one file of 4 GiB", unit: "MiB", must: 64, aim: 40, most: true, got: peak("memory")},
		{what: "VmHWM of the larger process, 16 files at once", unit: "MiB", must: 128, aim: 40, most: true, got: peak("memory16")},
		{what: "CPU seconds of both ends, 1 GiB, chunks of 256 KiB", unit: "× H", must: 1.6, aim: 1.3, most: true, got: processors},
	}
}

// judge compares what was measured with the goals.
func (r *results) judge() {
	r.Goals = []goalResult{}
	for _, g := range goals() {
		if got, ok := g.got(r); ok {
			r.Goals = append(r.Goals, goalResult{g.what, g.unit, g.must, g.aim, g.most, got})
		}
	}
}

func speed(group, name, baseline string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		base, c := r.find(group, baseline), r.find(group, name)
		if base == nil || c == nil {
			return 0, false
		}
		return base.Median.Seconds / c.Median.Seconds, true
	}
}

// slower is the speed of the slower direction.
func slower(group, chunk, baseline string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		up, ok1 := speed(group, ourCase(upload, chunk), baseline)(r)
		down, ok2 := speed(group, ourCase(download, chunk), baseline)(r)
		return min(up, down), ok1 && ok2
	}
}

func scaled(group, name, figure string, scale float64) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		c := r.find(group, name)
		if c == nil {
			return 0, false
		}
		return c.Median.Figures[figure] * scale, true
	}
}

// extreme is the worst of all samples.
func extreme(group, name, figure string, worse func(a, b float64) float64, start float64) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		c := r.find(group, name)
		if c == nil {
			return 0, false
		}
		worst := start
		for _, s := range c.Samples {
			worst = worse(worst, s.Figures[figure])
		}
		return worst, true
	}
}

// peak is the largest of both processes over the sizes of chunks.
func peak(group string) func(*results) (float64, bool) {
	return func(r *results) (float64, bool) {
		worst := 0.0
		for _, chunk := range memoryChunks {
			for _, figure := range []string{footPeakFigure, brainPeakFigure} {
				got, ok := extreme(group, chunk, figure, math.Max, 0)(r)
				if !ok || got == 0 {
					return 0, false
				}
				worst = max(worst, got)
			}
		}
		return worst / inMiB, true
	}
}

// processors is what the dearer direction costs.
func processors(r *results) (float64, bool) {
	base := r.find("1G", baselineH)
	up, down := r.find("1G", ourCase(upload, "256KiB")), r.find("1G", ourCase(download, "256KiB"))
	if base == nil || up == nil || down == nil || base.Median.cpu() == 0 {
		return 0, false
	}
	return max(up.Median.cpu(), down.Median.cpu()) / base.Median.cpu(), true
}

func (s sample) cpu() float64 { return s.ClientCPU + s.ServerCPU }

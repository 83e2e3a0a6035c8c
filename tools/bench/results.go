package main

import (
	"runtime"
	"slices"

	"github.com/vancetope/transfer/internal/version"
)

// results is one run.
type results struct {
	Version    string        `json:"version"`
	System     string        `json:"system"`
	Processors int           `json:"processors"`
	Rounds     int           `json:"rounds"` // counted ones
	Groups     []groupResult `json:"groups"`
	Goals      []goalResult  `json:"goals"`
}

type groupResult struct {
	Name     string       `json:"name"`
	Title    string       `json:"title"`
	Bytes    int64        `json:"bytes"`
	Files    int          `json:"files,omitempty"`
	Baseline string       `json:"baseline,omitempty"`
	Cases    []caseResult `json:"cases"`
	Missing  []string     `json:"missing,omitempty"`
}

type caseResult struct {
	Name    string   `json:"name"`
	Samples []sample `json:"samples"`
	// Median of each of the samples' fields by itself.
	Median sample `json:"median"`
	// Speed is the baseline's median time divided by this one's, 0 with no
	// baseline.
	Speed float64 `json:"speed,omitempty"`
}

func newResults(rounds int) *results {
	return &results{Version: version.String(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Processors: runtime.NumCPU(), Rounds: rounds, Groups: []groupResult{}}
}

// summarize computes the medians and the ratios.
func (g *groupResult) summarize() {
	for i := range g.Cases {
		g.Cases[i].Median = medians(g.Cases[i].Samples)
	}
	base := g.find(g.Baseline)
	if base == nil {
		return
	}
	for i := range g.Cases {
		g.Cases[i].Speed = base.Median.Seconds / g.Cases[i].Median.Seconds
	}
}

func medians(samples []sample) sample {
	of := func(field func(sample) float64) float64 {
		var values []float64
		for _, s := range samples {
			values = append(values, field(s))
		}
		return median(values)
	}
	m := sample{
		Seconds:   of(func(s sample) float64 { return s.Seconds }),
		ClientCPU: of(func(s sample) float64 { return s.ClientCPU }),
		ServerCPU: of(func(s sample) float64 { return s.ServerCPU }),
	}
	for name := range samples[0].Figures {
		if m.Figures == nil {
			m.Figures = map[string]float64{}
		}
		m.Figures[name] = of(func(s sample) float64 { return s.Figures[name] })
	}
	return m
}

func (g *groupResult) find(name string) *caseResult {
	i := slices.IndexFunc(g.Cases, func(c caseResult) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &g.Cases[i]
}

// find returns a case that was measured, or nil.
func (r *results) find(group, name string) *caseResult {
	for i := range r.Groups {
		if r.Groups[i].Name == group {
			return r.Groups[i].find(name)
		}
	}
	return nil
}

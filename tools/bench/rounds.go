package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
)

// sample is one run of one case.
type sample struct {
	Seconds float64 `json:"seconds"`
	// CPU seconds, user and system, of the end that asks and of the one that
	// answers; 0 where the system does not tell.
	ClientCPU float64 `json:"clientCpuSeconds"`
	ServerCPU float64 `json:"serverCpuSeconds"`
	// Figures holds what only some cases measure, by name.
	Figures map[string]float64 `json:"figures,omitempty"`
}

// contender is one of the ways that a group compares.
type contender struct {
	name string
	// run moves the group's bytes once and checks that they arrived whole. What
	// it needs before, and the check, are outside its sample.
	run func(ctx context.Context, round int) (sample, error)
}

// group is a set of contenders that move the same bytes in turns.
type group struct {
	name  string // as --only knows it
	title string
	bytes int64
	files int // how many files the bytes are
	once  bool
	// baseline names the contender that the others' speed is divided by.
	baseline string
	// prepare starts what the contenders need. Peers that are not installed are
	// told of with missing.
	prepare func(ctx context.Context, s *stage) ([]contender, error)
}

// measure runs every group that was asked for.
func measure(ctx context.Context, c *runCmd) (*results, error) {
	r := newResults(c.Rounds)
	for _, g := range groups() {
		result, err := g.measure(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		if len(result.Cases) > 0 {
			r.Groups = append(r.Groups, result)
		}
	}
	r.judge()
	return r, nil
}

// measure runs the group's contenders in turns: one round that warms up and is
// not counted, then the counted ones.
func (g group) measure(ctx context.Context, c *runCmd) (result groupResult, err error) {
	result = groupResult{Name: g.name, Title: g.title, Bytes: g.bytes, Files: g.files, Baseline: g.baseline}
	if !g.wanted(c.Only) {
		return result, nil
	}
	s, err := newStage(c)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	contenders, err := g.prepare(ctx, s)
	if err != nil {
		return result, s.explain(err)
	}
	contenders = slices.DeleteFunc(contenders, func(x contender) bool { return !g.matches(c.Only, x.name) })
	for _, x := range contenders {
		result.Cases = append(result.Cases, caseResult{Name: x.name})
	}
	result.Missing = s.missing
	first, rounds := 0, c.Rounds
	if g.once {
		first, rounds = 1, 1
	}
	for round := first; round <= rounds; round++ {
		for i, x := range contenders {
			got, err := x.run(ctx, round)
			if err != nil {
				return result, s.explain(fmt.Errorf("%s, round %d: %w", x.name, round, err))
			}
			note("%-10s round %d of %d  %-20s %7.3f s  %s", g.name, round, rounds, x.name, got.Seconds, rate(g.bytes, got.Seconds))
			if round > 0 {
				result.Cases[i].Samples = append(result.Cases[i].Samples, got)
			}
		}
	}
	result.summarize()
	return result, nil
}

func rate(bytes int64, seconds float64) string {
	return fmt.Sprintf("%.0f MB/s", float64(bytes)/1e6/seconds)
}

func (g group) wanted(only string) bool {
	if only == "" || match(only, g.name) {
		return true
	}
	// A pattern for one case of it; which cases there are is known later.
	before, _ := path.Split(only)
	return before != "" && match(before[:len(before)-1], g.name)
}

// matches says whether a case is wanted. The baseline always is, as a ratio
// needs both sides.
func (g group) matches(only, name string) bool {
	return only == "" || match(only, g.name) || match(only, g.name+"/"+name) || name == g.baseline
}

// match is path.Match for a pattern that was found good before.
func match(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

package main

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown is the whole run for people.
func (r *results) Markdown() string {
	var b strings.Builder
	if len(r.Goals) > 0 {
		b.WriteString(r.goalTable() + "\n")
	}
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "**%s**\n\n%s\n", g.Title, g.table())
		for _, m := range g.Missing {
			fmt.Fprintf(&b, "Not compared: %s\n\n", m)
		}
	}
	return b.String()
}

// conditions says where and how.
func (r *results) conditions() string {
	return fmt.Sprintf("%s, %d processors, version %s; %d counted rounds after one that warms up, the ways in turns, medians.",
		r.System, r.Processors, r.Version, r.Rounds)
}

func (r *results) goalTable() string {
	rows := [][]string{{"work", "measured", "must", "aim", ""}}
	for _, g := range r.Goals {
		sign := "≥ "
		if g.Most {
			sign = "≤ "
		}
		verdict := "**missed**"
		switch {
		case g.reaches(g.Aim):
			verdict = "aim reached"
		case g.reaches(g.Must):
			verdict = "must reached"
		}
		rows = append(rows, []string{g.What, strings.TrimSpace(figure(g.Got) + " " + g.Unit), sign + figure(g.Must), sign + figure(g.Aim), verdict})
	}
	return table(rows)
}

// figure shows three digits.
func figure(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func (g *groupResult) table() string {
	head := []string{"way", "s (least to most)", "MB/s"}
	if g.Files > 0 {
		head = append(head, "files/s")
	}
	if g.Baseline != "" {
		head = append(head, "× "+g.Baseline)
	}
	head = append(head, "CPU s asking + answering")
	extra := g.extraFigures()
	for _, x := range extra {
		head = append(head, x.head)
	}
	rows := [][]string{head}
	for _, c := range g.Cases {
		row := []string{c.Name, c.times(), fmt.Sprintf("%.0f", float64(g.Bytes)/1e6/c.Median.Seconds)}
		if g.Files > 0 {
			row = append(row, fmt.Sprintf("%.0f", float64(g.Files)/c.Median.Seconds))
		}
		if g.Baseline != "" {
			row = append(row, figure(c.Speed))
		}
		row = append(row, seconds(c.Median.ClientCPU)+" + "+seconds(c.Median.ServerCPU))
		for _, x := range extra {
			row = append(row, x.cell(c))
		}
		rows = append(rows, row)
	}
	return table(rows)
}

// seconds shows what was not measured as a dash.
func seconds(v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", v)
}

func (c caseResult) times() string {
	var all []float64
	for _, s := range c.Samples {
		all = append(all, s.Seconds)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", c.Median.Seconds, slices.Min(all), slices.Max(all))
}

// extraFigure is a column that only some cases fill.
type extraFigure struct {
	name, head string
	scale      float64
}

var extraFigures = []extraFigure{
	{footPeakFigure, "Foot's VmHWM, MiB", 1 / inMiB},
	{brainPeakFigure, "Brain's VmHWM, MiB", 1 / inMiB},
	{jainFigure, "Jain", 1},
	{pingP50Figure, "ping p50, ms", 1000},
	{pingP99Figure, "ping p99, ms", 1000},
	{pingCountFigure, "pings", 1},
	{allocsFigure, "allocations a chunk", 1},
}

// extraFigures are those that at least one case of the group has.
func (g *groupResult) extraFigures() []extraFigure {
	return slices.DeleteFunc(slices.Clone(extraFigures), func(x extraFigure) bool {
		return !slices.ContainsFunc(g.Cases, func(c caseResult) bool { return c.Median.Figures[x.name] != 0 })
	})
}

func (x extraFigure) cell(c caseResult) string {
	v, ok := c.Median.Figures[x.name]
	if !ok {
		return "–"
	}
	return figure(v * x.scale)
}

// table renders rows, the first of which is the head.
func table(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}

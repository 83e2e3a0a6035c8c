package main

import (
	"fmt"
	"html"
	"strings"
)

// The plot is one bar a way: how fast it is as a multiple of the group's
// baseline. Lengths are pixels of an SVG.
const (
	plotWidth  = 760
	plotLabel  = 170 // room for the names
	plotValue  = 60  // room for the figures
	barHeight  = 16
	barGap     = 6
	groupSpace = 40
)

// plot draws the groups that have a baseline.
func (r *results) plot() string {
	var body strings.Builder
	y := 10
	for _, g := range r.Groups {
		if g.Baseline == "" {
			continue
		}
		y += groupSpace / 2
		fmt.Fprintf(&body, `<text class="title" x="0" y="%d">%s, speed as a multiple of %s</text>`+"\n", y, html.EscapeString(g.Title), html.EscapeString(g.Baseline))
		y += groupSpace / 4
		y = g.bars(&body, y) + groupSpace/4
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Speed of each way to move the same bytes">
<style>
svg { background: #fff }
text { font: 12px sans-serif; fill: #222 }
.title { font-weight: bold }
.ours { fill: #2a6fb0 }
.peer { fill: #b8bec6 }
.one { stroke: #888; stroke-dasharray: 3 3 }
</style>
%s</svg>
`, plotWidth, y, body.String())
}

// bars draws a group from y on and returns where it ends.
func (g *groupResult) bars(body *strings.Builder, y int) int {
	fastest := 0.0
	for _, c := range g.Cases {
		fastest = max(fastest, c.Speed)
	}
	scale := float64(plotWidth-plotLabel-plotValue) / fastest
	top := y
	for _, c := range g.Cases {
		class := "peer"
		if c.Median.Figures[brainPeakFigure] > 0 && c.Name != g.Baseline {
			class = "ours"
		}
		length := c.Speed * scale
		fmt.Fprintf(body, `<text x="%d" y="%d" text-anchor="end">%s</text><rect class="%s" x="%d" y="%d" width="%.1f" height="%d"/><text x="%.1f" y="%d">%s</text>`+"\n",
			plotLabel-8, y+barHeight-4, html.EscapeString(c.Name), class, plotLabel, y, length, barHeight, plotLabel+length+6, y+barHeight-4, figure(c.Speed))
		y += barHeight + barGap
	}
	x := plotLabel + scale
	fmt.Fprintf(body, `<line class="one" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n", x, top-2, x, y)
	return y
}

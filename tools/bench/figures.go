package main

import (
	"slices"
	"time"
)

// What only some cases measure, by the name it has in the JSON.
const (
	footPeakFigure  = "footPeakBytes"  // VmHWM
	brainPeakFigure = "brainPeakBytes" // VmHWM
	jainFigure      = "jain"
	pingP50Figure   = "pingP50Seconds"
	pingP99Figure   = "pingP99Seconds"
	pingCountFigure = "pings"
	allocsFigure    = "allocationsPerChunk"
)

// jain is Jain's fairness index of the speeds of transfers of one size: 1 when
// all were equal, 1/n when one had everything (Jain, Chiu and Hawe, DEC TR-301).
func jain(size int64, seconds []float64) float64 {
	var sum, squares float64
	for _, s := range seconds {
		speed := float64(size) / s
		sum += speed
		squares += speed * speed
	}
	return sum * sum / (float64(len(seconds)) * squares)
}

// percentile is the smallest value that at least p percent do not exceed
// (nearest rank). It sorts what it is given.
func percentile(values []time.Duration, p int) time.Duration {
	slices.Sort(values)
	return values[max(0, (len(values)*p+99)/100-1)]
}

// median of an even number of values is the mean of the two in the middle.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

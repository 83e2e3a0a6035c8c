//go:build !linux

package difftest

import "time"

// Busy measures the time of run.
func Busy(run func()) time.Duration {
	start := time.Now()
	run()
	return time.Since(start)
}

//go:build !linux

package difftest

import "time"

// busy measures the time of run.
func busy(run func()) time.Duration {
	start := time.Now()
	run()
	return time.Since(start)
}

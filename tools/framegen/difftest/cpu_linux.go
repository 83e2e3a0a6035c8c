package difftest

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Busy measures the processor time of run: other processes do not count.
func Busy(run func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	run()
	return threadTime() - before
}

func threadTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err) // every Linux has this clock
	}
	return time.Duration(now.Nano())
}

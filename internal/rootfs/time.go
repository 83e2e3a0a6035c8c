package rootfs

import "time"

// clampTime moves a time into the range that every file system holds.
func clampTime(t time.Time) time.Time {
	earliest, latest := time.Unix(0, 0), time.Unix(1<<31-1, 0)
	switch {
	case t.Before(earliest):
		return earliest
	case t.After(latest):
		return latest
	}
	return t
}

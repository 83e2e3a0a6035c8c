//go:build slowdisk

package rootfs

import (
	"os"
	"path/filepath"
	"time"
)

// Programs built with the tag slowdisk, as only a test builds them, find every
// root called slow-disk on a disk that takes 256 KiB a second, until a file
// called fast lies in it.
func init() {
	InjectFaults(func(dir string) Faults {
		if filepath.Base(dir) != "slow-disk" {
			return nil
		}
		return slowDisk{fast: filepath.Join(dir, "fast")}
	})
}

type slowDisk struct{ fast string }

func (slowDisk) Before(Op, string) error { return nil }

func (s slowDisk) Write(_ string, _ int64, size int) (int, error) {
	if _, err := os.Stat(s.fast); err != nil {
		time.Sleep(time.Duration(size) * time.Second / (256 << 10))
	}
	return size, nil
}

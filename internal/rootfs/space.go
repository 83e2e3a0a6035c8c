package rootfs

import (
	"sync"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// promises are the bytes that running transfers of this process have still to
// write, by file system: what is free is theirs before it is a newcomer's.
var promises struct {
	mu    sync.Mutex
	bytes map[device]int64
}

// promise is one transfer's part of that; the zero value promises nothing.
type promise struct {
	on   device
	left int64
}

// promiseSpace refuses a file for which there is no room beside those that are
// being written. A file system that does not say how much it has takes all.
func promiseSpace(d *dir, size int64) (promise, error) {
	on, err := d.h.device()
	if err != nil {
		return promise{}, err
	}
	promises.mu.Lock()
	defer promises.mu.Unlock()
	available, known, err := d.free()
	if err != nil || !known {
		return promise{}, err
	}
	promised := promises.bytes[on]
	if uint64(size) >= available || uint64(promised) >= available-uint64(size) {
		if promised == 0 {
			return promise{}, fault.Newf(common.ErrorCodeInsufficientSpace, "%d bytes wanted, %d available", size, available)
		}
		return promise{}, fault.Newf(common.ErrorCodeInsufficientSpace,
			"%d bytes wanted, %d available, of which running transfers will take %d", size, available, promised)
	}
	if promises.bytes == nil {
		promises.bytes = map[device]int64{}
	}
	promises.bytes[on] += size
	return promise{on, size}, nil
}

// written takes n bytes off what is still to come.
func (p *promise) written(n int64) {
	n = min(n, p.left)
	if n == 0 {
		return
	}
	p.left -= n
	promises.mu.Lock()
	defer promises.mu.Unlock()
	if promises.bytes[p.on] -= n; promises.bytes[p.on] == 0 {
		delete(promises.bytes, p.on)
	}
}

// end gives back what was promised and not written.
func (p *promise) end() { p.written(p.left) }

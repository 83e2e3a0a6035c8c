package wire

import (
	"math/bits"
	"sync"
	"unsafe"
)

// Buffers come in two sizes an octave: 512, 768, 1024, 1536, … The largest that
// GetBuffer pools holds a whole chunk of 1 MiB; encoded messages may be larger,
// and so the classes go on to 4 MiB.
const (
	minBufferBits = 9
	maxBufferBits = 22
	bufferClasses = 2 * (maxBufferBits - minBufferBits)
)

// pools hold the address of each buffer's first byte; its class says its size.
// A slice header would have to be allocated for every Put.
var pools [bufferClasses + 1]sync.Pool

// classSize is the size of the buffers of class i.
func classSize(i int) int {
	base := 1 << (minBufferBits + i/2)
	if i%2 == 1 {
		base += base / 2
	}
	return base
}

// classFor returns the smallest class whose buffers hold n bytes, or -1 if
// buffers of that size are not pooled.
func classFor(n int) int {
	if n <= 1<<minBufferBits {
		return 0
	}
	if n > 1<<maxBufferBits {
		return -1
	}
	octave := bits.Len(uint(n-1)) - 1 // 1<<octave < n <= 1<<(octave+1)
	i := 2*(octave-minBufferBits) + 1
	if n > classSize(i) {
		i++
	}
	return i
}

// GetBuffer returns a buffer of length n with any contents. It comes from a pool
// and should go back with PutBuffer by whoever used it last; one that does not is
// the garbage collector's.
func GetBuffer(n int) []byte {
	i := classFor(n)
	if i < 0 {
		return make([]byte, n)
	}
	if p, ok := pools[i].Get().(*byte); ok {
		return unsafe.Slice(p, classSize(i))[:n]
	}
	return make([]byte, n, classSize(i))
}

// PutBuffer gives a buffer back. The caller must not touch it afterwards. Buffers
// that did not come from GetBuffer are left alone.
func PutBuffer(b []byte) {
	i := classFor(cap(b))
	if cap(b) == 0 || i < 0 || classSize(i) != cap(b) {
		return
	}
	pools[i].Put(unsafe.SliceData(b))
}

// growBuffer returns a buffer with at least n bytes of room that begins with b's
// contents, and gives b back.
func growBuffer(b []byte, n int) []byte {
	larger := GetBuffer(n)
	larger = larger[:copy(larger, b)]
	PutBuffer(b)
	return larger
}

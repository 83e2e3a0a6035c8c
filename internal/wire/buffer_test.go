package wire

import (
	"testing"

	"pgregory.net/rapid"
)

func TestBufferClassHoldsWhatWasAskedForAndWastesAtMostHalf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<maxBufferBits).Draw(t, "n")
		i := classFor(n)
		if classSize(i) < n {
			t.Fatalf("class of %d for %d", classSize(i), n)
		}
		if i > 0 && classSize(i-1) >= n {
			t.Fatalf("class of %d for %d, smaller would do", classSize(i), n)
		}
	})
	for _, n := range []int{0, 1, 511, 512, 513, 768, 769, 1024, 64 << 10, 64<<10 + 1, 1 << 20, 1<<20 + 1, 4 << 20} {
		b := GetBuffer(n)
		if len(b) != n {
			t.Errorf("GetBuffer(%d) has %d bytes", n, len(b))
		}
		PutBuffer(b)
	}
	if i := classFor(4<<20 + 1); i != -1 {
		t.Errorf("more than the largest class is pooled in %d", i)
	}
	if b := GetBuffer(5 << 20); len(b) != 5<<20 {
		t.Errorf("%d bytes", len(b))
	}
}

func TestBufferThatIsNotOursIsLeftAlone(t *testing.T) {
	PutBuffer(nil)
	PutBuffer([]byte{})
	PutBuffer(make([]byte, 1000)) // no class has this size
	for range 100 {
		if b := GetBuffer(1000); cap(b) != 1024 {
			t.Fatalf("capacity %d", cap(b))
		}
	}
}

func TestBufferComesBackWholeWhateverPartWasGivenBack(t *testing.T) {
	for range 100 {
		b := GetBuffer(100)
		PutBuffer(b[:0])
		if b := GetBuffer(512); len(b) != 512 {
			t.Fatalf("%d bytes", len(b))
		}
	}
}

func TestBufferOfAChunkCostsNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector makes pools forget on purpose, only the calls are run")
	}
	n := testing.AllocsPerRun(1000, func() { PutBuffer(GetBuffer(64 << 10)) })
	if n > 0.1 && !raceEnabled {
		t.Fatalf("%v allocations", n)
	}
}

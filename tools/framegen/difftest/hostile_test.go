package difftest

import (
	"encoding/json"
	"runtime"
	"sync"
	"testing"
	"time"
)

// dearest is how many times as much as encoding/json takes to check a plain message
// of the same length a hostile one may cost. `make bench-codec` shows nanoseconds.
const dearest = 30

// TestNoHostileMessageCostsMuchTimeOrMemory allows what HostileAllowance
// says, and a multiple of what a plain message costs on the same machine
// at the same time: 50 ns a byte would mean something else on each.
func TestNoHostileMessageCostsMuchTimeOrMemory(t *testing.T) {
	size := len(plain())
	EachHostile(size, func(m Hostile) {
		t.Run(m.Name, func(t *testing.T) {
			if len(m.Text) > MaxFrameSize {
				t.Fatalf("is %d bytes long", len(m.Text))
			}
			usual := yardstick()
			least, allocated := time.Duration(1<<62), uint64(1<<62)
			for range 2 {
				elapsed, bytes := hostileCost(m)
				least, allocated = min(least, elapsed), min(allocated, bytes)
			}
			ratio := float64(least) / float64(usual)
			t.Logf("%.1f times the yardstick, %.2f times its length", ratio, float64(allocated)/float64(len(m.Text)))
			if ratio > dearest {
				t.Errorf("costs %.1f times as much as a plain message", ratio)
			}
			if allocated > HostileAllowance(len(m.Text)) {
				t.Errorf("%d bytes allocate %d", len(m.Text), allocated)
			}
		})
	})
}

// plain is a message that nobody means ill with.
var plain = sync.OnceValue(func() []byte {
	// bench-codec takes messages of MaxFrameSize; the race detector is slow.
	maker := hostileMaker{size: MaxFrameSize / 4 / min(Thinned, 8)}
	return maker.fill("[", `{"name":"value","number":12345},`, "null]")
})

// yardstick is the time that encoding/json takes to check the plain message.
func yardstick() time.Duration {
	text := plain()
	return Busy(func() {
		if !json.Valid(text) {
			panic("the yardstick is not valid")
		}
	})
}

func hostileCost(m Hostile) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	elapsed := Busy(func() {
		decoded, err := m.Decode(m.Text)
		runtime.KeepAlive(decoded)
		runtime.KeepAlive(err)
	})
	runtime.ReadMemStats(&after)
	return elapsed, after.TotalAlloc - before.TotalAlloc
}

// TestTimeGrowsWithTheLengthAlone compares a message with one eight times as
// long: what is quadratic takes sixty-four times as long. What costs less than a plain message
// counts as much as that.
func TestTimeGrowsWithTheLengthAlone(t *testing.T) {
	best := func(m Hostile) time.Duration {
		least := time.Duration(1 << 62)
		for range 2 {
			elapsed, _ := hostileCost(m)
			least = min(least, elapsed)
		}
		return max(least, yardstick()*time.Duration(len(m.Text))/time.Duration(len(plain())))
	}
	var small []Hostile
	EachHostile(len(plain())/16, func(m Hostile) { small = append(small, m) })
	EachHostile(len(plain())/2, func(large Hostile) {
		first := small[0]
		small = small[1:]
		t.Run(large.Name, func(t *testing.T) {
			if a, b := best(first), best(large); b > 30*a {
				t.Errorf("%v for %d bytes, %v for %d", a, len(first.Text), b, len(large.Text))
			}
		})
	})
}

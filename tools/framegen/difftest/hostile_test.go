package difftest

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vancetope/transfer/gen/frames"
)

// maxFrameSize is the most that a peer reads by default.
const maxFrameSize = 4 << 20

// hostile returns messages of about size bytes that aim at some part of the
// decoder.
func hostile(size int) map[string][]byte {
	fill := func(open, unit, end string) []byte {
		n := max(1, (size-len(open)-len(end))/len(unit))
		return []byte(open + strings.Repeat(unit, n) + end)
	}
	numbered := func(open, format, end string) []byte {
		var b bytes.Buffer
		b.WriteString(open)
		for i := 0; b.Len() < size-len(end)-40; i++ {
			fmt.Fprintf(&b, format, i)
		}
		b.WriteString(end)
		return b.Bytes()
	}
	head := fmt.Sprintf(`{"type":"transfer_chunk","transferId":%q,`, someID)
	tail := `"seq":0,"bytes":"","last":true}`
	return map[string][]byte{
		"nested arrays":              fill(head+`"x":`, "[", ""),
		"nested objects":             fill(head+`"x":`, `{"a":`, ""),
		"nested and closed":          []byte(head + `"x":` + strings.Repeat("[", size/2) + strings.Repeat("]", size/2) + "," + tail),
		"a thousand levels each":     fill(head+`"x":[`, strings.Repeat("[", 500)+strings.Repeat("]", 500)+",", "0],"+tail),
		"a huge integer":             fill(head+`"seq":`, "9", `,"bytes":"","last":true}`),
		"a huge unknown integer":     fill(head+`"x":`, "9", ","+tail),
		"a huge fraction":            fill(head+`"seq":0.`, "0", `,"bytes":"","last":true}`),
		"many huge exponents":        fill(head+`"x":[`, "1e999999999,", "0],"+tail),
		"one long name":              fill(head+`"`, "n", `":1,`+tail),
		"seventeen long names":       numbered(head, `"`+strings.Repeat("n", size/18)+`%d":1,`, tail),
		"seventeen escaped names":    numbered(head, `"`+strings.Repeat(`\u006e`, size/18/6)+`%d":1,`, tail),
		"names of quotes":            numbered(head, `"`+strings.Repeat(`\"`, 500)+`%d":1,`, tail),
		"names of backslashes":       numbered(head, `"`+strings.Repeat(`\\`, 500)+`%d":1,`, tail),
		"a million members":          numbered(head, `"%x":1,`, tail),
		"a million escaped members":  numbered(head, `"\u006e%x":1,`, tail),
		"a million members below":    numbered(head+`"x":{`, `"%x":1,`, `"z":1},`+tail),
		"a million doubles":          fill(head, `"x":1,`, tail),
		"a million objects":          fill(head+`"x":[`, `{"a":1},`, "0],"+tail),
		"objects of twenty members":  fill(head+`"x":[`, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1,"s":1,"t":1},`, "0],"+tail),
		"a large object, then small": append(numbered(head+`"x":[{`, `"%x":1,`, ""), fill(`"z":1},`, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1},`, "0],"+tail)...),
		"a payload that is too long": fill(head+`"bytes":"`, "AAAA", `","seq":0,"last":true}`),
		"a payload of escapes":       fill(head+`"bytes":"`, `\u0041`, `","seq":0,"last":true}`),
		"a long string":              fill(head+`"x":"`, "é", `",`+tail),
		"a long string of escapes":   fill(head+`"x":"`, `\ud83d\ude00`, `",`+tail),
		"white space":                fill(head, " \n", tail),
		"white space before":         fill("", " ", head+tail),
		"the type last":              fill(`{"x":[`, "0,", `0],`+tail[:len(tail)-1]+fmt.Sprintf(`,"transferId":%q,"type":"transfer_chunk"}`, someID)),
		"an unknown type":            fill(`{"type":"x","x":[`, `{"a":1},`, "0]}"),
		"a long type":                fill(`{"type":"`, "x", `"}`),
		"a long path":                fill(fmt.Sprintf(`{"type":"transfer_init","transferId":%q,"totalSize":0,"target":"`, someID), "a/", `"}`),
		"a long hash":                fill(fmt.Sprintf(`{"type":"transfer_init","transferId":%q,"target":"","totalSize":0,"hash":"sha256:`, someID), "0", `"}`),
		"many features":              fill(`{"type":"hello","protocolVersion":1,"footId":"","clientVersion":"","os":"linux","access":"edit","grants":[],"features":[`, `"a",`, `"a"]}`),
		"many grants":                fill(`{"type":"hello","protocolVersion":1,"footId":"","clientVersion":"","os":"linux","access":"edit","grants":[`, `{"name":"a","access":"read"},`, `null],"features":[]}`),
		"random bytes":               bytes.Repeat([]byte{0xff, '{', '"', 0}, size/4),
	}
}

// TestNoHostileFrameCostsMuchTimeOrMemory allows 50 ns a byte and four times the
// length of the message. The best of five runs counts, in processor
// time, since other processes want the machine too.
func TestNoHostileFrameCostsMuchTimeOrMemory(t *testing.T) {
	nanoseconds := 50.0 * Thinned // the race detector slows everything down
	for name, message := range hostile(maxFrameSize) {
		t.Run(name, func(t *testing.T) {
			best, least := time.Duration(1<<62), uint64(1<<62)
			for range 5 {
				elapsed, allocated := cost(message)
				best, least = min(best, elapsed), min(least, allocated)
			}
			perByte := float64(best.Nanoseconds()) / float64(len(message))
			times := float64(least) / float64(len(message))
			t.Logf("%.1f ns a byte, %.2f times its length", perByte, times)
			if perByte > nanoseconds {
				t.Errorf("costs %.1f ns a byte", perByte)
			}
			if times > 4 && Thinned == 1 {
				t.Errorf("allocates %.2f times its length", times)
			}
		})
	}
}

// cost decodes a message as a Brain does.
func cost(message []byte) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	elapsed := busy(func() {
		if _, err := (&frames.Decoder{}).DecodeForBrain(message); err != nil {
			runtime.KeepAlive(err)
		}
	})
	runtime.ReadMemStats(&after)
	return elapsed, after.TotalAlloc - before.TotalAlloc
}

// TestTimeGrowsWithTheLengthAlone compares a message with one eight times as
// long: what is quadratic takes sixty-four times as long.
func TestTimeGrowsWithTheLengthAlone(t *testing.T) {
	small, large := hostile(1<<18), hostile(1<<21)
	for name := range small {
		t.Run(name, func(t *testing.T) {
			best := func(message []byte) time.Duration {
				least := time.Duration(1 << 62)
				for range 5 {
					elapsed, _ := cost(message)
					least = min(least, elapsed)
				}
				return max(least, 50*time.Microsecond)
			}
			if a, b := best(small[name]), best(large[name]); b > 30*a {
				t.Errorf("%v for %d bytes, %v for %d", a, len(small[name]), b, len(large[name]))
			}
		})
	}
}

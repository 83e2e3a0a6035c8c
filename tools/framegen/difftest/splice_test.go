package difftest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/vancetope/transfer/gen/frames"
)

// outcome is all that a decoder gives back.
type outcome struct {
	frame   frames.Frame
	refusal *frames.DecodeError
}

func decodeFor(t *testing.T, text []byte) (o outcome) {
	t.Helper()
	d := frames.Decoder{Buffer: func(n int) []byte {
		return bytes.Repeat([]byte{0xa5}, n)
	}}
	var err error
	if o.frame, err = d.DecodeForFoot(text); err != nil && !errors.As(err, &o.refusal) {
		t.Fatalf("%T is no *DecodeError", err)
	}
	return o
}

// agreesWithTheStrictDecoder decodes a text twice: as it is, and with a space at
// the end, which means the same in JSON but is a shape that the fast path does
// not take.
func agreesWithTheStrictDecoder(t *testing.T, text []byte) outcome {
	t.Helper()
	fast := decodeFor(t, text)
	strict := decodeFor(t, append(bytes.Clone(text), ' '))
	if !reflect.DeepEqual(fast, strict) {
		t.Errorf("%.300q\nas it is:     %s\nwith a space: %s", text, fast, strict)
	}
	return fast
}

func (o outcome) String() string {
	return fmt.Sprintf("%.300v %+v", o.frame, o.refusal)
}

// spliced is a chunk as AppendJSON writes it, around a payload's text.
func spliced(payload string) string {
	return chunk(`"seq":7,"bytes":"` + payload + `","last":false`)
}

// odd are texts close to what the fast path takes; the first ones it does take.
func odd() map[string]string {
	good := spliced("AAECAwQ=")
	longest := base64.StdEncoding.EncodeToString(make([]byte, 1<<20))
	replace := func(old, new string) string {
		if !strings.Contains(good, old) {
			panic(old)
		}
		return strings.Replace(good, old, new, 1)
	}
	texts := map[string]string{
		"good": good, "no payload": spliced(""), "one byte": spliced("/w=="), "two bytes": spliced("//8="), "three bytes": spliced("////"),
		"the longest payload": spliced(longest), "the largest seq": replace(`:7,`, `:9007199254740991,`), "seq 0": replace(`:7,`, `:0,`), "last": replace("false", "true"),
		"one byte too long": spliced(base64.StdEncoding.EncodeToString(make([]byte, 1<<20+1))), "a group too long": spliced(longest + "AAAA"), "far too long": spliced(strings.Repeat("A", 2<<20)),
		"seq too large": replace(`:7,`, `:9007199254740992,`), "18 digits": replace(`:7,`, `:100000000000000000,`), "19 digits": replace(`:7,`, `:1000000000000000000,`), "20 digits": replace(`:7,`, `:18446744073709551623,`),
		"70 digits": replace(`:7,`, ":7"+strings.Repeat("0", 69)+","), "a leading zero": replace(`:7,`, `:07,`), "two zeros": replace(`:7,`, `:00,`), "minus zero": replace(`:7,`, `:-0,`), "minus": replace(`:7,`, `:-7,`), "plus": replace(`:7,`, `:+7,`), "a fraction": replace(`:7,`, `:7.0,`), "an exponent": replace(`:7,`, `:7e0,`), "no number": replace(`:7,`, `:,`), "a number in quotes": replace(`:7,`, `:"7",`), "a null number": replace(`:7,`, `:null,`),
		"the nil id": replace(someID, "00000000-0000-0000-0000-000000000000"), "the max id": replace(someID, "ffffffff-ffff-ffff-ffff-ffffffffffff"), "an upper-case id": replace(someID, strings.ToUpper(someID)), "a short id": replace(someID, someID[1:]), "a long id": replace(someID, someID+"0"), "an id without dashes": replace(someID, strings.ReplaceAll(someID, "-", "0")), "an escape in the id": replace("01234567", `\u003012`), "a quote in the id": replace("01234567", `0123456"`),
		"an escape in the payload": spliced(`\u0041AAA`), "an escaped slash": spliced(`\/AAA`), "an escaped quote": spliced(`AAA\"`), "a backslash": spliced(`AAA\`), "a raw line break": spliced("AAAA\nAAAA"), "four raw line breaks": spliced("AAAA\n\n\n\nAAAA"), "four escaped line breaks": spliced(`AAAA\n\n\n\nAAAA`), "line breaks at the end": spliced("AAAAAA==\n\n\n\n"), "line breaks in padding": spliced("AA=\r\n="), "NUL": spliced("AAA\x00"), "invalid UTF-8": spliced("AAA\xff"), "runes": spliced("éé"),
		"loose bits of one byte": spliced("AB=="), "loose bits of two": spliced("AAB="), "padding in the middle": spliced("AA==AAAA"), "padding before the last group": spliced("AAA=AAAA"), "only padding": spliced("===="), "three paddings": spliced("A==="), "five characters": spliced("AAAAA"), "no padding": spliced("AA"), "URL base64": spliced("-_-_"), "a space": spliced("AAA AAAA"), "loose bits after a long text": spliced(strings.Repeat("AAAA", 50) + "AB=="), "line breaks in a long text": spliced(strings.Repeat("AAAA", 50) + "\n\n\n\n" + strings.Repeat("AAAA", 50)),
		"a space at the end": good + " ", "a line break at the end": good + "\n", "another value at the end": good + good, "a comma at the end": good + ",", "NUL at the end": good + "\x00", "no brace": good[:len(good)-1],
		"spaces after colons": strings.ReplaceAll(good, `":`, `": `), "spaces after commas": strings.ReplaceAll(good, `,"`, `, "`), "another order": fmt.Sprintf(`{"type":"transfer_chunk","seq":7,"transferId":%q,"bytes":"AAAA","last":true}`, someID), "type last": fmt.Sprintf(`{"transferId":%q,"seq":7,"bytes":"AAAA","last":true,"type":"transfer_chunk"}`, someID),
		"an unknown member": replace(`}`, `,"x":1}`), "an unknown member before": replace(`"seq"`, `"x":1,"seq"`), "a double": replace(`}`, `,"last":false}`), "a double before": replace(`"seq"`, `"seq":7,"seq"`), "a double of type": replace(`"transferId"`, `"type":"transfer_chunk","transferId"`), "a double of a hidden name": replace(`}`, `,"\u006cast":false}`), "a case-folded member": replace(`"last"`, `"Last"`), "an escaped name": replace(`"last"`, `"\u006cast"`),
		"no last": replace(`,"last":false`, ``), "null for last": replace("false", "null"), "last in quotes": replace("false", `"false"`), "half of last": replace("false", "fals"), "more of last": replace("false", "falsey"), "upper-case last": replace("false", "False"), "bytes null": replace(`"AAECAwQ="`, "null"), "bytes a number": replace(`"AAECAwQ="`, "1"), "bytes an array": replace(`"AAECAwQ="`, "[]"), "bad bytes and bad last": spliced("A")[:len(spliced("A"))-2], "bad bytes and the nil id": strings.Replace(spliced("A"), someID, "00000000-0000-0000-0000-000000000000", 1),
		"another type": replace("transfer_chunk", "transfer_finish"), "no type known": replace("transfer_chunk", "transfer_chunks"), "an escape in the type": replace("transfer_chunk", `transfer\u005fchunk`), "an array": "[" + good + "]", "a BOM": "\ufeff" + good, "nothing": "",
	}
	for i := range good {
		texts[fmt.Sprintf("cut at %d", i)] = good[:i]
	}
	return texts
}

// TestTheFastPathIsAsStrictAsTheDecoder goes through the table.
func TestTheFastPathIsAsStrictAsTheDecoder(t *testing.T) {
	accepted := 0
	for name, text := range odd() {
		t.Run(name, func(t *testing.T) {
			if o := agreesWithTheStrictDecoder(t, []byte(text)); o.refusal == nil {
				accepted++
			}
		})
	}
	if accepted < 12 {
		t.Errorf("only %d texts are accepted", accepted)
	}
}

// TestTheFastPathLooksAtEveryByte puts every byte at every place of a text that
// is long enough for each stretch of the vector code, its ends included.
func TestTheFastPathLooksAtEveryByte(t *testing.T) {
	payload := make([]byte, 122)
	for i := range payload {
		payload[i] = byte(i*37 + 11)
	}
	good, err := (&frames.TransferChunk{TransferID: anID, Seq: 7, Bytes: payload}).AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(good); at += 1 + at%Thinned {
		text := bytes.Clone(good)
		for b := range 256 {
			text[at] = byte(b)
			agreesWithTheStrictDecoder(t, text)
			if t.Failed() {
				return
			}
		}
	}
}

// TestTheFastPathAgreesOnRandomEdits changes, removes, doubles and inserts bytes.
func TestTheFastPathAgreesOnRandomEdits(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	const alphabet = `AQgw048=+/-_\"{}[],:. 01e` + "\n\x00\xff"
	for range 200_000 / Thinned {
		payload := make([]byte, random.IntN(150))
		for i := range payload {
			payload[i] = byte(random.Uint32())
		}
		text := []byte(spliced(base64.StdEncoding.EncodeToString(payload)))
		for range random.IntN(3) {
			at := random.IntN(len(text))
			switch random.IntN(4) {
			case 0:
				text[at] = alphabet[random.IntN(len(alphabet))]
			case 1:
				text = append(text[:at], text[at+1:]...)
			case 2:
				text = append(text[:at+1], text[at:]...)
			case 3:
				text = append(text[:at], append([]byte{alphabet[random.IntN(len(alphabet))]}, text[at:]...)...)
			}
		}
		agreesWithTheStrictDecoder(t, text)
		if t.Failed() {
			return
		}
	}
}

// FuzzTheFastPathAgainstTheStrictDecoder takes whole messages.
func FuzzTheFastPathAgainstTheStrictDecoder(f *testing.F) {
	for _, text := range odd() {
		if len(text) < 4096 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { agreesWithTheStrictDecoder(t, text) })
}

// FuzzPayloadsAgainstTheStandardLibrary takes the text of a payload: it is
// accepted exactly if the strict decoder of encoding/base64 takes it and nothing
// in it is a line break, which that one passes over.
func FuzzPayloadsAgainstTheStandardLibrary(f *testing.F) {
	for _, text := range []string{"", "AA==", "AB==", "AAB=", "AAAA\n", "AAAA", "A", "AA=A", strings.Repeat("AAAA", 40) + "/w==", strings.Repeat("AAAA", 40) + "/x==", strings.Repeat("\n", 64), strings.Repeat("=", 64)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		if strings.ContainsAny(payload, `"\`) {
			return
		}
		o := agreesWithTheStrictDecoder(t, []byte(spliced(payload)))
		want, err := base64.StdEncoding.Strict().DecodeString(payload)
		valid := err == nil && !strings.ContainsAny(payload, "\r\n")
		if valid != (o.refusal == nil) {
			t.Fatalf("%q: the standard library says %v, we say %+v", payload, err, o.refusal)
		}
		if valid && !bytes.Equal(o.frame.(*frames.TransferChunk).Bytes, want) {
			t.Fatalf("%q is decoded to other bytes", payload)
		}
	})
}

// TestAChunkCostsOneAllocation: the frame itself; nothing at all to write it.
func TestAChunkCostsOneAllocation(t *testing.T) {
	payload := make([]byte, 64<<10)
	text, err := (&frames.TransferChunk{TransferID: anID, Bytes: payload}).AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	decoder := frames.Decoder{Buffer: func(n int) []byte { return payload[:n] }}
	var frame frames.Frame
	if n := fewestAllocs(func() { frame, err = decoder.DecodeForBrain(text) }); err != nil || n > 1 {
		t.Errorf("reading allocates %v times (%v)", n, err)
	}
	if n := fewestAllocs(func() { text, err = frame.AppendJSON(text[:0]) }); err != nil || n > 0 {
		t.Errorf("writing into a buffer allocates %v times (%v)", n, err)
	}
	if n := fewestAllocs(func() { text, err = frame.AppendJSON(nil) }); err != nil || n > 1 {
		t.Errorf("writing allocates %v times (%v)", n, err)
	}
}

// fewestAllocs is the least of several counts: what the runtime and other
// goroutines allocate meanwhile is counted too.
func fewestAllocs(run func()) float64 {
	least := testing.AllocsPerRun(100, run)
	for range 9 {
		least = min(least, testing.AllocsPerRun(100, run))
	}
	return least
}

var anID = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

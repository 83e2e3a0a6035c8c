package difftest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/vancetope/transfer/gen/frames"
)

// MaxFrameSize is the most that a peer reads by default.
const MaxFrameSize = 4 << 20

// Hostile is a message that aims at some part of the decoder.
type Hostile struct {
	Name   string
	Text   []byte
	Decode func(text []byte) (Message, error)
}

// HostileAllowance is how much a message of n bytes may allocate: four times as
// much. A small one may have 1 MiB, for the stacks of the ten thousand levels that
// may be open at once.
func HostileAllowance(n int) uint64 { return max(4*uint64(n), 1<<20) }

// decodeAtBrain decodes a frame once, as the reader of a connection does.
func decodeAtBrain(text []byte) (Message, error) {
	d := frames.Decoder{Features: allFeatures}
	f, err := d.DecodeForBrain(text)
	if err != nil {
		return nil, err
	}
	return f, nil
}

const hostileID = `"01234567-89ab-7def-8123-456789abcdef"`

// EachHostile makes frames, tool inputs and HTTP bodies of about size bytes, one
// after the other, since all of them would fill the memory.
func EachHostile(size int, use func(Hostile)) {
	h := hostileMaker{size: size, use: use}
	chunkHead := `{"type":"transfer_chunk","transferId":` + hostileID + `,`
	h.target("frame", decodeAtBrain)
	h.anywhere(chunkHead, `"seq":0,"bytes":"","last":true}`)
	h.payloads(chunkHead)
	h.frames()
	h.target("tool input", toolDecoders["client_file_upload.input"])
	h.anywhere(`{`, `"localPath":"a","dirName":"b","remotePath":"c"}`)
	h.add("a long path", h.fill(`{"dirName":"b","remotePath":"c","localPath":"`, "a/", `"}`))
	h.add("a long name of a Foot", h.fill(`{"localPath":"a","dirName":"b","remotePath":"c","foot":"`, `\n`, `"}`))
	h.add("attributes of any depth", h.fill(`{"attrs":`, `{"mode":`, ``))
	h.target("HTTP body", bodyDecoders["dirs"])
	h.anywhere(`{"dirs":[],`, `"more":1}`)
	h.target("HTTP body below", bodyDecoders["dirs"])
	h.anywhere(`{"dirs":[{`, `"dirName":"a"}]}`)
	h.target("HTTP body", bodyDecoders["dirs"])
	h.add("many items", h.fill(`{"dirs":[`, `{"dirName":"a","created":"2026-05-01T14:23:11Z"},`, `1]}`))
	h.add("many empty items", h.fill(`{"dirs":[`, `{},`, `{}]}`))
}

type hostileMaker struct {
	size   int
	kind   string
	decode func([]byte) (Message, error)
	use    func(Hostile)
}

func (h *hostileMaker) target(kind string, decode func([]byte) (Message, error)) {
	h.kind, h.decode = kind, decode
}

func (h *hostileMaker) add(name string, text []byte) {
	h.use(Hostile{h.kind + ": " + name, text, h.decode})
}

// fill repeats unit.
func (h *hostileMaker) fill(open, unit, end string) []byte {
	n := max(1, (h.size-len(open)-len(end))/len(unit))
	return []byte(open + strings.Repeat(unit, n) + end)
}

// numbered repeats a format with a number that counts up.
func (h *hostileMaker) numbered(open, format, end string) []byte {
	var b bytes.Buffer
	b.WriteString(open)
	for i := 0; i == 0 || b.Len() < h.size-len(end)-len(format)-8; i++ {
		fmt.Fprintf(&b, format, i)
	}
	b.WriteString(end)
	return b.Bytes()
}

// untilTheTableGrows has as many members as a table of names must grow for, of the
// shortest names: the most memory for the least text.
func (h *hostileMaker) untilTheTableGrows(open, end string) []byte {
	const digits = "!#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxy{|}~"
	slots := 64
	for slots/2*3*len(`"abc":1,`) < h.size-len(open)-len(end) {
		slots *= 2
	}
	var b bytes.Buffer
	b.WriteString(open)
	for i := range slots/4*3 + 1 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		for n := i; n > 0; n /= len(digits) {
			b.WriteByte(digits[n%len(digits)])
		}
		b.WriteString(`":1`)
	}
	b.WriteString(end)
	return b.Bytes()
}

// anywhere adds what can be put into any object, between head and tail.
func (h *hostileMaker) anywhere(head, tail string) {
	const twenty = `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1,"r":1,"s":1,"t":1},`
	size := h.size
	h.nested(head, tail)
	h.add("a huge number", h.fill(head+`"x":`, "9", ","+tail))
	h.add("a huge fraction", h.fill(head+`"x":0.`, "0", ","+tail))
	h.add("many huge exponents", h.fill(head+`"x":[`, "1e999999999,", "0],"+tail))
	h.add("many numbers", h.fill(head+`"x":[`, "0,", "0],"+tail))
	h.add("one long name", h.fill(head+`"`, "n", `":1,`+tail))
	h.add("seventeen long names", h.numbered(head, `"`+strings.Repeat("n", size/18)+`%d":1,`, tail))
	h.add("seventeen escaped names", h.numbered(head, `"`+strings.Repeat(`\u006e`, size/18/6)+`%d":1,`, tail))
	h.add("names of quotes", h.numbered(head, `"`+strings.Repeat(`\"`, 500)+`%d":1,`, tail))
	h.add("names of backslashes", h.numbered(head, `"`+strings.Repeat(`\\`, 500)+`%d":1,`, tail))
	h.add("names that begin alike", h.numbered(head, `"`+strings.Repeat("n", 100)+`%d":1,`, tail))
	h.add("a million members", h.numbered(head, `"%x":1,`, tail))
	h.add("a million escaped members", h.numbered(head, `"\u006e%x":1,`, tail))
	h.add("a million members below", h.numbered(head+`"x":{`, `"%x":1,`, `"z":1},`+tail))
	h.add("a million members, the last one twice", h.numbered(head+`"x":{`, `"%x":1,`, `"0":1},`+tail))
	h.add("members until the table grows", h.untilTheTableGrows(head+`"x":{`, `,"z":1},`+tail))
	h.add("a million doubles", h.fill(head, `"x":1,`, tail))
	h.add("a million objects", h.fill(head+`"x":[`, `{"a":1},`, "0],"+tail))
	h.add("a million empty objects", h.fill(head+`"x":[`, `{},`, "0],"+tail))
	h.add("objects of twenty members", h.fill(head+`"x":[`, twenty, "0],"+tail))
	h.add("a large object, then small ones", append(h.numbered(head+`"x":[{`, `"%x":1,`, ""), h.fill(`"z":1},`, twenty, "0],"+tail)...)[:size])
	h.add("a long string", h.fill(head+`"x":"`, "é", `",`+tail))
	h.add("a long string of escapes", h.fill(head+`"x":"`, `\ud83d\ude00`, `",`+tail))
	h.add("a string without an end", h.fill(head+`"x":"`, `\"`, ``))
	h.add("white space", h.fill(head, " \n", tail))
	h.add("white space before", h.fill("", " ", head+tail))
	h.add("white space behind", h.fill(head+tail, " ", ""))
	h.add("random bytes", bytes.Repeat([]byte{0xff, '{', '"', 0}, size/4))
}

func (h *hostileMaker) nested(head, tail string) {
	half := (h.size - len(head) - len(tail) - len(`"x":,`)) / 2
	h.add("nested arrays", h.fill(head+`"x":`, "[", ""))
	h.add("nested objects", h.fill(head+`"x":`, `{"a":`, ""))
	h.add("nested and closed", []byte(head+`"x":`+strings.Repeat("[", half)+strings.Repeat("]", half)+","+tail))
	h.add("as deep as can be", h.fill(head+`"x":`+strings.Repeat(`{"a":`, 9990), `"n",`, "1"))
	const deep = 9990
	h.add("as deep as can be, and closed", h.fill(head+`"x":`+strings.Repeat(`{"a":`, deep)+"1"+strings.Repeat("}", deep)+`,"y":[`, "0,", "0],"+tail))
	h.add("a thousand levels each", h.fill(head+`"x":[`, strings.Repeat("[", 500)+strings.Repeat("]", 500)+",", "0],"+tail))
	h.add("a hundred objects deep each", h.fill(head+`"x":[`, strings.Repeat(`{"a":`, 100)+"1"+strings.Repeat("}", 100)+",", "0],"+tail))
}

// payloads adds what aims at the members of a chunk, and at its fast path.
func (h *hostileMaker) payloads(head string) {
	const end = `,"last":true}`
	h.add("a huge integer", h.fill(head+`"seq":`, "9", `,"bytes":""`+end))
	h.add("a huge fraction of a chunk's number", h.fill(head+`"seq":0.`, "0", `,"bytes":""`+end))
	h.add("a payload that is too long", h.fill(head+`"seq":0,"bytes":"`, "AAAA", `"`+end))
	h.add("a payload that is too long, in another order", h.fill(head+`"bytes":"`, "AAAA", `","seq":0,"last":true}`))
	h.add("a payload of escapes", h.fill(head+`"seq":0,"bytes":"`, `\u0041`, `"`+end))
	h.add("a payload of line breaks", h.fill(head+`"seq":0,"bytes":"`, "\n", `"`+end))
	h.add("a payload with a bad end", h.fill(head+`"seq":0,"bytes":"`, "A", `=A"`+end))
	h.add("a payload without an end", h.fill(head+`"seq":0,"bytes":"`, "A", ""))
	h.add("many payloads", h.fill(head+`"seq":0`, `,"bytes":"AAAA"`, end))
	longest := strings.Repeat("AAAA", 1398100/4)
	h.add("a long payload, refused at its end", []byte(head+`"seq":0,"bytes":"`+longest[:min(len(longest), h.size/4*4)]+`AB=="`+end))
	h.add("a long payload and an unknown member", h.fill(head+`"seq":0,"bytes":"`+longest[:min(len(longest), h.size/8*4)]+`","x":[`, `{},`, `1]`+end))
}

// frames adds what aims at other frames.
func (h *hostileMaker) frames() {
	h.add("the type last", h.fill(`{"x":[`, "0,", `0],"seq":0,"bytes":"","last":true,"transferId":`+hostileID+`,"type":"transfer_chunk"}`))
	h.add("an unknown type", h.fill(`{"type":"x","x":[`, `{"a":1},`, "0]}"))
	h.add("a long type", h.fill(`{"type":"`, "x", `"}`))
	h.add("a type of the wrong kind", h.fill(`{"type":[`, `{"type":1},`, `1]}`))
	h.add("no object", h.fill(`[`, `{"type":1},`, `1]`))
	h.add("a long path", h.fill(`{"type":"transfer_init","transferId":`+hostileID+`,"totalSize":0,"target":"`, "a/", `"}`))
	h.add("a long hash", h.fill(`{"type":"transfer_init","transferId":`+hostileID+`,"target":"","totalSize":0,"hash":"sha256:`, "0", `"}`))
	const hello = `{"type":"hello","protocolVersion":1,"footId":"","clientVersion":"","os":"linux","access":"edit",`
	h.add("many features", h.fill(hello+`"grants":[],"features":[`, `"a",`, `"a"]}`))
	h.add("many grants", h.fill(hello+`"features":[],"grants":[`, `{"name":"a","access":"read"},`, `null]}`))
}

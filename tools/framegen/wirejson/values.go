package wirejson

import (
	"encoding/base64"
	"time"
	"unicode/utf8"

	fastbase64 "github.com/segmentio/asm/base64"

	"github.com/google/uuid"
)

// String reads a string.
func (r *Reader) String() (string, *Fault) {
	contents, f := r.stringContents()
	return string(contents), f
}

// stringContents reads a string; the bytes are good until the next read.
func (r *Reader) stringContents() ([]byte, *Fault) {
	if f := r.expect('"', "must be a string"); f != nil {
		return nil, f
	}
	raw, err := r.decoder.ReadValue()
	if err != nil {
		return nil, syntax(err)
	}
	contents, err := r.unquote(raw)
	if err != nil {
		return nil, syntax(err)
	}
	return contents, nil
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, *Fault) {
	kind := r.decoder.PeekKind()
	if kind != 't' && kind != 'f' {
		return false, r.expect('t', "must be true or false")
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return false, syntax(err)
	}
	return kind == 't', nil
}

// UUID reads a UUID in lower-case 8-4-4-4-12, the one spelling there is.
func (r *Reader) UUID() (uuid.UUID, *Fault) {
	contents, f := r.stringContents()
	if f != nil {
		return uuid.UUID{}, f
	}
	id, ok := parseUUID(contents)
	if !ok {
		return uuid.UUID{}, New("format", "must be a UUID in lower-case 8-4-4-4-12")
	}
	return id, nil
}

func parseUUID(s []byte) (id uuid.UUID, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	at := 0
	for i := range id {
		if at == 8 || at == 13 || at == 18 || at == 23 {
			at++
		}
		hi, lo := lowerHex(s[at]), lowerHex(s[at+1])
		if hi|lo > 15 {
			return id, false
		}
		id[i] = hi<<4 | lo
		at += 2
	}
	return id, true
}

// lowerHex returns the value of a digit, 255 for anything else.
func lowerHex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// Time reads a time in UTC as RFC 3339 writes it: upper-case T and Z, at most
// nine fraction digits, no leap second.
func (r *Reader) Time() (time.Time, *Fault) {
	contents, f := r.stringContents()
	if f != nil {
		return time.Time{}, f
	}
	t, ok := parseTime(contents)
	if !ok {
		return time.Time{}, New("format", "must be a time like 2026-05-01T14:23:11Z: RFC 3339 in UTC, at most nine fraction digits")
	}
	return t, nil
}

func parseTime(s []byte) (time.Time, bool) {
	const shape = "0000-00-00T00:00:00"
	if len(s) < len(shape)+1 || len(s) > len(shape)+11 || s[len(s)-1] != 'Z' {
		return time.Time{}, false
	}
	for i := range shape {
		if digit := '0' <= s[i] && s[i] <= '9'; digit != (shape[i] == '0') || !digit && s[i] != shape[i] {
			return time.Time{}, false
		}
	}
	nanoseconds, ok := parseFraction(s[len(shape) : len(s)-1])
	if !ok {
		return time.Time{}, false
	}
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	year, month, day := two(0)*100+two(2), two(5), two(8)
	hour, minute, second := two(11), two(14), two(17)
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, nanoseconds, time.UTC), true
}

// parseFraction reads "" or a point and one to nine digits.
func parseFraction(s []byte) (nanoseconds int, ok bool) {
	if len(s) == 0 {
		return 0, true
	}
	if s[0] != '.' || len(s) == 1 {
		return 0, false
	}
	unit := 100_000_000
	for _, c := range s[1:] {
		if c < '0' || c > '9' {
			return 0, false
		}
		nanoseconds += int(c-'0') * unit
		unit /= 10
	}
	return nanoseconds, true
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// Int reads an integer from least to most. 1.0, 1e2 and -0 are integers too; a
// literal longer than 64 bytes or with an exponent beyond ±100 is refused unseen,
// since its value could cost any amount of time.
func (r *Reader) Int(least, most int64) (int64, *Fault) {
	if f := r.expect('0', "must be an integer"); f != nil {
		return 0, f
	}
	raw, err := r.decoder.ReadValue()
	if err != nil {
		return 0, syntax(err)
	}
	return parseInt(raw, least, most)
}

// Base64 reads standard base64 with padding and without line breaks, of at most
// longest characters, into memory of r.Buffer.
func (r *Reader) Base64(longest int) ([]byte, *Fault) {
	text, f := r.stringContents()
	if f != nil {
		return nil, f
	}
	if len(text) > longest {
		if utf8.RuneCount(text) > longest {
			return nil, TooLong(longest)
		}
		return nil, badBase64() // fewer characters than bytes
	}
	size, ok := decodedSize(text)
	if !ok {
		return nil, badBase64()
	}
	payload := newPayload(size, r.Buffer)
	if !decodeBase64(payload, text) {
		return nil, badBase64()
	}
	return payload, nil
}

func badBase64() *Fault {
	return New("contentEncoding", "must be standard base64 with padding and without line breaks")
}

func newPayload(size int, buffer func(int) []byte) []byte {
	if buffer == nil || size == 0 {
		return make([]byte, size)
	}
	return buffer(size)[:size]
}

// decodedSize tells how many bytes a well-formed text stands for.
func decodedSize(text []byte) (int, bool) {
	n := len(text)
	if n%4 != 0 {
		return 0, false
	}
	size := n / 4 * 3
	for i := 1; i <= 2 && i <= n && text[n-i] == '='; i++ {
		size--
	}
	return size, true
}

// decodeBase64 fills dst, which has the decoded size of text. The last group is
// decoded on its own: there the padding and the bits behind it have to be looked
// at, and the groups before it need exactly three bytes each, so that the vector
// code never writes past dst.
func decodeBase64(dst, text []byte) bool {
	if len(text) == 0 {
		return true
	}
	last := len(text) - 4
	whole := last / 4 * 3
	// The decoder passes over line breaks; then it gives fewer bytes.
	n, err := fastbase64.StdEncoding.Decode(dst[:whole:whole], text[:last])
	if err != nil || n != whole {
		return false
	}
	var tail [3]byte
	n, err = strictBase64.Decode(tail[:], text[last:])
	if err != nil || whole+n != len(dst) {
		return false
	}
	copy(dst[whole:], tail[:n])
	return true
}

var strictBase64 = base64.StdEncoding.Strict()

package wirejson

import (
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	fastbase64 "github.com/segmentio/asm/base64"
)

// Each appender writes one value and the comma after it; EndObject and EndArray
// take the last comma back.

// String appends a string; it fails on invalid UTF-8.
func String(dst []byte, s string) ([]byte, error) {
	dst, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		return dst, New(RuleSyntax, "must be valid UTF-8")
	}
	return append(dst, ','), nil
}

// Int appends an integer.
func Int(dst []byte, n int64) []byte {
	return append(strconv.AppendInt(dst, n, 10), ',')
}

// Bool appends true or false.
func Bool(dst []byte, b bool) []byte {
	return append(strconv.AppendBool(dst, b), ',')
}

// UUID appends a UUID.
func UUID(dst []byte, id uuid.UUID) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return append(dst, '"', ',')
}

// Time appends a time in UTC.
func Time(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"', ',')
}

// Room makes dst large enough for an object with a payload of n bytes and short
// members beside it, so that it grows at most once.
func Room(dst []byte, n int) []byte {
	n = fastbase64.StdEncoding.EncodedLen(n) + 512
	if cap(dst)-len(dst) >= n {
		return dst
	}
	larger := make([]byte, len(dst), len(dst)+n)
	copy(larger, dst)
	return larger
}

// Base64 appends a payload, encoded in place.
func Base64(dst, payload []byte) []byte {
	size := fastbase64.StdEncoding.EncodedLen(len(payload))
	dst = slices.Grow(dst, size+2)
	dst = append(dst, '"')
	at := len(dst)
	dst = dst[:at+size]
	fastbase64.StdEncoding.Encode(dst[at:], payload)
	return append(dst, '"', ',')
}

// EndObject ends an object.
func EndObject(dst []byte) []byte { return end(dst, '}') }

// EndArray ends an array.
func EndArray(dst []byte) []byte { return end(dst, ']') }

func end(dst []byte, bracket byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst[last] = bracket
	} else {
		dst = append(dst, bracket)
	}
	return append(dst, ',')
}

// Whole takes back the comma after the outermost value.
func Whole(dst []byte) []byte { return dst[:len(dst)-1] }

package difftest

import (
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Outbound calls try with v after each single change of a field that Go code
// could make: limits, nil pointers and slices, zero values, invalid UTF-8. v is
// as before afterwards.
func Outbound(v reflect.Value, try func(place string)) {
	try("unchanged")
	vary(v.Elem(), "", try)
}

func vary(v reflect.Value, place string, try func(string)) {
	for _, other := range variants(v.Type()) {
		saved := reflect.New(v.Type()).Elem()
		saved.Set(v)
		v.Set(other)
		try(place)
		v.Set(saved)
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[uuid.UUID]():
	case v.Kind() == reflect.Pointer && !v.IsNil():
		vary(v.Elem(), place, try)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			vary(v.Field(i), place+"."+v.Type().Field(i).Name, try)
		}
	case v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Kind() != reflect.Uint8:
		varySlice(v, place, try)
	}
}

func varySlice(v reflect.Value, place string, try func(string)) {
	saved := reflect.ValueOf(v.Interface())
	for _, n := range []int{1, 63, 64, 65, 255, 256, 257, 999, 1000, 1001} {
		long := reflect.MakeSlice(v.Type(), 0, n)
		for range n {
			long = reflect.Append(long, saved.Index(0))
		}
		v.Set(long)
		try(place)
	}
	v.Set(saved)
	vary(v.Index(0), place+"[0]", try)
}

var stringVariants = []string{
	"", "a", ".", "..", "\x00", "a\x00", "\xff", "a\xffb", "é", "\u2028", "😀", "A B", "/", "x=", "linux", "edit", "upload", "ephemeral", "ok", "mismatch", "internal", "queued", "nothing",
	"0644", "0o755", "8", "sha256:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("A", 64), "01234567-89ab-7def-8123-456789abcdef",
	strings.Repeat("x", 4096), strings.Repeat("x", 4097), strings.Repeat("é", 4096), strings.Repeat("é", 4097), strings.Repeat("x", 64), strings.Repeat("x", 65),
	strings.Repeat("é", 64), strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("é", 128), strings.Repeat("é", 129), strings.Repeat("x", 256), strings.Repeat("x", 257), strings.Repeat("0", 7), strings.Repeat("x", 71), strings.Repeat("x", 72),
}

var intVariants = []int64{
	math.MinInt64, -(1 << 53), -(1<<53 - 1), -1, 0, 1, 2, 100, 999, 1000, 1001, 65535, 65536, 1048576, 1048577, 67108864, 67108865, 86400000, 86400001, 1<<53 - 1, 1 << 53, math.MaxInt64,
}

// variants are values of a type worth trying.
func variants(t reflect.Type) []reflect.Value {
	var out []reflect.Value
	add := func(v any) { out = append(out, reflect.ValueOf(v).Convert(t)) }
	switch {
	case t == reflect.TypeFor[time.Time]():
		for _, year := range []int{-1, 0, 1, 1970, 2024, 9999, 10000} {
			add(time.Date(year, 12, 31, 23, 59, 59, 999999999, time.UTC))
			add(time.Date(year, 1, 1, 0, 0, 0, 1, time.FixedZone("", 3600)))
			add(time.Date(year, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)))
		}
		add(time.Time{})
	case t == reflect.TypeFor[uuid.UUID]():
		add(uuid.Nil)
		add(uuid.Max)
		add(uuid.MustParse("01234567-89ab-7def-8123-456789abcdef"))
	case t.Kind() == reflect.String:
		for _, s := range stringVariants {
			add(s)
		}
	case t.Kind() == reflect.Int64:
		for _, n := range intVariants {
			add(n)
		}
	case t.Kind() == reflect.Bool:
		add(true)
		add(false)
	case t == reflect.TypeFor[[]byte]():
		for _, n := range []int{0, 1, 2, 3, 1<<20 - 1, 1 << 20, 1<<20 + 1, 1<<20 + 2} {
			add(make([]byte, n))
		}
		out = append(out, reflect.Zero(t))
	case t.Kind() == reflect.Slice:
		out = append(out, reflect.Zero(t), reflect.MakeSlice(t, 0, 0))
	case t.Kind() == reflect.Pointer:
		out = append(out, reflect.Zero(t), reflect.New(t.Elem()))
	}
	return out
}

package difftest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

// CompareOutbound holds Validate against what the schema says of the encoding, the
// place, the rule and the code included, and says how they disagree, "" if they do
// not.
func (o *Oracle) CompareOutbound(s Subject, m Message) (valid bool, difference string) {
	invalid := m.Validate()
	text, err := m.AppendJSON(nil)
	if broken := !validText(reflect.ValueOf(m)); broken != (err != nil) {
		return invalid == nil, fmt.Sprintf("text that is not UTF-8: %t; AppendJSON says %v", broken, err)
	}
	if difference := parts(m, text, invalid); difference != "" {
		return invalid == nil, difference
	}
	if err == nil {
		err = o.Accepts(s.File, text)
	}
	if (invalid == nil) != (err == nil) {
		return invalid == nil, fmt.Sprintf("Validate says %v, the schema says %v of %.200s", invalid, err, text)
	}
	if invalid != nil {
		return false, o.misplaced(invalid, err)
	}
	return true, ""
}

// parts holds the objects in a message against the whole: each encodes to a part
// of it, and is invalid where the whole is, for the same reason.
func parts(whole Message, text []byte, invalid error) (difference string) {
	place, reason := "", ""
	var refused *common.DecodeError
	if errors.As(invalid, &refused) {
		place, reason = refused.Place, refused.Reason
	}
	eachPart(reflect.ValueOf(whole).Elem(), "", func(at string, part Message) {
		own, err := part.AppendJSON(nil)
		broken := !validText(reflect.ValueOf(part))
		if broken != (err != nil) || !broken && len(text) > 0 && (len(own) == 0 || !bytes.Contains(text, own)) {
			difference = fmt.Sprintf("%s encodes to %.200s, %v, which is not in %.200s", at, own, err, text)
		}
		inside := place != "" && strings.HasPrefix(place, at+"/")
		wrong := part.Validate()
		var why *common.DecodeError
		switch {
		case !inside && invalid == nil && wrong != nil:
			difference = fmt.Sprintf("%s is invalid alone: %v", at, wrong)
		case inside && (!errors.As(wrong, &why) || at+why.Place != place || why.Reason != reason):
			difference = fmt.Sprintf("%s is wrong alone with %v, within the whole with %v", at, wrong, invalid)
		}
	})
	return difference
}

// eachPart calls visit for every object below v, with its place.
func eachPart(v reflect.Value, place string, visit func(string, Message)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachPart(v.Elem(), place, visit)
		}
	case reflect.Struct:
		if part, ok := v.Addr().Interface().(Message); ok && place != "" {
			visit(place, part)
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if v.Type() != reflect.TypeFor[time.Time]() {
				eachPart(v.Field(i), place+"/"+name, visit)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range min(v.Len(), 2) {
				eachPart(v.Index(i), place+"/"+strconv.Itoa(i), visit)
			}
		}
	}
}

// validText reports whether every string in v is valid UTF-8. The type tag is
// written by itself.
func validText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer:
		return v.IsNil() || validText(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() && field.Type != reflect.TypeFor[frames.FrameType]() && !validText(v.Field(i)) {
				return false
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return true
		}
		for i := range v.Len() {
			if !validText(v.Index(i)) {
				return false
			}
		}
	}
	return true
}

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
	for _, n := range []int{1, 15, 16, 17, 63, 64, 65, 255, 256, 257, 999, 1000, 1001} {
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
	math.MinInt64, -(1 << 53), -(1<<53 - 1), -1, 0, 1, 2, 100, 999, 1000, 1001, 65535, 65536, 262143, 262144, 262145, 1048576, 1048577, 67108864, 67108865, 86400000, 86400001, 1<<53 - 1, 1 << 53, math.MaxInt64,
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

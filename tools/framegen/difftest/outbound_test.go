package difftest

import (
	"reflect"
	"testing"
)

// TestValidateAgreesWithTheSchemaOfTheEncoding changes every field of every type.
func TestValidateAgreesWithTheSchemaOfTheEncoding(t *testing.T) {
	f := setUp(t)
	total, valid := 0, 0
	for _, s := range f.subjects {
		for _, full := range []bool{true, false} {
			m, err := s.Decode([]byte(Sample(s.Type, full).String()))
			if err != nil {
				t.Fatalf("%s: the sample is refused: %v", s.File, err)
			}
			Outbound(reflect.ValueOf(m), func(place string) {
				if total++; total%Thinned != 0 {
					return
				}
				invalid := m.Validate()
				text, err := m.AppendJSON(nil)
				if err == nil {
					err = f.oracle.Accepts(s.File, text)
				}
				if invalid == nil {
					valid++
				}
				if (invalid == nil) != (err == nil) {
					t.Errorf("%s%s: Validate says %v, the schema says %v of %.200s", s.File, place, invalid, err, text)
				}
			})
		}
	}
	t.Logf("%d values, %d valid", total, valid)
	if valid < 200/Thinned {
		t.Errorf("only %d values are valid: the variants no longer reach the limits", valid)
	}
}

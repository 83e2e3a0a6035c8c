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
				ok, difference := f.oracle.CompareOutbound(s, m)
				if ok {
					valid++
				}
				if difference != "" {
					t.Errorf("%s%s: %s", s.File, place, difference)
				}
			})
		}
	}
	t.Logf("%d values, %d valid", total, valid)
	if valid < 200/Thinned {
		t.Errorf("only %d values are valid: the variants no longer reach the limits", valid)
	}
}

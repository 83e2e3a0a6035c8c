package difftest

import (
	"testing"
)

type fixture struct {
	oracle   *Oracle
	subjects []Subject
}

func setUp(t testing.TB) fixture {
	t.Helper()
	m, err := LoadModel()
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := NewOracle(m)
	if err != nil {
		t.Fatal(err)
	}
	subjects, forgotten := Subjects(m)
	for _, file := range forgotten {
		t.Errorf("schema/%s has no decoder in subjects.go; add it to its table", file)
	}
	return fixture{oracle, subjects}
}

// TestDecodersAgreeWithTheSchemasAtEveryLimit walks every schema.
func TestDecodersAgreeWithTheSchemasAtEveryLimit(t *testing.T) {
	f := setUp(t)
	total, accepted, numbers := 0, 0, 0
	for _, s := range f.subjects {
		differences := 0
		try := func(text string) {
			total++
			v := f.oracle.Compare(s, []byte(text))
			if v.Accepted {
				accepted++
			}
			if v.NumberForm {
				numbers++
			}
			if v.Difference != "" {
				if differences++; differences <= 5 {
					t.Errorf("%s: %.300s\n\t%s", s.File, text, v.Difference)
				}
			}
		}
		Instances(s.Type, Sample(s.Type, true), try)
		Instances(s.Type, Sample(s.Type, false), try)
		if differences > 5 {
			t.Errorf("%s: %d differences in all", s.File, differences)
		}
	}
	t.Logf("%d instances, %d accepted, %d refused for the spelling of a number alone", total, accepted, numbers)
	if accepted < 500 || numbers == 0 {
		t.Errorf("only %d instances were accepted and %d refused for their numbers: the walk no longer reaches the limits", accepted, numbers)
	}
}

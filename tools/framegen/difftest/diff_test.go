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

// tally counts what a comparison saw.
type tally struct{ total, accepted, numbers, differences int }

// count notes a verdict and reports the first differences of a subject.
func (c *tally) count(t *testing.T, s Subject, text string, v Verdict) {
	if v.Accepted {
		c.accepted++
	}
	if v.NumberForm {
		c.numbers++
	}
	if v.Difference == "" {
		return
	}
	if c.differences++; c.differences <= 5 {
		t.Errorf("%s: %.300s\n\t%s", s.File, text, v.Difference)
	}
}

// TestDecodersAgreeWithTheSchemasAtEveryLimit walks every schema.
func TestDecodersAgreeWithTheSchemasAtEveryLimit(t *testing.T) {
	f := setUp(t)
	tallies := make([]tally, len(f.subjects))
	t.Run("subjects", func(t *testing.T) {
		for i, s := range f.subjects {
			t.Run(s.File, func(t *testing.T) {
				t.Parallel()
				c := &tallies[i]
				try := func(text string) {
					if c.total++; c.total%Thinned == 0 {
						c.count(t, s, text, f.oracle.Compare(s, []byte(text)))
					}
				}
				Instances(s.Type, Sample(s.Type, true), try)
				Instances(s.Type, Sample(s.Type, false), try)
				if c.differences > 5 {
					t.Errorf("%d differences in all", c.differences)
				}
			})
		}
	})
	var all tally
	for _, c := range tallies {
		all.total += c.total / Thinned
		all.accepted += c.accepted
		all.numbers += c.numbers
	}
	t.Logf("%d instances, %d accepted, %d refused for the spelling of a number alone", all.total, all.accepted, all.numbers)
	if all.accepted < 500 || all.numbers == 0 {
		t.Errorf("only %d instances were accepted and %d refused for their numbers: the walk no longer reaches the limits", all.accepted, all.numbers)
	}
}

package difftest

import (
	"os"
	"strconv"
	"testing"
)

// roundsFromEnvironment lets `make fuzz` ask for more than a test run has time for.
const roundsFromEnvironment = "FRAMEGEN_DIFF_ROUNDS"

// TestDecodersAgreeWithTheSchemasOnRandomEdits runs 20,000 instances, or as many
// as FRAMEGEN_DIFF_ROUNDS says.
func TestDecodersAgreeWithTheSchemasOnRandomEdits(t *testing.T) {
	rounds := 20_000 / Thinned
	if s := os.Getenv(roundsFromEnvironment); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("%s: %v", roundsFromEnvironment, err)
		}
		rounds = n
	}
	f := setUp(t)
	m := NewMutator(1)
	accepted := 0
	for i := range rounds {
		s := f.subjects[i%len(f.subjects)]
		text := []byte(m.Next(s.Type))
		v := f.oracle.Compare(s, text)
		if v.Accepted {
			accepted++
		}
		if v.Difference != "" {
			t.Errorf("%s: %.300s\n\t%s", s.File, text, v.Difference)
		}
	}
	t.Logf("%d instances, %d accepted", rounds, accepted)
	if accepted*100 < rounds {
		t.Errorf("only %d of %d instances were accepted: the edits are too rough", accepted, rounds)
	}
}

// FuzzDecodersAgreeWithTheSchemas takes any bytes, as any kind of message.
func FuzzDecodersAgreeWithTheSchemas(f *testing.F) {
	fix := setUp(f)
	for i, s := range fix.subjects {
		f.Add(uint8(i), []byte(Sample(s.Type, true).String()))
		f.Add(uint8(i), []byte(Sample(s.Type, false).String()))
	}
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		s := fix.subjects[int(kind)%len(fix.subjects)]
		if Costly(text) {
			_, _ = s.Decode(text) // must not panic; the oracle would take seconds
			return
		}
		if v := fix.oracle.Compare(s, text); v.Difference != "" {
			t.Errorf("%s: %q\n\t%s", s.File, text, v.Difference)
		}
	})
}

// An edit may empty a name, and the next one meets it.
func TestAnEmptyNameCanBeEditedAgain(t *testing.T) {
	for _, name := range otherNames(`""`) {
		if name == `""` {
			t.Error("the edit of an empty name changes nothing")
		}
	}
	if got := escapeFirst(`""`); got != `""` {
		t.Errorf("the first character of no name is spelt %s", got)
	}
}

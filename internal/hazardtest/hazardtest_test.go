package hazardtest

import "testing"

func TestEveryRowOfTheCorporaSaysWhatItIsFor(t *testing.T) {
	if len(Names()) < 60 || len(PathForms()) < 35 || len(Sizes()) < 20 {
		t.Fatalf("rows are missing: %d names, %d paths, %d sizes", len(Names()), len(PathForms()), len(Sizes()))
	}
	for _, n := range Names() {
		if n.Why == "" || n.Unix == "" || n.Windows == "" || n.Write == "" {
			t.Errorf("name %q: %+v", n.Value, n)
		}
	}
	for _, p := range PathForms() {
		if p.Why == "" || p.Unix == "" || p.Windows == "" {
			t.Errorf("path %q: %+v", p.Value, p)
		}
	}
}

package version

import "testing"

func TestTheLinkersVersionWins(t *testing.T) {
	version = "1.2.3"
	t.Cleanup(func() { version = "" })
	if got := String(); got != "1.2.3" {
		t.Errorf("got %q", got)
	}
}

func TestABuildWithoutAVersionStillHasAName(t *testing.T) {
	if String() == "" {
		t.Error("empty")
	}
}

package rootfs

import "testing"

func TestAPathThatBeginsWithAtNamesAGrant(t *testing.T) {
	for p, want := range map[string]struct {
		name, rest string
		ok         bool
	}{
		"@music/a/b.mp3": {"music", "a/b.mp3", true},
		"@music":         {"music", "", true},
		"@music/":        {"music", "", true},
		"@music//x":      {"music", "/x", true},
		"@/x":            {"", "x", true},
		"@":              {"", "", true},
		"@../x":          {"..", "x", true},
		"./@music/a":     {"", "", false},
		"music/@a":       {"", "", false},
		"/@music":        {"", "", false},
		"":               {"", "", false},
	} {
		if name, rest, ok := SplitGrant(p); name != want.name || rest != want.rest || ok != want.ok {
			t.Errorf("%q: %q, %q, %v", p, name, rest, ok)
		}
	}
}

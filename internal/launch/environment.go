package launch

import (
	"os"
	"strings"
)

// Environment is the caller's, but for what would configure the programs: the
// settings named VANCE_… stay out, and the home folder is another.
func Environment(home string) []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "VANCE_") && !strings.HasPrefix(entry, "HOME=") {
			env = append(env, entry)
		}
	}
	return append(env, "HOME="+home)
}

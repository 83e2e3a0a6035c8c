// Package version says which build of the programs this is.
package version

import "runtime/debug"

// Protocol is the version of the wire protocol that hello and welcome carry.
const Protocol = 1

// Both may be set by the linker:
// -ldflags "-X github.com/vancetope/transfer/internal/version.version=1.2.3".
var version, commit string

// String is the version of the program: what the linker was told, else the
// version of the module the program was installed from, else "dev".
func String() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// Commit is the revision the program was built from: what the linker was told,
// else what the build noted, with "+dirty" when the working copy had changes. It
// is empty when neither knows.
func Commit() string {
	if commit != "" {
		return commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}

package workspace

import (
	"crypto/rand"
	"strings"

	"github.com/vancetope/transfer/internal/rootfs"
)

const (
	generateTries = 8 // names that may be taken, before the creator has to choose
	shortIDLength = 8
)

// Check refuses names that are not a single path segment.
func (p Project) Check() error {
	if err := rootfs.CheckSegment("tenant", p.Tenant); err != nil {
		return err
	}
	return rootfs.CheckSegment("projectId", p.ProjectID)
}

func checkDirName(s string) error { return rootfs.CheckSegment("dirName", s) }

// generateName returns "<type>-<short id>". The id is lower case, so that two
// of them never differ in case only.
func generateName(t Type) string {
	return string(t) + "-" + strings.ToLower(rand.Text()[:shortIDLength])
}

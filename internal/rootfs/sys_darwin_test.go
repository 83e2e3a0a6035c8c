package rootfs

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// exchange swaps two names of a folder in one step.
func exchange(dir, a, b string) error {
	return unix.RenamexNp(filepath.Join(dir, a), filepath.Join(dir, b), unix.RENAME_SWAP)
}

// asOrdinaryUser runs f as the user it is. Root ignores modes, and this system
// lets no single thread give that up.
func asOrdinaryUser(t *testing.T, _ string, f func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Fatal("run these tests as an ordinary user on this system")
	}
	f()
}

//go:build linux || darwin

package hazardtest

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Special is an entry that is no regular file and no folder.
type Special struct {
	Name string
	Code string // the error code of reading it and of writing to it
}

// MakeSpecials fills a folder with links of all kinds, a FIFO, a socket and,
// where the user may make one, a device. The outside folder is what the links
// lead to. Everyone can read the device in /dev instead.
func MakeSpecials(t testing.TB, dir, outside string) []Special {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	must(os.WriteFile(at("plain"), []byte("inside"), 0o644))
	must(os.MkdirAll(at("folder"), 0o755))
	must(os.WriteFile(filepath.Join(outside, "secret"), []byte("outside"), 0o644))

	const link, special = "symlink_not_allowed", "not_regular_file"
	specials := []Special{{"fifo", special}, {"socket", special}}
	must(unix.Mkfifo(at("fifo"), 0o644))
	must(makeSocket(at("socket")))
	if err := unix.Mknod(at("device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err == nil {
		specials = append(specials, Special{"device", special})
	}
	for name, target := range map[string]string{
		"link-in":       "plain",
		"link-out":      filepath.Join(outside, "secret"),
		"link-dangling": filepath.Join(outside, "not-there"),
		"link-loop":     "link-loop",
		"link-folder":   "folder",
		"link-parent":   "..",
		"link-root":     "/",
	} {
		must(os.Symlink(target, at(name)))
		specials = append(specials, Special{name, link})
	}
	return specials
}

// makeSocket leaves the name of a socket behind. Where the system does not make
// one by itself, one is bound under a short path, as about a hundred bytes are
// all it allows.
func makeSocket(path string) error {
	if unix.Mknod(path, unix.S_IFSOCK|0o644, 0) == nil {
		return nil
	}
	tmp, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(tmp, "s"), Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		return err
	}
	return os.Rename(filepath.Join(tmp, "s"), path)
}

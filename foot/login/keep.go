package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vancetope/transfer/internal/rootfs"
)

// Login is what a Foot needs to connect.
type Login struct {
	Brain     string `json:"brain"` // its URL
	Tenant    string `json:"tenant"`
	ProjectID string `json:"projectId"`
	FootID    string `json:"footId"`
	Token     string `json:"token"`
	// CAFile is the file of authorities that the link was redeemed with.
	CAFile string `json:"caFile,omitempty"`
}

// fileName is the login in a state folder.
const fileName = "login.json"

// maxFile is more than any login is long.
const maxFile = 64 << 10

// check refuses what cannot be a login, above all names that would leave the
// folder they become.
func (l *Login) check() error {
	for what, name := range map[string]string{"tenant": l.Tenant, "project": l.ProjectID} {
		if err := rootfs.CheckSegment(what, name); err != nil {
			return err
		}
	}
	if l.Token == "" || l.Brain == "" {
		return errors.New("it lacks the token or the Brain")
	}
	return nil
}

// Keep writes a login into a state folder, for this user alone; one that was
// there is replaced as a whole.
func Keep(dir string, l Login) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".login-") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, fileName))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Kept reports whether a state folder has a login.
func Kept(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, fileName))
	return err == nil
}

// closeToOthers takes from the file the permissions of all but its owner, as whoever
// has the token can do what this Foot can. Systems without these permissions are
// left alone.
func closeToOthers(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" {
		return err
	}
	return f.Chmod(info.Mode().Perm() &^ 0o077)
}

// ErrNone: there is no login in the folder.
var ErrNone = errors.New("no login is kept")

// Load reads the login of a state folder.
func Load(dir string) (Login, error) {
	var l Login
	name := filepath.Join(dir, fileName)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return l, fmt.Errorf("%w in %s", ErrNone, dir)
	}
	if err != nil {
		return l, err
	}
	defer f.Close() // only read from
	if err := closeToOthers(f); err != nil {
		return l, fmt.Errorf("%s can be read by others, and its permissions cannot be changed: %w", name, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return l, err
	}
	if json.Unmarshal(text, &l) != nil { // its error would quote the text
		return l, fmt.Errorf("%s is damaged: log in again with foot login", name)
	}
	if err := l.check(); err != nil {
		return l, fmt.Errorf("%s is damaged: %w: log in again with foot login", name, err)
	}
	return l, nil
}

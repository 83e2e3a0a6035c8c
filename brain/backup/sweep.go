package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// lockName is the file in the data directory that a backup holds.
	lockName = "backup.lock"
	// prefix begins the names of what is half-way: a folder in the data directory,
	// and beside the archive's place the archive of the same name.
	prefix = ".backup-"
	// noteName is the file in that folder that tells where the archive is.
	noteName = "archive"
)

// begin makes the archive for a place, after noting it: a process that is killed
// cannot remove it.
func begin(dir, file string) (*os.File, error) {
	name, err := filepath.Abs(filepath.Join(filepath.Dir(file), filepath.Base(dir)))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, noteName), []byte(name), 0o600); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// sweep removes what backups that were killed have left. The caller holds the
// lock, so that none runs.
func sweep(data string) error {
	entries, err := os.ReadDir(data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		dir := filepath.Join(data, e.Name())
		archive, err := os.ReadFile(filepath.Join(dir, noteName))
		if err == nil && filepath.Base(string(archive)) == e.Name() {
			err = os.Remove(string(archive))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // its note stays for the next time, and hinders nothing
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

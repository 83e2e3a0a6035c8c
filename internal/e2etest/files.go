package e2etest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// WriteFile writes size reproducible random bytes and returns their hash as
// the protocol writes it.
func WriteFile(t testing.TB, path string, size int64, mode fs.FileMode, mtime time.Time) string {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	_, err = io.CopyN(io.MultiWriter(file, hash), newNoise(filepath.Base(path)), size)
	if err == nil {
		err = file.Chmod(mode)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chtimes(path, mtime, mtime)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

// noise is an endless reader of random bytes: one block, each time with another
// number at its end, so that gibibytes of it cost little and no two blocks are equal.
type noise struct {
	block []byte
	left  []byte
	n     uint64
}

func newNoise(name string) *noise {
	var seed [32]byte
	copy(seed[:], name)
	n := &noise{block: make([]byte, 1<<20)}
	if _, err := rand.NewChaCha8(seed).Read(n.block); err != nil {
		panic(err) // documented never to fail
	}
	return n
}

func (n *noise) Read(p []byte) (int, error) {
	if len(n.left) == 0 {
		binary.BigEndian.PutUint64(n.block[len(n.block)-8:], n.n)
		n.n++
		n.left = n.block
	}
	read := copy(p, n.left)
	n.left = n.left[read:]
	return read, nil
}

// HashFile returns the hash of a file as the protocol writes it.
func HashFile(t testing.TB, path string) string {
	t.Helper()
	sum, err := hashFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}

// Snapshot describes everything below dir: kind, permissions, size, mtime and
// content of each entry, so that two of them are equal exactly when nothing
// happened in between. A folder's own mtime is left out: a staging file that
// came and went changes it.
func Snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		description := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			sum, err := hashFile(path)
			if err != nil {
				return err
			}
			description = fmt.Sprintf("%s %d %s %s", description, info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano), sum)
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			description += " -> " + link
		}
		entries[name] = description
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return entries
}

// NoStaging fails the test when a staging file lies below one of the folders.
func NoStaging(t testing.TB, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		for path := range Snapshot(t, dir) {
			if strings.HasPrefix(filepath.Base(path), ".vance-") {
				t.Errorf("staging file left behind: %s", filepath.Join(dir, path))
			}
		}
	}
}

// BigDir is a folder for large files: in memory where the system offers that,
// so that a test of gigabytes measures the programs and not the disk.
func BigDir(t testing.TB) string {
	t.Helper()
	const inMemory = "/dev/shm"
	if info, err := os.Stat(inMemory); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(inMemory, "vancetope-e2e-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

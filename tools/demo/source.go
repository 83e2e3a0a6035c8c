package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/safetext"
)

// source is the file that travels.
type source struct {
	*os.File
	path string // as a person may read it
	name string // what it is called in the sandbox
	size int64
}

// openSource opens the wanted file or, when none is wanted, the toolchain's own
// go program: some megabytes that every machine with this project has.
func openSource(ctx context.Context, path string) (*source, error) {
	if path == "" {
		var err error
		if path, err = goProgram(ctx); err != nil {
			return nil, err
		}
	}
	// A FIFO must not be opened: that would wait for a writer.
	info, err := os.Stat(path)
	shown := safetext.Quote(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("FILE=%s: there is no such file", shown)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("FILE=%s: this user may not reach it", shown)
	case err != nil:
		return nil, fmt.Errorf("FILE=%s: %w", shown, errors.Unwrap(err))
	case info.IsDir():
		return nil, fmt.Errorf("FILE=%s is a folder; name a file in it", shown)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("FILE=%s is not a regular file", shown)
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("FILE=%s: this user may not read it", shown)
	}
	if err != nil {
		return nil, fmt.Errorf("FILE=%s: %w", shown, errors.Unwrap(err))
	}
	return &source{File: file, path: safetext.Escape(path), name: travelName(filepath.Base(path)), size: info.Size()}, nil
}

func goProgram(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("asking go for its GOROOT: %w", err)
	}
	name := "go"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(strings.TrimSpace(string(root)), "bin", name), nil
}

// travelName is the name under which a file can travel: its own, unless that
// is one that the protocol refuses (not UTF-8, reserved) or a folder of git.
func travelName(base string) string {
	if _, err := rootfs.CleanPath(base); err != nil || !utf8.ValidString(base) || strings.Contains(strings.ToLower(base), "git") {
		return "file"
	}
	return base
}

// copyTo copies the file and returns the SHA-256 of what was copied, in hex.
func (s *source) copyTo(path string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	copied, err := io.Copy(io.MultiWriter(out, hash), s)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", fmt.Errorf("copying %s into the user's folder: %w", s.path, err)
	}
	if copied != s.size {
		return "", fmt.Errorf("%s changed while it was copied: it had %d bytes, then %d", s.path, s.size, copied)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// hashFile returns the SHA-256 of a file on disk, in hex.
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
	return hex.EncodeToString(hash.Sum(nil)), nil
}

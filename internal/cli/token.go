package cli

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"

	"github.com/vancetope/transfer/internal/infile"
	"github.com/vancetope/transfer/internal/safetext"
)

// maxToken is more than any token is long; a larger file is another file.
const maxToken = 16 << 10

// ReadToken reads a file that holds a token and nothing else. A file that others
// can read is closed to them, as whoever has a token can do what its holder can;
// log hears of it.
func ReadToken(name string, log *slog.Logger) (string, error) {
	f, err := infile.Open(name)
	if err != nil {
		return "", fmt.Errorf("the token file cannot be read: %w", err)
	}
	defer f.Close() // only read from: closing cannot lose anything
	closeToOthers(f, log)
	text, err := infile.Read(f, maxToken)
	if err != nil {
		return "", fmt.Errorf("the token file cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("the token file %s is empty: put the output of brain token create into it", safetext.Quote(name))
	}
	if len(text) > maxToken || strings.ContainsFunc(token, notInToken) {
		return "", fmt.Errorf("the token file %s holds more than a token: it must be the output of brain token create alone", safetext.Quote(name))
	}
	return token, nil
}

// notInToken reports whether a rune cannot stand in a token, and so not in the
// header that carries it.
func notInToken(r rune) bool { return r <= ' ' || r > '~' }

// closeToOthers takes from a file the permissions of all but its owner. What is
// no regular file, such as a pipe, is left alone, and so are systems without
// these permissions.
func closeToOthers(f *os.File, log *slog.Logger) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" {
		return
	}
	name := safetext.Escape(f.Name())
	if err := f.Chmod(info.Mode().Perm() &^ 0o077); err != nil {
		log.Warn("the token file can be read by others, and its permissions cannot be changed", "file", name, "mode", info.Mode().Perm().String())
		return
	}
	log.Warn("the token file could be read by others: now it is its owner's alone", "file", name, "mode", info.Mode().Perm().String())
}

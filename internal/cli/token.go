package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vancetope/transfer/internal/safetext"
)

// maxToken is more than any token is long; a larger file is another file.
const maxToken = 16 << 10

// ReadToken reads a file that holds a token and nothing else.
func ReadToken(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("the token file cannot be read: %w", err)
	}
	defer f.Close() // only read from: closing cannot lose anything
	text, err := io.ReadAll(io.LimitReader(f, maxToken+1))
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

package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/vancetope/transfer/gen/common"
)

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// contentOf is n bytes that no other length shares a beginning of a hash with.
func contentOf(n int) []byte {
	b := make([]byte, n)
	x := uint32(n)*2654435761 + 12345
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func derefCode(code *common.ErrorCode) common.ErrorCode {
	if code == nil {
		return ""
	}
	return *code
}

func ptr[T any](v T) *T { return &v }

// sampleTime is a time that every file system holds.
var sampleTime = time.Date(2026, 5, 1, 14, 23, 11, 0, time.UTC)

package fakebrain

import (
	"crypto/sha256"
	"encoding/hex"
)

// Hash is the digest of a content as the frames write it.
func Hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Package auth owns the Brain's tokens: it makes them, keeps a hash of each and
// says who a request comes from. A token is bound to one tenant, one project,
// one role and one name, and that is all a request's identity is ever taken
// from.
//
// It never stores or logs a token itself, and it does not tell an unknown token
// from a wrong or an expired one.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"slices"
	"strings"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
)

// Role is what a token is for.
type Role string

const (
	RoleFoot  Role = "foot"  // connects a Foot
	RoleAgent Role = "agent" // calls the tools
	RoleUser  Role = "user"  // reads the HTTP API
)

// Roles are all of them.
var Roles = []Role{RoleFoot, RoleAgent, RoleUser}

// Grant is what a token allows and to whom.
type Grant struct {
	Tenant  string
	Project string
	Role    Role
	// Name is the Foot's name for a token of a Foot, and tells people the
	// others apart.
	Name string
	// Access is what an agent or a user may do to RootDirs; empty means edit.
	// What may be done to a Foot's machine is said there, so a Foot's token has
	// no other than edit.
	Access common.Access
	// ExpiresAt is when the token stops being good; zero means never.
	ExpiresAt time.Time
}

func (g Grant) check() error {
	if err := rootfs.CheckSegment("tenant", g.Tenant); err != nil {
		return err
	}
	if err := rootfs.CheckSegment("project", g.Project); err != nil {
		return err
	}
	if err := rootfs.CheckSegment("name", g.Name); err != nil {
		return err
	}
	if !slices.Contains(Roles, g.Role) {
		return fault.Newf(common.ErrorCodeInvalidRequest, "role must be foot, agent or user, got %q", g.Role)
	}
	switch {
	case g.Access != "" && g.Access != common.AccessRead && g.Access != common.AccessEdit:
		return fault.Newf(common.ErrorCodeInvalidRequest, "access must be read or edit, got %q", g.Access)
	case g.Role == RoleFoot && g.Access == common.AccessRead:
		return fault.Newf(common.ErrorCodeInvalidRequest, "access is for tokens of role agent or user; a Foot is told where it runs: foot run --access read")
	}
	return nil
}

// access is the level in force.
func (g Grant) access() common.Access {
	if g.Access == "" {
		return common.AccessEdit
	}
	return g.Access
}

// Principal is who a request comes from.
type Principal struct {
	Grant
	// TokenID names the token without being of use to anybody else. Whoever
	// keeps a session open goes by it to see whether the token still stands.
	TokenID string
}

// A token is "vt_", 16 letters of id, "_" and 52 letters of secret. The id is
// how its record is found and what people see in lists; the secret has 256 bits,
// so that a plain hash of it cannot be reversed.
const (
	prefix      = "vt_"
	idBytes     = 10
	secretBytes = 32
)

var (
	letters      = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	idLength     = letters.EncodedLen(idBytes)
	secretLength = letters.EncodedLen(secretBytes)
)

// mint returns a new token and its id.
func mint() (token, id string) {
	random := make([]byte, idBytes+secretBytes)
	_, _ = rand.Read(random) // never fails: the program ends first
	id = letters.EncodeToString(random[:idBytes])
	return prefix + id + "_" + letters.EncodeToString(random[idBytes:]), id
}

// idOf returns the id in a token, if it has the shape of one.
func idOf(token string) (string, bool) {
	rest, ok := strings.CutPrefix(token, prefix)
	if !ok || len(rest) != idLength+1+secretLength || rest[idLength] != '_' {
		return "", false
	}
	id := rest[:idLength]
	return id, isID(id)
}

func isID(id string) bool {
	return len(id) == idLength && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

func hashOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// matches compares in constant time.
func matches(token string, hash []byte) bool {
	return subtle.ConstantTimeCompare(hashOf(token), hash) == 1
}

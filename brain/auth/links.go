package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// MaxLinkTTL is the longest that a one-time link can be good. It lies about in
// mails and chats until it is used.
const MaxLinkTTL = 7 * 24 * time.Hour

// link is a promise of a token, as it is stored until somebody redeems its code.
// The token is made only then.
type link struct {
	Hash     []byte        `json:"hash"`
	Tenant   string        `json:"tenant"`
	Project  string        `json:"project"`
	Role     Role          `json:"role"`
	Name     string        `json:"name"`
	Access   common.Access `json:"access,omitempty"`
	TokenTTL time.Duration `json:"tokenTtl,omitempty"` // 0: for ever
	// ExpiresAt is kept beside the store's own time to live, which only clears up.
	ExpiresAt time.Time `json:"expiresAt"`
}

// linkPrefix is where the store keeps the links.
const linkPrefix = "link/"

// codePrefix begins each code. The rest has the shape of a token's.
const codePrefix = "vl_"

// CreateLink makes a one-time code for a token with that grant, whose own time
// begins when the code is redeemed; tokenTTL 0 is for ever. The grant has no
// ExpiresAt. The code is returned this once.
func (t *Tokens) CreateLink(ctx context.Context, g Grant, tokenTTL, linkTTL time.Duration) (string, error) {
	if err := g.check(); err != nil {
		return "", err
	}
	switch {
	case g.Role != RoleFoot:
		return "", fault.Newf(common.ErrorCodeInvalidRequest, "a link is for a token of role foot, which foot login redeems")
	case linkTTL <= 0 || linkTTL > MaxLinkTTL:
		return "", fault.Newf(common.ErrorCodeInvalidRequest, "a link is good for at most 7d")
	}
	token, id := mint()
	code := codePrefix + token[len(prefix):]
	value, err := json.Marshal(link{
		Hash: hashOf(code), Tenant: g.Tenant, Project: g.Project, Role: g.Role, Name: g.Name,
		Access: g.access(), TokenTTL: tokenTTL, ExpiresAt: t.now().Add(linkTTL).UTC(),
	})
	if err != nil {
		return "", err
	}
	if _, err := t.store.CompareAndSet(ctx, linkPrefix+id, state.Absent, value, linkTTL); err != nil {
		return "", fmt.Errorf("store the link: %w", err)
	}
	return code, nil
}

// Redeem makes the token that a code promises. The code is gone before the token
// is made, so that of many who come at once one gets it. A used, unknown or
// expired code is the fault unauthorized; any other error means that the store
// failed, and the code may be used up.
func (t *Tokens) Redeem(ctx context.Context, code string) (token string, p Principal, err error) {
	refused := fault.Texted(common.ErrorCodeUnauthorized, "the code is unknown, used or expired")
	if len(code) < len(codePrefix) || code[:len(codePrefix)] != codePrefix {
		return "", Principal{}, refused
	}
	id, ok := idOf(prefix + code[len(codePrefix):])
	if !ok {
		return "", Principal{}, refused
	}
	e, err := t.store.Get(ctx, linkPrefix+id)
	if errors.Is(err, state.ErrNotFound) {
		return "", Principal{}, refused
	}
	if err != nil {
		return "", Principal{}, fmt.Errorf("look the code up: %w", err)
	}
	var l link
	if err := json.Unmarshal(e.Value, &l); err != nil {
		return "", Principal{}, fmt.Errorf("link %s in the state: %w", id, err)
	}
	if !matches(code, l.Hash) || !t.now().Before(l.ExpiresAt) {
		return "", Principal{}, refused
	}
	switch err := t.store.Delete(ctx, linkPrefix+id); {
	case errors.Is(err, state.ErrNotFound):
		return "", Principal{}, refused // another was faster
	case err != nil:
		return "", Principal{}, fmt.Errorf("use the code up: %w", err)
	}
	g := Grant{Tenant: l.Tenant, Project: l.Project, Role: l.Role, Name: l.Name, Access: l.Access}
	if l.TokenTTL > 0 {
		g.ExpiresAt = t.now().Add(l.TokenTTL)
	}
	if token, err = t.Create(ctx, g); err != nil {
		return "", Principal{}, err
	}
	id, _ = idOf(token) // made a line above
	return token, Principal{Grant: g, TokenID: id}, nil
}

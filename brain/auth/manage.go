package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Listed is a token as its owner sees it. The token itself is not in it, as
// nobody knows it any more.
type Listed struct {
	ID         string        `json:"id"`
	Tenant     string        `json:"tenant"`
	Project    string        `json:"project"`
	Role       Role          `json:"role"`
	Name       string        `json:"name"`
	Access     common.Access `json:"access"`
	CreatedAt  time.Time     `json:"createdAt"`
	ExpiresAt  *time.Time    `json:"expiresAt"`  // nil: never
	LastUsedAt *time.Time    `json:"lastUsedAt"` // nil: not yet; exact to the minute
}

// List returns all tokens, those that expired among them, by whom they belong to.
func (t *Tokens) List(ctx context.Context) ([]Listed, error) {
	entries, err := t.store.List(ctx, keyPrefix)
	if err != nil {
		return nil, fmt.Errorf("list the tokens: %w", err)
	}
	list := make([]Listed, 0, len(entries))
	for _, e := range entries {
		id := strings.TrimPrefix(e.Key, keyPrefix)
		var r record
		if err := json.Unmarshal(e.Value, &r); err != nil {
			return nil, fmt.Errorf("token %s in the state: %w", id, err)
		}
		g := r.grant()
		list = append(list, Listed{
			ID: id, Tenant: g.Tenant, Project: g.Project, Role: g.Role, Name: g.Name, Access: g.Access,
			CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, LastUsedAt: r.LastUsedAt,
		})
	}
	slices.SortStableFunc(list, func(a, b Listed) int {
		return cmp.Or(
			cmp.Compare(a.Tenant, b.Tenant),
			cmp.Compare(a.Project, b.Project),
			cmp.Compare(a.Role, b.Role),
			cmp.Compare(a.Name, b.Name),
			a.CreatedAt.Compare(b.CreatedAt),
		)
	})
	return list, nil
}

// Withdraw takes back a token of Create or a code of CreateLink that never came
// into anybody's hands.
func (t *Tokens) Withdraw(ctx context.Context, secret string) error {
	place := key
	if code, ok := strings.CutPrefix(secret, codePrefix); ok {
		secret, place = prefix+code, func(id string) string { return linkPrefix + id }
	}
	id, ok := idOf(secret)
	if !ok {
		return fault.Newf(common.ErrorCodeInvalidRequest, "neither a token nor a code")
	}
	return t.store.Delete(ctx, place(id))
}

// Revoke makes a token worthless for ever. What it has opened in a running
// server ends within a second, see Follow.
func (t *Tokens) Revoke(ctx context.Context, id string) error {
	err := state.ErrNotFound
	if isID(id) {
		err = t.store.Delete(ctx, key(id))
	}
	switch {
	case errors.Is(err, state.ErrNotFound):
		return fault.Texted(common.ErrorCodeNotFound, "there is no token with this id")
	case err != nil:
		return fmt.Errorf("remove the token: %w", err)
	}
	return nil
}

// Known reports whether anybody is let into a project: whether it has a token, or a
// link that makes one.
func (t *Tokens) Known(ctx context.Context, tenant, project string) (bool, error) {
	for _, prefix := range []string{keyPrefix, linkPrefix} {
		entries, err := t.store.List(ctx, prefix)
		if err != nil {
			return false, fmt.Errorf("list the tokens: %w", err)
		}
		for _, e := range entries {
			var of struct{ Tenant, Project string } // as records and links have them
			if err := json.Unmarshal(e.Value, &of); err != nil {
				return false, fmt.Errorf("%s in the state: %w", e.Key, err)
			}
			if of.Tenant == tenant && of.Project == project {
				return true, nil
			}
		}
	}
	return false, nil
}

package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// usedEvery is how exact a token's lastUsedAt is: noting every request would
// cost a disk sync each.
const usedEvery = time.Minute

// Tokens are the tokens in a state store. Other processes may add tokens to the
// store and remove them at any time.
type Tokens struct {
	store state.Store
	log   *slog.Logger
	now   func() time.Time

	followers followers
}

// NewTokens returns the tokens in a store; log may be nil.
func NewTokens(store state.Store, log *slog.Logger) *Tokens {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Tokens{store: store, log: log, now: time.Now}
}

// record is a token as it is stored, under its id.
type record struct {
	Hash       []byte        `json:"hash"`
	Tenant     string        `json:"tenant"`
	Project    string        `json:"project"`
	Role       Role          `json:"role"`
	Name       string        `json:"name"`
	Access     common.Access `json:"access,omitempty"` // missing means edit
	CreatedAt  time.Time     `json:"createdAt"`
	ExpiresAt  *time.Time    `json:"expiresAt"`
	LastUsedAt *time.Time    `json:"lastUsedAt"`
}

// keyPrefix is where the store keeps the tokens.
const keyPrefix = "token/"

func key(id string) string { return keyPrefix + id }

func (r *record) grant() Grant {
	g := Grant{Tenant: r.Tenant, Project: r.Project, Role: r.Role, Name: r.Name, Access: r.Access}
	g.Access = g.access()
	if r.ExpiresAt != nil {
		g.ExpiresAt = *r.ExpiresAt
	}
	return g
}

func (r *record) expired(now time.Time) bool {
	return r.ExpiresAt != nil && !now.Before(*r.ExpiresAt)
}

// Create makes a token. It is returned this once and cannot be had again.
func (t *Tokens) Create(ctx context.Context, g Grant) (string, error) {
	if err := g.check(); err != nil {
		return "", err
	}
	token, id := mint()
	r := record{
		Hash: hashOf(token), Tenant: g.Tenant, Project: g.Project, Role: g.Role, Name: g.Name,
		Access: g.access(), CreatedAt: t.now().UTC(),
	}
	if !g.ExpiresAt.IsZero() {
		at := g.ExpiresAt.UTC()
		r.ExpiresAt = &at
	}
	value, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	if _, err := t.store.CompareAndSet(ctx, key(id), state.Absent, value, state.Forever); err != nil {
		return "", fmt.Errorf("store the token: %w", err)
	}
	return token, nil
}

// Authenticate returns whose token it is, or the fault unauthorized. Any other
// error means that the store failed.
func (t *Tokens) Authenticate(ctx context.Context, token string) (Principal, error) {
	unauthorized := fault.New(common.ErrorCodeUnauthorized)
	id, ok := idOf(token)
	if !ok {
		return Principal{}, unauthorized
	}
	e, err := t.store.Get(ctx, key(id))
	if errors.Is(err, state.ErrNotFound) {
		return Principal{}, unauthorized
	}
	if err != nil {
		return Principal{}, fmt.Errorf("look the token up: %w", err)
	}
	var r record
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return Principal{}, fmt.Errorf("token %s in the state: %w", id, err)
	}
	if !matches(token, r.Hash) || r.expired(t.now()) {
		return Principal{}, unauthorized
	}
	t.noteUse(ctx, id, e.Revision, r)
	return Principal{Grant: r.grant(), TokenID: id}, nil
}

// noteUse keeps lastUsedAt. It goes by the revision, so that it can neither
// bring back a token that is removed meanwhile nor undo another change; when it
// fails, the request is as good.
func (t *Tokens) noteUse(ctx context.Context, id string, revision uint64, r record) {
	now := t.now().UTC()
	if r.LastUsedAt != nil && now.Sub(*r.LastUsedAt) < usedEvery {
		return
	}
	r.LastUsedAt = &now
	value, err := json.Marshal(r)
	if err == nil {
		_, err = t.store.CompareAndSet(ctx, key(id), revision, value, state.Forever)
	}
	if err != nil && !errors.Is(err, state.ErrConflict) {
		t.log.Warn("the use of a token was not noted", "token", id, "err", err)
	}
}

// Good reports whether a token is still accepted.
func (t *Tokens) Good(ctx context.Context, id string) (bool, error) {
	e, err := t.store.Get(ctx, key(id))
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var r record
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return false, fmt.Errorf("token %s in the state: %w", id, err)
	}
	return !r.expired(t.now()), nil
}

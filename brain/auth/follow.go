package auth

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// The reasons with which a token stops being good.
const (
	Revoked = "token revoked"
	Expired = "token expired"
)

// lookEvery is how often the tokens in use are looked at. Another process may
// have revoked one, so the state is asked; a second is what that may take.
const lookEvery = 250 * time.Millisecond

// followers are those who want to know when a token they go by is no longer
// good: connections, sessions and requests outlive the check at their beginning.
type followers struct {
	mu   sync.Mutex
	next uint64
	of   map[string]map[uint64]func(reason string) // by token and number
}

// Follow has end called, once and on a goroutine of its own, when the token of
// that id is revoked or expires; a token that is gone already counts. Release
// ends the interest, and is called in any case. It takes a running Watch.
func (t *Tokens) Follow(tokenID string, end func(reason string)) (release func()) {
	f := &t.followers
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	number := f.next
	if f.of == nil {
		f.of = make(map[string]map[uint64]func(string))
	}
	if f.of[tokenID] == nil {
		f.of[tokenID] = make(map[uint64]func(string))
	}
	f.of[tokenID][number] = end
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.of[tokenID], number)
		if len(f.of[tokenID]) == 0 {
			delete(f.of, tokenID)
		}
	}
}

// Watch looks after the tokens that are followed until ctx is done.
func (t *Tokens) Watch(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := t.look(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			// Nobody is thrown out by a state that cannot be read.
			t.log.Error("the tokens in use cannot be looked at", "err", err)
		}
		failing = err != nil
	}
}

// look ends what followed tokens that are gone.
func (t *Tokens) look(ctx context.Context) error {
	followed := t.followers.tokens()
	if len(followed) == 0 {
		return nil
	}
	entries, err := t.store.List(ctx, keyPrefix)
	if err != nil {
		return err
	}
	there := make(map[string][]byte, len(entries))
	for _, e := range entries {
		there[e.Key] = e.Value
	}
	for _, id := range followed {
		value, ok := there[key(id)]
		if !ok {
			t.gone(id, Revoked)
			continue
		}
		var r record
		if err := json.Unmarshal(value, &r); err != nil {
			return err
		}
		if r.expired(t.now()) {
			t.gone(id, Expired)
		}
	}
	return nil
}

func (t *Tokens) gone(id, reason string) {
	ends := t.followers.take(id)
	if len(ends) > 0 {
		t.log.Info(reason, "token", id)
	}
	for _, end := range ends {
		go end(reason)
	}
}

// tokens returns the ids that somebody follows.
func (f *followers) tokens() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := make([]string, 0, len(f.of))
	for id := range f.of {
		ids = append(ids, id)
	}
	return ids
}

// take returns the followers of a token and forgets them.
func (f *followers) take(id string) []func(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ends := make([]func(string), 0, len(f.of[id]))
	for _, end := range f.of[id] {
		ends = append(ends, end)
	}
	delete(f.of, id)
	return ends
}

package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vancetope/transfer/brain/state"
)

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// memory is a store in memory, so that fake time rules all there is.
type memory struct {
	state.Store
	mu      sync.Mutex
	entries map[string][]byte
	broken  bool
}

func (m *memory) CompareAndSet(_ context.Context, key string, _ uint64, value []byte, _ time.Duration) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[key] = value
	return 1, nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
	return nil
}

func (m *memory) List(context.Context, string) ([]state.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		return nil, errors.New("disk on fire")
	}
	var list []state.Entry
	for k, v := range m.entries {
		list = append(list, state.Entry{Key: k, Value: v})
	}
	return list, nil
}

// watched runs a test with tokens that are looked after, in fake time.
func watched(t *testing.T, test func(t *testing.T, tokens *Tokens, m *memory)) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{entries: map[string][]byte{}}
		tokens := NewTokens(m, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { tokens.Watch(ctx) })
		test(t, tokens, m)
		cancel()
		watching.Wait()
	})
}

func make1(t *testing.T, tokens *Tokens, ttl time.Duration) (id string) {
	t.Helper()
	g := laptop
	if ttl > 0 {
		g.ExpiresAt = time.Now().Add(ttl)
	}
	token, err := tokens.Create(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	id, _ = idOf(token)
	return id
}

func TestWhoeverFollowsATokenHearsOfItsRevocationWithinASecond(t *testing.T) {
	watched(t, func(t *testing.T, tokens *Tokens, _ *memory) {
		id, other := make1(t, tokens, 0), make1(t, tokens, 0)
		heard := make(chan string, 8)
		defer tokens.Follow(id, func(reason string) { heard <- "one: " + reason })()
		defer tokens.Follow(id, func(reason string) { heard <- "two: " + reason })()
		defer tokens.Follow(other, func(reason string) { heard <- "other: " + reason })()
		tokens.Follow(id, func(string) { heard <- "released" })() // let go at once
		time.Sleep(time.Minute)                                   // in fake time: nothing happens by itself
		if len(heard) != 0 {
			t.Fatal(<-heard)
		}
		revoked := time.Now()
		if err := tokens.Revoke(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{<-heard: true, <-heard: true}
		if took := time.Since(revoked); took > time.Second {
			t.Errorf("it took %v", took)
		}
		time.Sleep(time.Minute)
		if !got["one: token revoked"] || !got["two: token revoked"] || len(heard) != 0 {
			t.Errorf("heard %v and %d more", got, len(heard))
		}
	})
}

func TestWhoeverFollowsATokenHearsOfItsEndWithinASecond(t *testing.T) {
	watched(t, func(t *testing.T, tokens *Tokens, _ *memory) {
		id := make1(t, tokens, time.Hour)
		end := time.Now().Add(time.Hour)
		heard := make(chan string, 1)
		defer tokens.Follow(id, func(reason string) { heard <- reason })()
		if reason := <-heard; reason != "token expired" {
			t.Errorf("heard %q", reason)
		}
		if late := time.Since(end); late < 0 || late > time.Second {
			t.Errorf("it came %v after the end", late)
		}
	})
}

func TestATokenThatWasGoneBeforeItWasFollowedIsGone(t *testing.T) {
	watched(t, func(t *testing.T, tokens *Tokens, _ *memory) {
		heard := make(chan string, 1)
		defer tokens.Follow("aaaaaaaaaaaaaaaa", func(reason string) { heard <- reason })()
		if reason := <-heard; reason != "token revoked" {
			t.Errorf("heard %q", reason)
		}
	})
}

func TestAStateThatCannotBeReadThrowsNobodyOut(t *testing.T) {
	watched(t, func(t *testing.T, tokens *Tokens, m *memory) {
		id := make1(t, tokens, 0)
		heard := make(chan string, 1)
		defer tokens.Follow(id, func(reason string) { heard <- reason })()
		m.mu.Lock()
		m.broken = true
		m.mu.Unlock()
		time.Sleep(time.Minute)
		if len(heard) != 0 {
			t.Error(<-heard)
		}
		m.mu.Lock()
		m.broken = false
		m.mu.Unlock()
		if err := tokens.Revoke(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if reason := <-heard; reason != "token revoked" {
			t.Errorf("heard %q", reason)
		}
	})
}

func TestTheLastReleaseLeavesNothingBehind(t *testing.T) {
	tokens := NewTokens(&memory{}, nil)
	one, two := tokens.Follow("a", nil), tokens.Follow("a", nil)
	one()
	two()
	two()
	if n := len(tokens.followers.of); n != 0 {
		t.Errorf("%d tokens are still followed", n)
	}
}

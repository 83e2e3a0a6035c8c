// Package statetest is what every state.Store must pass, whatever engine is
// behind it.
package statetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vancetope/transfer/brain/state"
)

// Engine opens stores. Two openings of one place see the same data.
type Engine interface {
	Open(t *testing.T, place string) state.Store
}

// Run runs the suite; each test gets a place of its own.
func Run(t *testing.T, e Engine) {
	for _, c := range []struct {
		rule string
		test func(*testing.T, Engine, string)
	}{
		{"what was put is got", putGet},
		{"a value is any bytes, also none", anyBytes},
		{"a key that is not there is not found", notFound},
		{"a revision is never used twice", revisions},
		{"compare-and-set needs the revision it names", compareAndSet},
		{"compare-and-set with no revision creates once", createOnce},
		{"of many who compare-and-set at once one wins", oneWinner},
		{"a counter kept by compare-and-set loses no step", counter},
		{"a list holds its prefix only, in byte order", list},
		{"prefixes are compared byte by byte", listBytes},
		{"an expired entry is gone for every method", expiry},
		{"a later write replaces the time to live", expiryReplaced},
		{"a second opening sees the writes of the first", shared},
		{"what was written is there after a restart", restart},
		{"bad keys and times are refused", refusals},
		{"a context that ended stops a call", ended},
	} {
		t.Run(strings.ReplaceAll(c.rule, " ", "_"), func(t *testing.T) { c.test(t, e, t.TempDir()) })
	}
}

func ctx(t *testing.T) context.Context { return t.Context() }

func put(t *testing.T, s state.Store, key, value string) uint64 {
	t.Helper()
	revision, err := s.Put(ctx(t), key, []byte(value), state.Forever)
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return revision
}

func wantValue(t *testing.T, s state.Store, key, value string) state.Entry {
	t.Helper()
	e, err := s.Get(ctx(t), key)
	if err != nil || string(e.Value) != value || e.Key != key {
		t.Fatalf("%s is %q = %q, %v; want %q", key, e.Key, e.Value, err, value)
	}
	return e
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func keys(t *testing.T, s state.Store, prefix string) string {
	t.Helper()
	entries, err := s.List(ctx(t), prefix)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Key)
	}
	return strings.Join(names, " ")
}

func putGet(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	first := put(t, s, "a/b", "one")
	if got := wantValue(t, s, "a/b", "one"); got.Revision != first || !got.ExpiresAt.IsZero() {
		t.Errorf("%+v, want revision %d and no expiry", got, first)
	}
	second := put(t, s, "a/b", "two")
	if got := wantValue(t, s, "a/b", "two"); got.Revision != second || second <= first {
		t.Errorf("revision %d after %d, put said %d", got.Revision, first, second)
	}
}

func anyBytes(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	for key, value := range map[string][]byte{"empty": {}, "nil": nil, "zero": {0}, "binary": {0xff, 0, '\n', 0xc3}, "big": bytes.Repeat([]byte("x"), 1<<20)} {
		if _, err := s.Put(ctx(t), key, value, state.Forever); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(ctx(t), key)
		if err != nil || !bytes.Equal(got.Value, value) {
			t.Errorf("%s: %d bytes, %v", key, len(got.Value), err)
		}
	}
}

func notFound(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	put(t, s, "k", "v")
	_, err := s.Get(ctx(t), "K")
	wantError(t, err, state.ErrNotFound)
	wantError(t, s.Delete(ctx(t), "kk"), state.ErrNotFound)
	if err := s.Delete(ctx(t), "k"); err != nil {
		t.Error(err)
	}
	_, err = s.Get(ctx(t), "k")
	wantError(t, err, state.ErrNotFound)
	wantError(t, s.Delete(ctx(t), "k"), state.ErrNotFound)
}

func revisions(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	old := put(t, s, "k", "v")
	if err := s.Delete(ctx(t), "k"); err != nil {
		t.Fatal(err)
	}
	if again := put(t, s, "k", "v"); again <= old {
		t.Errorf("revision %d after %d", again, old)
	}
	_, err := s.CompareAndSet(ctx(t), "k", old, []byte("stale"), state.Forever)
	wantError(t, err, state.ErrConflict)
	wantValue(t, s, "k", "v")
}

func compareAndSet(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	first := put(t, s, "k", "1")
	second, err := s.CompareAndSet(ctx(t), "k", first, []byte("2"), state.Forever)
	if err != nil || second <= first {
		t.Fatalf("revision %d after %d, %v", second, first, err)
	}
	_, err = s.CompareAndSet(ctx(t), "k", first, []byte("3"), state.Forever)
	wantError(t, err, state.ErrConflict)
	_, err = s.CompareAndSet(ctx(t), "other", second, []byte("3"), state.Forever)
	wantError(t, err, state.ErrConflict)
	if got := wantValue(t, s, "k", "2"); got.Revision != second {
		t.Errorf("revision %d, want %d", got.Revision, second)
	}
}

func createOnce(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	if _, err := s.CompareAndSet(ctx(t), "k", state.Absent, []byte("1"), state.Forever); err != nil {
		t.Fatal(err)
	}
	_, err := s.CompareAndSet(ctx(t), "k", state.Absent, []byte("2"), state.Forever)
	wantError(t, err, state.ErrConflict)
	wantValue(t, s, "k", "1")
}

func oneWinner(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	first := put(t, s, "k", "start")
	errs := make(chan error)
	for i := range 8 {
		go func() {
			_, err := s.CompareAndSet(ctx(t), "k", first, []byte{byte(i)}, state.Forever)
			errs <- err
		}()
	}
	won := 0
	for range 8 {
		if err := <-errs; err == nil {
			won++
		} else {
			wantError(t, err, state.ErrConflict)
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
}

func counter(t *testing.T, e Engine, place string) {
	stores := []state.Store{e.Open(t, place), e.Open(t, place)}
	put(t, stores[0], "n", "")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 10 {
				if err := step(ctx(t), stores[i%2]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	wantValue(t, stores[0], "n", strings.Repeat("x", 40))
}

// step adds an x to the value of n, however often others come first.
func step(ctx context.Context, s state.Store) error {
	for {
		e, err := s.Get(ctx, "n")
		if err != nil {
			return err
		}
		_, err = s.CompareAndSet(ctx, "n", e.Revision, append(e.Value, 'x'), state.Forever)
		if !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
}

func list(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	for _, k := range []string{"b/2", "a", "b/1", "b", "b/10", "c", "b0", "B/1"} {
		put(t, s, k, "value of "+k)
	}
	for prefix, want := range map[string]string{
		"b/":    "b/1 b/10 b/2",
		"b":     "b b/1 b/10 b/2 b0",
		"":      "B/1 a b b/1 b/10 b/2 b0 c",
		"d":     "",
		"b/1":   "b/1 b/10",
		"b/100": "",
	} {
		if got := keys(t, s, prefix); got != want {
			t.Errorf("%q: %s, want %s", prefix, got, want)
		}
	}
	entries, err := s.List(ctx(t), "b/1")
	if err != nil || len(entries) != 2 || string(entries[1].Value) != "value of b/10" || entries[1].Revision == 0 {
		t.Errorf("%+v, %v", entries, err)
	}
}

func listBytes(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	for _, k := range []string{"é", "é\U0010ffff", "ê", "%", "_x", "ax"} {
		put(t, s, k, "")
	}
	for prefix, want := range map[string]string{"é": "é é\U0010ffff", "%": "%", "_": "_x", "\xff": "", "é\U0010ffff": "é\U0010ffff"} {
		if got := keys(t, s, prefix); got != want {
			t.Errorf("%q: %q, want %q", prefix, got, want)
		}
	}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("10s later still not so: %s", what)
		}
	}
}

func expiry(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	before := time.Now()
	if _, err := s.Put(ctx(t), "long", []byte("v"), time.Hour); err != nil {
		t.Fatal(err)
	}
	revision, err := s.Put(ctx(t), "short", []byte("v"), 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the entry is gone", func() bool {
		_, err := s.Get(ctx(t), "short")
		return errors.Is(err, state.ErrNotFound)
	})
	if got := keys(t, s, ""); got != "long" {
		t.Errorf("list: %s", got)
	}
	wantError(t, s.Delete(ctx(t), "short"), state.ErrNotFound)
	_, err = s.CompareAndSet(ctx(t), "short", revision, []byte("w"), state.Forever)
	wantError(t, err, state.ErrConflict)
	if _, err := s.CompareAndSet(ctx(t), "short", state.Absent, []byte("w"), state.Forever); err != nil {
		t.Errorf("create after expiry: %v", err)
	}
	long := wantValue(t, s, "long", "v")
	if left := long.ExpiresAt.Sub(before); left < time.Hour-time.Second || left > time.Hour+time.Minute {
		t.Errorf("expires in %v", left)
	}
}

func expiryReplaced(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	if _, err := s.Put(ctx(t), "k", []byte("v"), time.Hour); err != nil {
		t.Fatal(err)
	}
	put(t, s, "k", "for ever")
	if got := wantValue(t, s, "k", "for ever"); !got.ExpiresAt.IsZero() {
		t.Errorf("expires at %v", got.ExpiresAt)
	}
}

func shared(t *testing.T, e Engine, place string) {
	one, two := e.Open(t, place), e.Open(t, place)
	put(t, one, "k", "1")
	got := wantValue(t, two, "k", "1")
	if _, err := two.CompareAndSet(ctx(t), "k", got.Revision, []byte("2"), state.Forever); err != nil {
		t.Fatal(err)
	}
	wantValue(t, one, "k", "2")
	if err := one.Delete(ctx(t), "k"); err != nil {
		t.Fatal(err)
	}
	_, err := two.Get(ctx(t), "k")
	wantError(t, err, state.ErrNotFound)
}

func restart(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	revision := put(t, s, "k", "v")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = e.Open(t, place)
	if got := wantValue(t, s, "k", "v"); got.Revision != revision {
		t.Errorf("revision %d, want %d", got.Revision, revision)
	}
	if next := put(t, s, "other", ""); next <= revision {
		t.Errorf("revision %d after %d", next, revision)
	}
}

func refusals(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	for _, key := range []string{"", "a\x00b", "\xff", strings.Repeat("k", 513)} {
		_, err := s.Put(ctx(t), key, nil, state.Forever)
		wantError(t, err, state.ErrBadKey)
		_, err = s.CompareAndSet(ctx(t), key, state.Absent, nil, state.Forever)
		wantError(t, err, state.ErrBadKey)
		_, err = s.Get(ctx(t), key)
		wantError(t, err, state.ErrBadKey)
		wantError(t, s.Delete(ctx(t), key), state.ErrBadKey)
	}
	for _, ttl := range []time.Duration{-1, 1<<63 - 1} {
		_, err := s.Put(ctx(t), "k", nil, ttl)
		wantError(t, err, state.ErrBadTTL)
	}
	if got := keys(t, s, ""); got != "" {
		t.Errorf("something was stored: %q", got)
	}
	put(t, s, strings.Repeat("k", 512), "the longest key")
}

func ended(t *testing.T, e Engine, place string) {
	s := e.Open(t, place)
	gone, cancel := context.WithCancel(ctx(t))
	cancel()
	if _, err := s.Put(gone, "k", nil, state.Forever); err == nil {
		t.Error("put succeeded")
	}
	if _, err := s.Get(gone, "k"); err == nil || errors.Is(err, state.ErrNotFound) {
		t.Error(fmt.Errorf("get: %v", err))
	}
}

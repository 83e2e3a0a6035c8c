package wire

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// most makes every wait as long as its window.
func most() float64 { return 1 }

func TestBackoffDoublesFromTheMinimumToTheCap(t *testing.T) {
	b := Backoff{Min: time.Second, Max: 30 * time.Second, Rand: most}
	want := []time.Duration{1, 2, 4, 8, 16, 30, 30, 30}
	for i, w := range want {
		if got := b.Next(nil); got != w*time.Second {
			t.Errorf("attempt %d: window %v, want %v", i, got, w*time.Second)
		}
	}
}

func TestBackoffIsJitteredFromTheFirstAttemptOn(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		b := Backoff{Min: time.Second, Max: 30 * time.Second}
		seen[b.Next(nil)] = true
	}
	if len(seen) < 90 {
		t.Fatalf("only %d different first waits of 100", len(seen))
	}
	b := Backoff{Rand: func() float64 { return 0 }}
	if b.Next(nil) != 0 {
		t.Fatal("the window does not begin at 0")
	}
}

func TestBackoffStaysBetweenZeroAndTheCap(t *testing.T) {
	causes := []error{nil, errors.New("x"), &CloseError{Code: CloseTryLater, Remote: true}, &DialError{Kind: DialUnavailable}}
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			Min: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "min")),
			Max: time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "max")),
		}
		limit := max(b.Min, b.Max, DefaultReconnectMax, DefaultReconnectMin)
		for range rapid.IntRange(1, 200).Draw(t, "attempts") {
			if d := b.Next(rapid.SampledFrom(causes).Draw(t, "cause")); d < 0 || d > limit {
				t.Fatalf("wait of %v", d)
			}
		}
	})
}

func TestBackoffIsLongerForABrainThatAskedForIt(t *testing.T) {
	for _, cause := range []error{
		&CloseError{Code: CloseRestart, Remote: true},
		&CloseError{Code: CloseTryLater, Remote: true},
		fmt.Errorf("wrapped: %w", &CloseError{Code: CloseTryLater, Remote: true}),
		&DialError{Kind: DialUnavailable, Status: 503},
	} {
		b := Backoff{Min: time.Second, Max: 30 * time.Second, Rand: most}
		if d := b.Next(cause); d != 4*time.Second {
			t.Errorf("%v: %v", cause, d)
		}
	}
	for _, cause := range []error{
		nil,
		&CloseError{Code: CloseRestart}, // ours
		&CloseError{Code: CloseTooBig, Remote: true},
		&DialError{Kind: DialUnreachable},
	} {
		b := Backoff{Min: time.Second, Max: 30 * time.Second, Rand: most}
		if d := b.Next(cause); d != time.Second {
			t.Errorf("%v: %v", cause, d)
		}
	}
}

func TestBackoffBeginsAgainAfterAnAcknowledgedByteOrAMinute(t *testing.T) {
	b := Backoff{Min: time.Second, Max: 30 * time.Second, Rand: most}
	again := func(what string, want time.Duration) {
		t.Helper()
		if d := b.Next(nil); d != want {
			t.Errorf("%s: %v, want %v", what, d, want)
		}
	}
	b.Next(nil)
	b.Next(nil)
	b.Ended(59 * time.Second)
	again("a short connection", 4*time.Second)
	b.Ended(time.Minute)
	again("a minute", time.Second)
	b.Reset()
	again("a byte", time.Second)
}

func TestBackoffOfAWrongOrderStillWaits(t *testing.T) {
	b := Backoff{Min: time.Minute, Max: time.Second, Rand: most}
	if d := b.Next(nil); d != time.Minute {
		t.Fatal(d)
	}
}

package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestAChattyLibrarysInfoBecomesDebug(t *testing.T) {
	for level, want := range map[slog.Level]string{slog.LevelInfo: "WARN", slog.LevelDebug: "DEBUG DEBUG WARN"} {
		var b bytes.Buffer
		log := slog.New(chatty{slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level})}).With("k", "v")
		log.Debug("one")
		log.Info("two")
		log.Warn("three")
		var got []string
		for line := range strings.Lines(b.String()) {
			_, rest, _ := strings.Cut(line, "level=")
			word, _, _ := strings.Cut(rest, " ")
			got = append(got, word)
			if !strings.Contains(line, "k=v") {
				t.Errorf("%q lost its attribute", line)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("at %v: %v, want %s", level, got, want)
		}
	}
}

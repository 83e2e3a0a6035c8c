package main

import (
	"context"
	"log/slog"
)

// chatty is the log for a library that tells at the level of info what only its
// own developers want to know: that becomes debug.
type chatty struct{ slog.Handler }

func (c chatty) Enabled(ctx context.Context, level slog.Level) bool {
	return c.Handler.Enabled(ctx, demoted(level))
}

func (c chatty) Handle(ctx context.Context, r slog.Record) error {
	r.Level = demoted(r.Level)
	return c.Handler.Handle(ctx, r)
}

func (c chatty) WithAttrs(attrs []slog.Attr) slog.Handler { return chatty{c.Handler.WithAttrs(attrs)} }

func (c chatty) WithGroup(name string) slog.Handler { return chatty{c.Handler.WithGroup(name)} }

func demoted(level slog.Level) slog.Level {
	if level == slog.LevelInfo {
		return slog.LevelDebug
	}
	return level
}

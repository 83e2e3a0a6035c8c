package cli

import (
	"io"
	"log/slog"
)

// LogFlags are the flags that every command has; a grammar embeds them and sets
// the variable log_level to its default.
type LogFlags struct {
	Version   versionFlag `help:"Print version, protocol and commit; with --json as an object."`
	LogFormat string      `help:"How log lines are written to the standard error: ${enum}." enum:"text,json" default:"text" placeholder:"FORMAT"`
	LogLevel  string      `help:"What is logged: ${enum}." enum:"debug,info,warn,error" default:"${log_level}" placeholder:"LEVEL"`
}

// New returns the log. The names of format and level were checked by the
// grammar.
func (f *LogFlags) New(w io.Writer) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(f.LogLevel)); err != nil {
		l = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: l}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

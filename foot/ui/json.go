package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/vancetope/transfer/gen/common"
)

// jsonEvents writes one JSON object a line, for programs. Only the events that
// the interface promises are written: what happens between two connections goes
// to the log.
type jsonEvents struct {
	log   *slog.Logger
	mu    sync.Mutex
	out   io.Writer
	err   error
	pace  pace
	clock func() time.Time
}

// NewJSON returns the UI of --json.
func NewJSON(out io.Writer, log *slog.Logger) UI {
	return newJSON(out, log, time.Now)
}

func newJSON(out io.Writer, log *slog.Logger, clock func() time.Time) *jsonEvents {
	return &jsonEvents{out: out, log: log, clock: clock, pace: newPace(progressInterval)}
}

// progressInterval is the least time between two events of one transfer that
// differ in nothing but the bytes.
const progressInterval = 250 * time.Millisecond

type connectedEvent struct {
	Event     string   `json:"event"`
	Tenant    string   `json:"tenant"`
	ProjectID string   `json:"projectId"`
	FootID    string   `json:"footId"`
	Features  []string `json:"features"`
	Root      string   `json:"root"`
}

type disconnectedEvent struct {
	Event  string `json:"event"`
	Reason string `json:"reason"`
}

type transferEvent struct {
	Event      string           `json:"event"`
	TransferID string           `json:"transferId"`
	Direction  Direction        `json:"direction"`
	Path       string           `json:"path"`
	State      State            `json:"state"`
	Bytes      int64            `json:"bytes"`
	TotalBytes int64            `json:"totalBytes"`
	Error      string           `json:"error,omitempty"`
	ErrorCode  common.ErrorCode `json:"errorCode,omitempty"`
}

type approvalEvent struct {
	Event     string    `json:"event"`
	ID        string    `json:"id"`
	Direction Direction `json:"direction"`
	Path      string    `json:"path"`
	Bytes     int64     `json:"bytes"`
}

func (j *jsonEvents) Connecting(url string) { j.log.Info("connecting", "brain", url) }

func (j *jsonEvents) Connected(c Connected) {
	features := c.Features
	if features == nil {
		features = []string{}
	}
	j.write(connectedEvent{"connected", c.Tenant, c.ProjectID, c.FootID, features, c.Root})
}

func (j *jsonEvents) Disconnected(reason string) {
	j.write(disconnectedEvent{"disconnected", reason})
}

func (j *jsonEvents) Reconnecting(after time.Duration, reason string) {
	j.log.Warn("not connected", "reason", reason, "retry", after)
}

// Refused leaves it to the program's last line.
func (j *jsonEvents) Refused(string, string) {}

func (j *jsonEvents) Stopping(running int) { j.log.Info("stopping", "running", running) }

func (j *jsonEvents) Approval(a Approval) {
	j.write(approvalEvent{"approval", a.ID.String(), a.Direction, a.Path, a.Bytes})
}

func (j *jsonEvents) Transfer(t Transfer) {
	if !j.pace.due(t, j.clock()) {
		return
	}
	e := transferEvent{
		Event:      "transfer",
		TransferID: t.ID.String(),
		Direction:  t.Direction,
		Path:       t.Path,
		State:      t.State,
		Bytes:      t.Bytes,
		TotalBytes: t.TotalBytes,
	}
	if t.Fault != nil {
		e.Error, e.ErrorCode = t.Fault.Text, t.Fault.Code
	}
	j.write(e)
}

func (j *jsonEvents) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// write writes one event as one line. The first error of the output is kept
// for Close: a reader that went away must not end the transfers.
func (j *jsonEvents) write(event any) {
	line, err := marshalLine(event)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		_, err = j.out.Write(line)
	}
	if err != nil && j.err == nil {
		j.err = fmt.Errorf("writing an event: %w", err)
	}
}

// JSONLine is a value as one line of JSON that is safe in a terminal.
func JSONLine(v any) ([]byte, error) { return marshalLine(v) }

// marshalLine is JSON in which no rune can harm a terminal: whatever is not
// printable is written as \uXXXX, which every reader turns back.
func marshalLine(event any) ([]byte, error) {
	plain, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	line := make([]byte, 0, len(plain)+1)
	for len(plain) > 0 {
		r, size := utf8.DecodeRune(plain)
		switch {
		case unicode.IsPrint(r):
			line = append(line, plain[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			line = fmt.Appendf(line, `\u%04x\u%04x`, high, low)
		default:
			line = fmt.Appendf(line, `\u%04x`, r)
		}
		plain = plain[size:]
	}
	return append(line, '\n'), nil
}

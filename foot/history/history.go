// Package history keeps what moved: one line for each transfer that ended, in a
// file of the Foot's state folder. It owns the file's form and its bounds, and
// refuses to be complete: old lines make room for new ones, and a disk that takes
// none costs the lines, never a transfer.
package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/foot/ui"
	"github.com/vancetope/transfer/gen/common"
)

// Entry is a transfer that ended.
type Entry struct {
	EndedAt    time.Time        `json:"endedAt"`
	StartedAt  time.Time        `json:"startedAt"`
	TransferID uuid.UUID        `json:"transferId"`
	Direction  ui.Direction     `json:"direction"`
	Path       string           `json:"path"`
	State      ui.State         `json:"state"` // complete, failed or cancelled
	Bytes      int64            `json:"bytes"`
	TotalBytes int64            `json:"totalBytes"`
	Error      string           `json:"error,omitempty"`
	ErrorCode  common.ErrorCode `json:"errorCode,omitempty"`
}

// fileName is the history in a state folder.
const fileName = "history.jsonl"

// When the file has grown to full, its newest lines are kept up to half. A line
// has a path and an error text, which are bounded where they come from, so that
// no line comes near the two.
const (
	full = 1 << 20
	half = 512 << 10
)

// longestLine is more than any line that is written here.
const longestLine = 64 << 10

// file is the history of one folder, held by this process alone.
type file struct {
	name string
	f    *os.File
	size int64
}

func open(dir string) (*file, error) {
	name := filepath.Join(dir, fileName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	h := &file{name: name, f: f}
	if err := h.mend(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return h, nil
}

// mend finds the size, and ends a line that a killed process left half written.
func (h *file) mend() error {
	info, err := h.f.Stat()
	if err != nil {
		return err
	}
	h.size = info.Size()
	if h.size == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := h.f.ReadAt(last, h.size-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	return h.write([]byte("\n"))
}

func (h *file) add(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(line) >= longestLine {
		return fmt.Errorf("a line of %d bytes is not kept", len(line))
	}
	if err := h.write(append(line, '\n')); err != nil {
		return err
	}
	if h.size < full {
		return nil
	}
	return h.shorten()
}

func (h *file) write(p []byte) error {
	n, err := h.f.Write(p)
	h.size += int64(n)
	return err
}

// shorten replaces the file by its newest half, at once for whoever reads it.
func (h *file) shorten() error {
	kept := make([]byte, min(half, h.size))
	if _, err := h.f.ReadAt(kept, h.size-int64(len(kept))); err != nil {
		return err
	}
	kept = kept[bytes.IndexByte(kept, '\n')+1:] // the first line is a part of one
	next := h.name + ".new"
	if err := os.WriteFile(next, kept, 0o600); err != nil {
		return err
	}
	if err := os.Rename(next, h.name); err != nil {
		return err
	}
	f, err := os.OpenFile(h.name, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	old := h.f
	h.f, h.size = f, int64(len(kept))
	return old.Close()
}

func (h *file) close() error { return h.f.Close() }

// Kept reports whether a state folder has a history.
func Kept(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, fileName))
	return err == nil
}

// Read returns the history of a state folder, the newest entry last; none where
// nothing has ended yet. A line that cannot be read is left out.
func Read(dir string) ([]Entry, error) {
	f, err := os.Open(filepath.Join(dir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	var entries []Entry
	lines := bufio.NewScanner(io.LimitReader(f, 2*full))
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var e Entry
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			entries = append(entries, e)
		}
	}
	return entries, lines.Err()
}

// Package audit writes down who did what to which file: one JSON object a line,
// appended to a file that only its owner can read. It owns that file's form and
// its opening.
//
// It never writes a token, a one-time code or a file's content, and it makes
// names that came from elsewhere harmless for whoever reads the file in a
// terminal. It deletes nothing: moving the file away, as logrotate does, is
// noticed, and a new one is begun.
package audit

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/safetext"
)

// FileName is the name of the log in the data directory.
const FileName = "audit.log"

// Line is one thing that was done, or was tried.
type Line struct {
	Time    time.Time `json:"time"`
	Tenant  string    `json:"tenant"`
	Project string    `json:"project"`
	// Token is the id of the token that it was done with, which opens nothing.
	Token string `json:"token,omitempty"`
	Role  string `json:"role"`
	Name  string `json:"name"` // of the token's holder
	// Action is the tool, or "login", or "api transfer_cancel" where a person
	// cancels, or LinesLost.
	Action string `json:"action"`

	Foot       string `json:"foot,omitempty"`
	LocalPath  string `json:"localPath,omitempty"` // at the Foot
	DirName    string `json:"dirName,omitempty"`
	Path       string `json:"path,omitempty"` // in the RootDir; at the end the name it got
	Scope      string `json:"scope,omitempty"`
	TransferID string `json:"transferId,omitempty"`
	Bytes      *int64 `json:"bytes,omitempty"`
	Digest     string `json:"digest,omitempty"`

	Outcome   string           `json:"outcome"` // ok or failed
	ErrorCode common.ErrorCode `json:"errorCode,omitempty"`
	Millis    int64            `json:"ms"` // how long it took

	Lost int `json:"lost,omitempty"` // of LinesLost: how many lines could not be written before
}

// LinesLost is the action of the line that tells of lines which are missing.
const LinesLost = "lines lost"

const (
	OK     = "ok"
	Failed = "failed"
)

// longestName bounds what one name can add to the file.
const longestName = 4096

// harmless makes the names in a line harmless.
func (l *Line) harmless() {
	for _, s := range []*string{&l.Tenant, &l.Project, &l.Name, &l.Action, &l.Foot, &l.LocalPath, &l.DirName, &l.Path, &l.Scope, &l.TransferID, &l.Digest} {
		*s = safetext.Escape(*s)
		if len(*s) > longestName {
			*s = (*s)[:longestName] + "…"
		}
	}
}

// Log is an open audit log. Its methods may be called from any goroutine.
type Log struct {
	name string
	log  *slog.Logger
	now  func() time.Time
	// write is (*os.File).Write, but where a test has a full disk.
	write func(*os.File, []byte) (int, error)

	mu   sync.Mutex
	file *os.File
	torn bool // the file ends within a line
	lost int  // lines that were not written since the last that was
}

// Open opens the file of that name, or begins it. What cannot be written later is
// told to log.
func Open(name string, log *slog.Logger) (*Log, error) {
	l := &Log{name: name, log: log, now: time.Now, write: (*os.File).Write}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	return l, nil
}

func (l *Log) open() error {
	f, err := os.OpenFile(l.name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	l.file = f
	l.torn = endsTorn(f)
	return nil
}

// endsTorn reports whether a file ends within a line, as the one that was being
// written when the disk became full or the machine stopped.
func endsTorn(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	n, _ := f.ReadAt(last, info.Size()-1)
	return n == 1 && last[0] != '\n'
}

// Write appends a line, with the time where it has none. A line is one write, so
// that two processes would not mix theirs. What is done goes on when the line
// cannot be written: the failure is logged, once until it works again, and the
// next line that can be has one before it that tells how many were lost.
func (l *Log) Write(line Line) {
	if line.Time.IsZero() {
		line.Time = l.now().UTC()
	}
	line.harmless()
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.followed()
	if err == nil && l.lost > 0 {
		err = l.append(Line{Time: line.Time, Action: LinesLost, Outcome: Failed, Lost: l.lost})
		if err == nil {
			l.lost = 0
		}
	}
	if err == nil {
		err = l.append(line)
	}
	l.report(err)
}

// append writes a line. What comes after one that was torn begins on a line of its
// own.
func (l *Log) append(line Line) error {
	text, err := json.Marshal(line)
	if err != nil { // strings and numbers always marshal
		panic(err)
	}
	if l.torn {
		text = append([]byte{'\n'}, text...)
	}
	text = append(text, '\n')
	n, err := l.write(l.file, text)
	switch {
	case n == len(text):
		l.torn = false
	case n > 0 && l.cut(n) != nil:
		l.torn = true
	}
	return err
}

// cut takes back the n bytes that were written last, of a line that did not fit.
func (l *Log) cut(n int) error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	return l.file.Truncate(info.Size() - int64(n))
}

// followed opens the file anew when the one that is open was moved away.
func (l *Log) followed() error {
	there, err := os.Stat(l.name)
	if err == nil {
		var open os.FileInfo
		if open, err = l.file.Stat(); err == nil && os.SameFile(there, open) {
			return nil
		}
	}
	old := l.file
	if err := l.open(); err != nil {
		return err
	}
	_ = old.Close() // what was written to it is the system's already
	return nil
}

func (l *Log) report(err error) {
	switch {
	case err == nil:
	case l.lost == 0:
		l.log.Error("the audit log cannot be written", "err", err)
		fallthrough
	default:
		l.lost++
	}
}

// Close ends the use of the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

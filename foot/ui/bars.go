package ui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/vancetope/transfer/internal/safetext"
)

// barAfter is how long a transfer has to run before it gets a bar: the many
// that are over at once leave a line only.
const barAfter = 300 * time.Millisecond

// nameWidth is how much of a path stands beside its bar.
const nameWidth = 32

// bars shows running transfers as bars under the lines of what happened. The
// container of the bars exists only while there is one, so that an idle Foot
// draws nothing.
type bars struct {
	mu        sync.Mutex
	out       io.Writer
	err       error
	clock     func() time.Time
	options   []mpb.ContainerOption
	container *mpb.Progress // nil while no bar is shown
	shown     int           // bars in the container
	running   map[uuid.UUID]*running
}

type running struct {
	started time.Time
	bytes   int64
	since   time.Time    // when the bytes began to count
	waited  bool         // a person is being asked
	bar     *mpb.Bar     // nil until the transfer has run for barAfter
	shown   atomic.Value // the state as a word, for the goroutine that draws
}

// word is the state beside the bar; nothing for the ordinary one.
func (r *running) word() string {
	if s, ok := r.shown.Load().(State); ok && s != Streaming {
		return strings.ReplaceAll(string(s), "_", " ") + " "
	}
	return ""
}

// NewBars returns the UI for a terminal. It is a writer too: a log that goes
// to the same terminal has to go through it, or the bars would be torn.
func NewBars(terminal *os.File) interface {
	UI
	io.Writer
} {
	return newBars(terminal, time.Now)
}

func newBars(out io.Writer, clock func() time.Time, options ...mpb.ContainerOption) *bars {
	return &bars{out: out, clock: clock, options: options, running: make(map[uuid.UUID]*running)}
}

func (b *bars) Connecting(url string) { b.say(connectingLine(url)) }

func (b *bars) Connected(c Connected) { b.say(connectedLines(c)...) }

func (b *bars) Disconnected(reason string) { b.say(disconnectedLine(reason)) }

func (b *bars) Reconnecting(after time.Duration, reason string) {
	b.say(reconnectingLine(after, reason))
}

// Refused leaves it to the program's last line, which goes to the same terminal.
func (b *bars) Refused(string, string) {}

func (b *bars) Stopping(running int) { b.say(stoppingLine(running)) }

// Approval leaves it to the Prompter, which asks in the same terminal.
func (b *bars) Approval(Approval) {}

func (b *bars) Transfer(t Transfer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	r, known := b.running[t.ID]
	if !known {
		r = &running{started: now}
		b.running[t.ID] = r
	}
	if t.State.Ended() {
		delete(b.running, t.ID)
		b.drop(r)
		b.write(transferLine(t, now.Sub(r.started)) + "\n")
		return
	}
	if t.State == WaitingForApproval { // the time a person takes is not the transfer's
		r.waited = true
		return
	}
	if r.waited {
		r.waited, r.started = false, now
	}
	again := r.since.IsZero() || t.Bytes < r.bytes
	if again { // the digest's pass over the file and the sending each count anew
		r.since = now
	}
	r.bytes = t.Bytes
	if r.bar == nil && now.Sub(r.started) >= barAfter {
		r.bar = b.add(t, r)
		again = true
	}
	if r.bar == nil {
		return
	}
	r.shown.Store(t.State)
	if again {
		r.bar.SetCurrent(0)
		if err := r.bar.DecoratorAverageAdjust(r.since); err != nil {
			b.fail(err)
		}
	}
	r.bar.SetTotal(max(t.TotalBytes, 1), false)
	r.bar.SetCurrent(min(t.Bytes, max(t.TotalBytes, 1)-1))
}

// Write writes above the bars.
func (b *bars) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write(string(p))
	return len(p), nil
}

func (b *bars) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, r := range b.running {
		delete(b.running, id)
		b.drop(r)
	}
	return b.err
}

func (b *bars) add(t Transfer, r *running) *mpb.Bar {
	if b.container == nil {
		b.container = mpb.New(append([]mpb.ContainerOption{mpb.WithOutput(b.out)}, b.options...)...)
	}
	name := shorten(safetext.Escape(t.Path), nameWidth)
	bar, err := b.container.Add(max(t.TotalBytes, 1), mpb.BarStyle().Build(),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(
			decor.Name(verb(t.Direction)+" "+name, decor.WC{C: decor.DindentRight | decor.DextraSpace}),
			decor.Any(func(decor.Statistics) string { return r.word() }),
			decor.Percentage(decor.WC{W: 4}),
		),
		mpb.AppendDecorators(
			decor.CountersKibiByte("% .1f / % .1f"),
			decor.Name(" "),
			decor.AverageSpeed(decor.SizeB1024(0), "% .1f"),
			decor.Name(" "),
			decor.AverageETA(decor.ET_STYLE_GO),
		),
	)
	if err != nil { // the container broke: its output is gone
		b.fail(err)
		return nil
	}
	b.shown++
	return bar
}

// drop takes a transfer's bar off the screen, and the container with the last.
func (b *bars) drop(r *running) {
	if r.bar == nil {
		return
	}
	r.bar.Abort(true)
	r.bar = nil
	b.shown--
	if b.shown > 0 {
		return
	}
	b.container.Wait()
	if err := b.container.Error; err != nil {
		b.fail(err)
	}
	b.container = nil
}

func (b *bars) say(sentences ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range sentences {
		b.write(s + "\n")
	}
}

// write is called with the lock held.
func (b *bars) write(text string) {
	var err error
	if b.container != nil {
		_, err = io.WriteString(b.container, text)
	} else {
		_, err = io.WriteString(b.out, text)
	}
	if err != nil {
		b.fail(err)
	}
}

// fail keeps the first error for Close: a terminal that went away must not end
// the transfers.
func (b *bars) fail(err error) {
	if b.err == nil {
		b.err = fmt.Errorf("writing to the terminal: %w", err)
	}
}

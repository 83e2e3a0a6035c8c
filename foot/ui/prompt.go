package ui

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/foot/approval"
)

// Prompter asks a person in a terminal, one question after the other, and hands
// on what they typed. What was typed before a question was shown is thrown away,
// so that no answer meets a question it was not meant for.
type Prompter struct {
	out    io.Writer
	in     *os.File
	answer func(id uuid.UUID, a approval.Answer) error

	mu     sync.Mutex
	queue  []approval.Question            // not shown yet
	shown  *approval.Question             // the one that is being asked
	ended  map[uuid.UUID]approval.Outcome // of the one shown, once it is closed
	wake   chan struct{}                  // holds a token when there is something to look at
	typed  chan typed
	closed chan struct{}
	done   chan struct{}
}

// typed is one line of the person, or why there is none.
type typed struct {
	line string
	err  error
}

// retryTyping is how soon the terminal is tried again when it cannot be read,
// as while this program is in the background of its shell.
const retryTyping = time.Second

// NewPrompter returns a Prompter that has nothing to ask yet. out is the UI's
// writer, in the terminal. answer is called on a goroutine of the Prompter's.
func NewPrompter(out io.Writer, in *os.File, answer func(uuid.UUID, approval.Answer) error) *Prompter {
	p := &Prompter{
		out: out, in: in, answer: answer,
		ended:  map[uuid.UUID]approval.Outcome{},
		wake:   make(chan struct{}, 1),
		typed:  make(chan typed, 1),
		closed: make(chan struct{}),
		done:   make(chan struct{}),
	}
	shareTerminal()
	go p.run()
	return p
}

// Opened puts a question into the row.
func (p *Prompter) Opened(q approval.Question) {
	p.mu.Lock()
	p.queue = append(p.queue, q)
	p.mu.Unlock()
	p.look()
}

// Closed takes a question out of the row, or off the screen.
func (p *Prompter) Closed(q approval.Question, how approval.Outcome) {
	p.mu.Lock()
	i := slices.IndexFunc(p.queue, func(other approval.Question) bool { return other.ID == q.ID })
	switch {
	case i >= 0:
		p.queue = slices.Delete(p.queue, i, i+1)
	case p.shown != nil && p.shown.ID == q.ID:
		p.ended[q.ID] = how
	}
	p.mu.Unlock()
	p.look()
}

func (p *Prompter) look() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Close stops asking. A read of the terminal that hangs ends with the program,
// and so does a write.
func (p *Prompter) Close() {
	close(p.closed)
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
}

func (p *Prompter) run() {
	defer close(p.done)
	reading := false
	for {
		if p.step() && !reading {
			reading = true
			go p.read()
		}
		select {
		case <-p.closed:
			return
		case <-p.wake:
		case t := <-p.typed:
			reading = false
			p.take(t)
		}
	}
}

// step takes a closed question off the screen and shows the next one. It
// reports whether an answer is awaited.
func (p *Prompter) step() bool {
	over, next, waiting := p.turn()
	if over != "" {
		p.say(over)
	}
	if next != nil {
		forgetTyped(p.in)
		p.say("\a" + strings.Join(questionLines(*next), "\n"))
	}
	return waiting
}

// turn is the part of step that looks at the row: what is to be said of the
// question that was shown, and the one to show now.
func (p *Prompter) turn() (over string, next *approval.Question, waiting bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown != nil {
		how, closed := p.ended[p.shown.ID]
		if !closed {
			return "", nil, true
		}
		over = closedLine(*p.shown, how)
		delete(p.ended, p.shown.ID)
		p.shown = nil
	}
	if len(p.queue) == 0 {
		return over, nil, false
	}
	first := p.queue[0]
	p.queue, p.shown = p.queue[1:], &first
	return over, &first, true
}

// take is what a person typed.
func (p *Prompter) take(t typed) {
	p.mu.Lock()
	q := p.shown
	_, over := p.ended[idOf(q)]
	p.mu.Unlock()
	if t.err != nil || q == nil || over {
		return // nobody was asked
	}
	a, ok := parseAnswer(t.line)
	if !ok {
		p.say("  please type y, n or a, then Enter")
		return
	}
	// The desk closes the question, and says so to Closed.
	if err := p.answer(q.ID, a); err != nil && !errors.Is(err, approval.ErrNoQuestion) {
		p.say("  " + err.Error())
	}
}

func idOf(q *approval.Question) uuid.UUID {
	if q == nil {
		return uuid.Nil
	}
	return q.ID
}

// parseAnswer reads an answer. An empty line is none: nothing is decided by
// leaning on a key.
func parseAnswer(line string) (approval.Answer, bool) {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return approval.Yes, true
	case "n", "no":
		return approval.No, true
	case "a", "always":
		return approval.Always, true
	}
	return approval.No, false
}

// read waits for one line. A terminal gives one line a read; what it cannot give
// now is tried again while there is a question.
func (p *Prompter) read() {
	b := make([]byte, 4096)
	n, err := p.in.Read(b)
	if n == 0 && err == nil {
		err = io.ErrNoProgress
	}
	if err != nil {
		time.Sleep(retryTyping)
	}
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	p.typed <- typed{line, err}
}

// say writes lines. What a terminal does not take, the UI reports at its end.
func (p *Prompter) say(text string) {
	_, _ = io.WriteString(p.out, text+"\n")
}

package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxLine bounds a message of the client's. The Brain takes no larger one.
	maxLine = 10 << 20

	// lastAnswers is how long the calls under way may go on when the input ends,
	// so that a client that pipes its requests in is answered.
	lastAnswers = time.Second
)

// lines is MCP's transport over two streams, one message a line. Unlike the
// SDK's it lives on after a line that is no message: it answers that with an
// error, as JSON-RPC wants it.
type lines struct {
	in       *bufio.Reader
	incoming chan []byte // closed at the end of the input
	ids      *ids

	writing sync.Mutex
	out     io.Writer
	failed  error // of the first write that went wrong

	mu      sync.Mutex
	pending int           // requests that are not answered yet
	settled chan struct{} // closed and renewed when pending falls to none

	closed    chan struct{}
	closeOnce sync.Once
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{
		in: bufio.NewReaderSize(in, 64<<10), out: out, ids: newIDs(),
		incoming: make(chan []byte), settled: make(chan struct{}), closed: make(chan struct{}),
	}
}

// Connect implements mcp.Transport.
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	// A read of the standard input cannot be interrupted: this goroutine may
	// stay until the process ends.
	go l.run()
	return l, nil
}

func (l *lines) run() {
	defer close(l.incoming)
	for {
		line, err := l.line()
		if len(bytes.TrimSpace(line)) > 0 {
			select {
			case l.incoming <- line:
			case <-l.closed:
				return
			}
		}
		if err != nil {
			return // the end, or as good as that
		}
	}
}

// line returns the next line, the last of which need not be ended. A longer one
// than maxLine is cut, so that it is no message, and the rest of it thrown away.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if room := maxLine + 1 - len(line); len(part) > room {
			part = part[:room]
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Read implements mcp.Connection.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.closed:
			return nil, io.EOF
		case line, more := <-l.incoming:
			if !more {
				l.settle()
				return nil, io.EOF
			}
			message, refused := parse(line)
			if refused == nil {
				if err := l.ids.take(message, line); err != nil {
					return nil, err
				}
				l.note(message)
				return message, nil
			}
			if err := l.write(refused); err != nil {
				return nil, err
			}
		}
	}
}

// parse returns a line's message, or the answer that refuses it.
func parse(line []byte) (jsonrpc.Message, []byte) {
	switch {
	case len(line) > maxLine:
		return nil, refusal(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes", maxLine))
	case !json.Valid(line):
		return nil, refusal(jsonrpc.CodeParseError, "the line is not JSON: one message a line is expected")
	}
	message, err := jsonrpc.DecodeMessage(bytes.TrimSpace(line))
	if err != nil {
		return nil, refusal(jsonrpc.CodeInvalidRequest, "the line is not a JSON-RPC message, of which one a line is expected")
	}
	return message, nil
}

func refusal(code int64, text string) []byte {
	answer, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      *int           `json:"id"`
		Error   *jsonrpc.Error `json:"error"`
	}{"2.0", nil, &jsonrpc.Error{Code: code, Message: text}})
	if err != nil { // numbers and strings always marshal
		panic(err)
	}
	return answer
}

// note counts the requests that wait for an answer.
func (l *lines) note(m jsonrpc.Message) {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pending++
	}
}

func (l *lines) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending--; l.pending <= 0 {
		close(l.settled)
		l.settled = make(chan struct{})
	}
}

// settle waits for the answers that are still to come, for a while.
func (l *lines) settle() {
	l.mu.Lock()
	pending, settled := l.pending, l.settled
	l.mu.Unlock()
	if pending <= 0 {
		return
	}
	limit := time.NewTimer(lastAnswers)
	defer limit.Stop()
	select {
	case <-settled:
	case <-limit.C:
	case <-l.closed:
	}
}

// Write implements mcp.Connection.
func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if answer, ok := m.(*jsonrpc.Response); ok {
		defer l.answered()
		if text, err = l.ids.giveBack(answer, text); err != nil {
			return err
		}
	}
	return l.write(text)
}

func (l *lines) write(text []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.failed == nil {
		_, l.failed = l.out.Write(append(text, '\n'))
	}
	return l.failed
}

// broken is why nothing can be written any more, nil while it can.
func (l *lines) broken() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.failed
}

// Close implements mcp.Connection.
func (l *lines) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return nil
}

// SessionID implements mcp.Connection.
func (l *lines) SessionID() string { return "" }

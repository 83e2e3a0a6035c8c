// Package launch runs the built binaries as child processes for the demo and
// the end-to-end tests: it starts one, reads the JSON events that it prints on
// stdout, and ends it. It knows nothing of what the events mean, never runs a
// shell, and never leaves a child behind.
package launch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command says what to run.
type Command struct {
	Path   string
	Args   []string
	Dir    string    // "" is the caller's
	Env    []string  // the whole environment; nil is the caller's
	Stderr io.Writer // nil throws it away
}

// Event is one JSON line of stdout.
type Event struct {
	Name string `json:"event"`
	Raw  json.RawMessage
}

// Decode reads the event's members into v.
func (e Event) Decode(v any) error { return json.Unmarshal(e.Raw, v) }

// Process is a running child, or one that ended.
type Process struct {
	cmd  *exec.Cmd
	name string
	done chan struct{} // closed after the exit code is known

	mu      sync.Mutex
	lines   []Event
	changed chan struct{} // closed and replaced at each new line
	code    int           // valid once done is closed
}

// Start starts the command. Its stdin is empty.
func Start(c Command) (*Process, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stderr = c.Dir, c.Env, c.Stderr
	cmd.SysProcAttr = childAttributes()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, done: make(chan struct{}), changed: make(chan struct{})}
	p.name = c.Path[strings.LastIndexAny(c.Path, `/\`)+1:]
	if err := startChild(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Path, err)
	}
	go p.read(stdout)
	return p, nil
}

// read collects stdout until the child closes it, then waits for the child.
func (p *Process) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event Event
		raw := append([]byte(nil), lines.Bytes()...)
		if json.Unmarshal(raw, &event) != nil {
			event.Name = "" // a line for people
		}
		event.Raw = raw
		p.mu.Lock()
		p.lines = append(p.lines, event)
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
	err := p.cmd.Wait()
	p.mu.Lock()
	p.code = exitCode(err, p.cmd)
	p.mu.Unlock()
	close(p.done)
}

func exitCode(err error, cmd *exec.Cmd) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return -1
	}
	return cmd.ProcessState.ExitCode()
}

// Name is the program's base name.
func (p *Process) Name() string { return p.name }

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Events returns the lines printed so far.
func (p *Process) Events() []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Event(nil), p.lines...)
}

// Await returns the first event at or after index from that match accepts, and
// the index after it. It fails when ctx ends or the child ends without one.
func (p *Process) Await(ctx context.Context, from int, match func(Event) bool) (Event, int, error) {
	for {
		p.mu.Lock()
		lines, changed := p.lines, p.changed
		p.mu.Unlock()
		for ; from < len(lines); from++ {
			if match(lines[from]) {
				return lines[from], from + 1, nil
			}
		}
		select {
		case <-changed:
		case <-p.done:
			p.mu.Lock()
			more := from < len(p.lines)
			p.mu.Unlock()
			if !more {
				return Event{}, from, fmt.Errorf("%s ended with exit code %d before it printed the expected event", p.name, p.ExitCode())
			}
		case <-ctx.Done():
			return Event{}, from, fmt.Errorf("waiting for an event of %s: %w", p.name, ctx.Err())
		}
	}
}

// AwaitNamed is Await for the first event of that name.
func (p *Process) AwaitNamed(ctx context.Context, name string) (Event, error) {
	event, _, err := p.Await(ctx, 0, func(e Event) bool { return e.Name == name })
	return event, err
}

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode waits for the child's end and returns its exit code, -1 when a
// signal ended it.
func (p *Process) ExitCode() int {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.code
}

// CPU waits for the child's end and returns its processor time, user and
// system together.
func (p *Process) CPU() time.Duration {
	<-p.done
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Signal sends a signal to the child.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill ends the child at once and waits until it is gone.
func (p *Process) Kill() {
	select {
	case <-p.done:
		return
	default:
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return // nothing more can be done about a child that cannot be killed
	}
	<-p.done
}

// Stop asks the child to end, kills it when it has not after grace, and returns
// its exit code.
func (p *Process) Stop(grace time.Duration) int {
	if p.Signal(syscall.SIGTERM) != nil { // gone already, or a system without the signal
		p.Kill()
		return p.ExitCode()
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
	}
	return p.ExitCode()
}

package e2etest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// line is a scripted end of a connection whose frames are sorted by transfer,
// so that a hostile one and a witness can share it.
type line struct {
	*Peer
	sending sync.Mutex
	pongs   chan string

	mu    sync.Mutex
	known map[string]chan Message
	rest  chan Message // frames of transfers that nobody watches, and of none
}

// newLine takes over the reading of a Peer.
func newLine(p *Peer) *line {
	l := &line{Peer: p, pongs: make(chan string, 64), known: map[string]chan Message{}, rest: make(chan Message, 1<<14)}
	p.SetPongHandler(func(payload string) error {
		select {
		case l.pongs <- payload:
		default: // nobody waits for that many
		}
		return nil
	})
	if err := p.SetReadDeadline(time.Time{}); err != nil { // the handshake's
		p.t.Error(err)
	}
	go l.read()
	return l
}

func (l *line) read() {
	defer close(l.rest)
	for {
		_, raw, err := l.ReadMessage()
		if err != nil {
			return
		}
		var m Message
		if json.Unmarshal(raw, &m) != nil {
			m = Message{"type": "no JSON", "raw": string(raw)}
		}
		l.mu.Lock()
		to := l.known[m.Str("transferId")]
		l.mu.Unlock()
		if to == nil {
			to = l.rest
		}
		to <- m
	}
}

// watch gives the frames of one transfer a channel of their own.
func (l *line) watch(id string) <-chan Message {
	c := make(chan Message, 1<<14)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[id] = c
	return c
}

func (l *line) write(t testing.TB, kind int, raw string) {
	l.sending.Lock()
	defer l.sending.Unlock()
	if err := l.WriteMessage(kind, []byte(raw)); err != nil {
		t.Errorf("sending %.100s: %v", raw, err)
	}
}

func (l *line) say(t testing.TB, m Message) { l.write(t, websocket.TextMessage, encode(t, m)) }

// settle returns once the other side has read everything that was sent.
func (l *line) settle(t testing.TB) {
	t.Helper()
	mark := fmt.Sprint(time.Now().UnixNano())
	if err := l.WriteControl(websocket.PingMessage, []byte(mark), time.Now().Add(Patience)); err != nil {
		t.Fatalf("ping: %v", err)
	}
	timeout := time.After(Patience)
	for {
		select {
		case got := <-l.pongs:
			if got == mark {
				return
			}
		case <-timeout:
			t.Fatal("a ping is not answered")
		}
	}
}

// await passes frames by until one is accepted.
func await(t testing.TB, from <-chan Message, what string, accept func(Message) bool) Message {
	t.Helper()
	timeout := time.After(Patience)
	for {
		select {
		case m, open := <-from:
			if !open {
				t.Fatalf("the connection ended before %s", what)
			}
			if accept(m) {
				return m
			}
		case <-timeout:
			t.Fatalf("no %s comes", what)
		}
	}
}

func typed(names ...string) func(Message) bool {
	return func(m Message) bool {
		for _, name := range names {
			if m.Str("type") == name {
				return true
			}
		}
		return false
	}
}

// drain throws away what was not waited for.
func (l *line) drain() {
	for {
		select {
		case <-l.rest:
		default:
			return
		}
	}
}

func encode(t testing.TB, m Message) string {
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// step is one message of a script.
type step struct {
	name    string
	msg     Message
	raw     string   // instead of msg when not empty
	binary  bool     // sent as a binary message
	waitFor []string // frame types of which one must have come before the next step
	settle  bool     // the next step waits until this one was read, whatever it does
	late    bool     // sent only when the other side has given up
}

func (s step) text(t testing.TB) string {
	if s.raw != "" {
		return s.raw
	}
	return encode(t, s.msg)
}

// play sends a script. ended is closed when the other side has given up.
func (l *line) play(t testing.TB, script []step, ended <-chan struct{}) {
	t.Helper()
	for _, s := range script {
		if s.late {
			select {
			case <-ended:
			case <-time.After(Patience):
				t.Fatalf("nobody gives up waiting for %s", s.name)
			}
		}
		kind := websocket.TextMessage
		if s.binary {
			kind = websocket.BinaryMessage
		}
		l.write(t, kind, s.text(t))
		if s.settle {
			l.settle(t)
		}
		if len(s.waitFor) > 0 {
			l.hear(t, s, ended)
		}
	}
}

// hear passes frames by until the one that a step waits for, or until the other
// side has given up.
func (l *line) hear(t testing.TB, s step, ended <-chan struct{}) {
	t.Helper()
	timeout := time.After(Patience)
	for {
		select {
		case m, open := <-l.rest:
			if !open {
				t.Fatalf("the connection ended before the answer to %s", s.name)
			}
			if m["transferId"] == s.msg["transferId"] && typed(s.waitFor...)(m) && (m.Str("type") != "transfer_chunk" || m["last"] == true) {
				return
			}
		case <-ended:
			return
		case <-timeout:
			t.Fatalf("no answer to %s comes", s.name)
		}
	}
}

// A fault is done to one message of a script.
type fault struct {
	name string
	do   func(script []step, i int) []step
}

// changed is a fault that alters a copy of the message.
func changed(name string, alter func(Message)) fault {
	return fault{name, func(script []step, i int) []step {
		script[i].msg = maps.Clone(script[i].msg)
		alter(script[i].msg)
		return script
	}}
}

// ahead is a fault that sends a bad copy of the message first: it must have no
// effect on the transfer.
func ahead(name string, spoil func(s *step, i int)) fault {
	return fault{"a copy " + name, func(script []step, i int) []step {
		raw, err := json.Marshal(script[i].msg)
		if err != nil {
			return nil
		}
		bad := step{name: name, msg: script[i].msg, raw: string(raw), settle: true}
		spoil(&bad, i)
		return append(script[:i:i], append([]step{bad}, script[i:]...)...)
	}}
}

// alter changes the JSON of a step.
func (s *step) alter(change func(Message)) {
	m := maps.Clone(s.msg)
	change(m)
	if raw, err := json.Marshal(m); err == nil {
		s.raw = string(raw)
	}
}

const unknownID = "0198c0de-0000-7000-8000-00000000dead"

// frameFaults is what can happen to any frame on its way or by its sender's
// malice. foreign is the id of another connection's live transfer, "" for none.
func frameFaults(foreign string) []fault {
	faults := []fault{
		{"drop", func(s []step, i int) []step { return append(s[:i:i], s[i+1:]...) }},
		{"duplicate", func(s []step, i int) []step {
			twice := s[i]
			twice.waitFor, twice.settle = nil, true
			return append(s[:i+1:i+1], append([]step{twice}, s[i+1:]...)...)
		}},
		{"reorder", func(s []step, i int) []step {
			if i+1 == len(s) {
				return nil
			}
			s[i], s[i+1] = s[i+1], s[i]
			s[i].settle, s[i].waitFor = true, nil // too early for an answer
			if i > 0 {
				s[i+1].waitFor = nil // it may be over already
			}
			return s
		}},
		{"delay", func(s []step, i int) []step { s[i].late = true; return s }},
		changed("unknown field", func(m Message) { m["fromTheFuture"] = map[string]any{"a": 1} }),
		changed("wrong JSON type", func(m Message) {
			for _, name := range []string{"totalSize", "seq", "ok"} {
				if _, has := m[name]; has {
					m[name] = "x"
				}
			}
			if m.Str("type") == "client.file.upload.request" {
				m["localPath"] = 7
			}
		}),
		ahead("truncated", func(s *step, _ int) { s.raw = s.raw[:len(s.raw)/2] }),
		ahead("as a binary message", func(s *step, _ int) { s.binary = true }),
		ahead("of unknown type", func(s *step, _ int) { s.alter(func(m Message) { m["type"] = "transfer_teleport" }) }),
		ahead("of unknown id", func(s *step, i int) {
			s.alter(func(m Message) { m["transferId"] = fmt.Sprintf("0198c0de-0000-7000-8001-%012x", i) })
		}),
		ahead("without id", func(s *step, _ int) { s.alter(func(m Message) { delete(m, "transferId") }) }),
		ahead("with a member twice", func(s *step, _ int) {
			s.raw = strings.TrimSuffix(s.raw, "}") + `,"transferId":"` + s.msg.Str("transferId") + `"}`
		}),
	}
	if foreign != "" {
		faults = append(faults, ahead("of another Foot's id", func(s *step, _ int) {
			s.alter(func(m Message) { m["transferId"] = foreign })
		}))
	}
	return faults
}

// row is one line of a table: a script and what becomes of the transfer.
type row struct {
	name   string
	script func(first Message) []step
	want   string // "ok" or the error code with which it ends
}

// cells makes the rows of every fault at every position of a script. want says
// how each ends: by fault, a code for each position.
func cells(t testing.TB, script func(first Message) []step, faults []fault, want map[string][]string) []row {
	t.Helper()
	var rows []row
	positions := script(Message{"transferId": unknownID})
	for _, f := range faults {
		var of []row
		for i, s := range positions {
			if f.do(script(Message{"transferId": unknownID}), i) != nil {
				of = append(of, row{f.name + ": " + s.name, func(first Message) []step { return f.do(script(first), i) }, ""})
			}
		}
		if len(of) != len(want[f.name]) {
			t.Fatalf("the table says how %d positions of %q end, there are %d", len(want[f.name]), f.name, len(of))
		}
		for i := range of {
			of[i].want = want[f.name][i]
		}
		rows = append(rows, of...)
	}
	if len(want) != len(faults) {
		t.Fatalf("the table has %d faults, there are %d", len(want), len(faults))
	}
	return rows
}

// pace is the phase timeout of a besieged side and the rows that go with it.
type pace struct {
	phase time.Duration
	timed bool
}

// of picks the rows of this pace.
func (p pace) of(rows []row) []row {
	var mine []row
	for _, r := range rows {
		if r.timed() == p.timed {
			mine = append(mine, r)
		}
	}
	return mine
}

// timed: the row ends by a timer, or leaves another transfer behind that does.
func (r row) timed() bool {
	return strings.HasSuffix(r.want, "_timeout") || strings.HasPrefix(r.name, "a copy of unknown id")
}

// atBothPaces plays the rows that end by a timer against one side, and the
// others against another whose phases last longer than any load holds up the test:
// a slow script must not end by a timeout that is not meant.
func atBothPaces(t *testing.T, play func(*testing.T, pace)) {
	for name, p := range map[string]pace{"by a timer": {3 * time.Second, true}, "at once": {Patience / 2, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, p)
		})
	}
}

// replaced is a script with other steps from position i on.
func replaced(script func(Message) []step, i int, with func(first Message) []step) func(Message) []step {
	return func(first Message) []step { return append(script(first)[:i:i], with(first)...) }
}

// stagingFiles lists what lies below a folder under one of our own names.
func stagingFiles(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".vance-") {
			found = append(found, filepath.Base(path))
			return nil
		}
		return err
	})
	return found, err
}

// onlyStaging polls until the staging files below a folder are those of the
// transfers that still run.
func onlyStaging(t testing.TB, dir string, ids ...string) {
	t.Helper()
	Eventually(t, func() string {
		found, err := stagingFiles(dir)
		if err != nil {
			return err.Error() // a file went away meanwhile
		}
		for _, name := range found {
			alive := false
			for _, id := range ids {
				alive = alive || strings.HasSuffix(name, id)
			}
			if !alive {
				return "left behind: " + name
			}
		}
		if len(found) != len(ids) {
			return fmt.Sprintf("staging files %v, want those of %v", found, ids)
		}
		return ""
	})
}

// witness is a transfer to the other side that trickles along while others
// break: it must come to a good end.
type witness struct {
	line    *line
	id      string
	content string
	frames  <-chan Message
	stop    chan struct{}
	stopped chan int // how many chunks of one byte were sent
}

// witnessSize is more than any table lets trickle.
const witnessSize = 64 << 10

func witnessContent(name string) string {
	return strings.Repeat(name+"!", witnessSize)[:witnessSize]
}

// trickle begins a witness whose init was accepted.
func trickle(t testing.TB, l *line, id, content string, frames <-chan Message) *witness {
	w := &witness{l, id, content, frames, make(chan struct{}), make(chan int)}
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		sent := 0
		for {
			select {
			case <-w.stop:
				w.stopped <- sent
				return
			case <-t.Context().Done():
				return
			case <-tick.C:
				l.say(t, chunk(id, sent, content[sent:sent+1], false))
				sent++
			}
		}
	}()
	return w
}

// unharmed fails the test when the other side said anything about the witness.
func (w *witness) unharmed(t testing.TB) {
	t.Helper()
	select {
	case m := <-w.frames:
		t.Fatalf("another transfer was harmed: %v", m)
	default:
	}
}

// finish sends what is left and checks that the receiver is content.
func (w *witness) finish(t testing.TB) {
	t.Helper()
	close(w.stop)
	sent := <-w.stopped
	w.line.say(t, chunk(w.id, sent, w.content[sent:], true))
	done := await(t, w.frames, "transfer_complete of the witness", func(Message) bool { return true })
	if done.Str("type") != "transfer_complete" || done["ok"] != true {
		t.Errorf("the witness ends with %v", done)
	}
	w.line.say(t, Message{"type": "transfer_finish", "transferId": w.id, "ok": true})
}

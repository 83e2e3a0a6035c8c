package wire

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"
)

// The bounds of the control lane. They are far above what transfers need; a peer
// that makes them overflow sends requests and does not read the answers.
const (
	maxControlFrames = 4096
	maxControlBytes  = 2 << 20
)

// ErrDropped is what SendData returns when its stream was dropped meanwhile.
var ErrDropped = errors.New("wire: stream dropped")

var (
	errOverflow = errors.New("wire: control queue overflow")
	errShut     = errors.New("wire: closed")
)

type jobKind uint8

const (
	jobNone jobKind = iota
	jobPong
	jobPing
	jobControl
	jobData
	jobClose
)

// job is one thing for the writer to write. The frame of a control or data job is
// a pooled buffer that the writer gives back.
type job struct {
	kind    jobKind
	payload []byte
	code    int
	reason  string
}

// outbox is what waits to be written: the two lanes, the keepalive's slots and the
// close frame. It knows the order in which they go and nothing of sockets.
type outbox struct {
	wake   chan struct{} // holds one token when there may be work
	closed chan struct{} // closed when nothing more is accepted

	mu      sync.Mutex
	ping    bool
	pong    []byte // payload of the ping to answer; nil if none. A newer one takes its place.
	control []*letter
	waiting int                   // bytes in control
	news    map[uuid.UUID]*letter // the queued progress of each transfer
	streams map[uuid.UUID]*stream
	ready   []*stream // streams with a queued frame, longest waiting first
	shut    bool
	close   *job
}

// letter is a queued control frame. Progress is of a transfer, nil for all else.
type letter struct {
	frame    []byte
	progress *uuid.UUID
}

// stream is the data queue of one transfer: one frame.
type stream struct {
	id      uuid.UUID
	slot    chan struct{} // full while a frame is queued or about to be
	frame   []byte        // the queued frame, nil if none
	dropped chan struct{} // closed by drop; a new one takes its place
	users   int           // goroutines in put
}

func newOutbox() *outbox {
	return &outbox{
		wake:    make(chan struct{}, 1),
		closed:  make(chan struct{}),
		streams: make(map[uuid.UUID]*stream),
		news:    make(map[uuid.UUID]*letter),
	}
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// putControl queues an encoded control frame and never waits.
func (o *outbox) putControl(frame []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		return errShut
	}
	return o.queue(&letter{frame: frame})
}

// putNews queues an encoded transfer_progress in the control lane, in the place of
// one of the same transfer that still waits: a peer that does not read misses
// old news only, and is not drowned in them.
func (o *outbox) putNews(id uuid.UUID, frame []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		return errShut
	}
	if old := o.news[id]; old != nil {
		o.waiting += len(frame) - len(old.frame)
		PutBuffer(old.frame)
		old.frame = frame
		return nil
	}
	news := &letter{frame: frame, progress: &id}
	err := o.queue(news)
	if err == nil {
		o.news[id] = news
	}
	return err
}

func (o *outbox) queue(l *letter) error {
	if len(o.control) >= maxControlFrames || o.waiting+len(l.frame) > maxControlBytes {
		return errOverflow
	}
	o.control = append(o.control, l)
	o.waiting += len(l.frame)
	o.signal()
	return nil
}

// putPing asks for a ping.
func (o *outbox) putPing() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ping = true
	o.signal()
}

// putPong answers a ping. Only the newest unanswered one needs an answer, which is
// what bounds a flood of them.
func (o *outbox) putPong(payload string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pong = append(make([]byte, 0, len(payload)), payload...)
	o.signal()
}

// putData queues an encoded data frame in its stream as soon as the stream's
// place is free.
func (o *outbox) putData(ctx context.Context, id uuid.UUID, frame []byte) error {
	s, dropped, err := o.enter(id)
	if err != nil {
		return err
	}
	err = o.reserve(ctx, s, dropped)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		switch {
		case o.shut:
			err = errShut
		case s.dropped != dropped:
			err = ErrDropped
		}
		if err != nil {
			<-s.slot
		} else {
			s.frame = frame
			o.ready = append(o.ready, s)
			o.signal()
		}
	}
	s.users--
	o.forget(s)
	return err
}

func (o *outbox) enter(id uuid.UUID) (*stream, chan struct{}, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		return nil, nil, errShut
	}
	s := o.streams[id]
	if s == nil {
		s = &stream{id: id, slot: make(chan struct{}, 1), dropped: make(chan struct{})}
		o.streams[id] = s
	}
	s.users++
	return s, s.dropped, nil
}

// reserve waits for the stream's place.
func (o *outbox) reserve(ctx context.Context, s *stream, dropped chan struct{}) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case s.slot <- struct{}{}:
		return nil
	case <-dropped:
		return ErrDropped
	case <-o.closed:
		return errShut
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forget removes a stream that nobody uses.
func (o *outbox) forget(s *stream) {
	if s.users == 0 && s.frame == nil {
		delete(o.streams, s.id)
	}
}

// drop discards what a stream has queued and turns away those who wait in it.
func (o *outbox) drop(id uuid.UUID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.streams[id]
	if s == nil {
		return
	}
	close(s.dropped)
	s.dropped = make(chan struct{})
	if s.frame == nil {
		return
	}
	for i, r := range o.ready {
		if r == s {
			o.ready = append(o.ready[:i], o.ready[i+1:]...)
			break
		}
	}
	PutBuffer(s.take())
	o.forget(s)
}

// take removes the queued frame and frees the stream's place.
func (s *stream) take() []byte {
	frame := s.frame
	s.frame = nil
	<-s.slot
	return frame
}

// next returns what to write now. Control frames that were queued before the end
// still go out, then the close frame; data frames do not.
func (o *outbox) next() job {
	o.mu.Lock()
	defer o.mu.Unlock()
	if j := o.keepalive(); j.kind != jobNone {
		return j
	}
	switch {
	case len(o.control) > 0:
		first := o.control[0]
		o.control[0] = nil
		if o.control = o.control[1:]; len(o.control) == 0 {
			o.control = nil
		}
		if first.progress != nil {
			delete(o.news, *first.progress)
		}
		o.waiting -= len(first.frame)
		return job{kind: jobControl, payload: first.frame}
	case o.close != nil:
		return *o.close
	case len(o.ready) > 0:
		s := o.ready[0]
		o.ready[0] = nil
		o.ready = o.ready[1:]
		frame := s.take()
		o.forget(s)
		return job{kind: jobData, payload: frame}
	}
	return job{}
}

// urgent returns what may go between the fragments of a message.
func (o *outbox) urgent() job {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.keepalive()
}

func (o *outbox) keepalive() job {
	switch {
	case o.pong != nil:
		j := job{kind: jobPong, payload: o.pong}
		o.pong = nil
		return j
	case o.ping:
		o.ping = false
		return job{kind: jobPing}
	}
	return job{}
}

// end accepts nothing more, discards the data lane and queues the close frame. It
// does nothing the second time.
func (o *outbox) end(code int, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		return
	}
	o.shut = true
	close(o.closed)
	o.close = &job{kind: jobClose, code: code, reason: reason}
	for _, s := range o.ready {
		PutBuffer(s.take())
		o.forget(s)
	}
	o.ready = nil
	o.signal()
}

// backlog returns how many frames are queued, for tests and logs.
func (o *outbox) backlog() (control, data int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.control), len(o.ready)
}

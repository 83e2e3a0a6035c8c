package control

import (
	"encoding/json"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/vancetope/transfer/foot/approval"
)

// socketName is the socket in a state folder.
const socketName = "foot.sock"

// maxClients bounds the commands that are answered at once; more wait.
const maxClients = 16

// Server answers on the socket of one state folder at a time.
type Server struct {
	board *Board
	desk  *approval.Desk
	log   *slog.Logger
	slots chan struct{}

	mu       sync.Mutex
	dir      string
	listener net.Listener
	clients  sync.WaitGroup

	talking sync.Mutex // guards what follows
	talks   map[net.Conn]struct{}
	hungUp  bool // nobody is to be waited for
}

// NewServer returns a server that listens nowhere yet.
func NewServer(board *Board, desk *approval.Desk, log *slog.Logger) *Server {
	return &Server{board: board, desk: desk, log: log, slots: make(chan struct{}, maxClients), talks: map[net.Conn]struct{}{}}
}

// Listen makes the socket in a state folder that this process holds, and leaves
// the one before. A Foot can do its work without: what goes wrong is logged.
func (s *Server) Listen(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !Supported || dir == s.dir {
		return
	}
	s.leave()
	s.dir = dir
	l, err := listen(dir)
	if err != nil {
		s.log.Warn("no other command can reach this Foot", "socket", filepath.Join(dir, socketName), "error", err)
		return
	}
	s.listener = l
	s.pickUp()
	s.clients.Go(func() { s.accept(l) })
}

// leave runs with mu held.
func (s *Server) leave() {
	if s.listener == nil {
		return
	}
	if err := s.listener.Close(); err != nil {
		s.log.Debug("closing the socket", "error", err)
	}
	s.listener = nil
	s.hangUp()
	s.clients.Wait()
}

// hangUp ends what is being said: nobody waits for a client that does not talk.
func (s *Server) hangUp() {
	s.talking.Lock()
	defer s.talking.Unlock()
	s.hungUp = true
	for c := range s.talks {
		if err := c.SetDeadline(time.Now()); err != nil {
			s.log.Debug("hanging up on a command", "error", err)
		}
	}
}

func (s *Server) pickUp() {
	s.talking.Lock()
	defer s.talking.Unlock()
	s.hungUp = false
}

// talk notes a connection until it is over.
func (s *Server) talk(c net.Conn) (over func()) {
	s.talking.Lock()
	defer s.talking.Unlock()
	s.talks[c] = struct{}{}
	if s.hungUp {
		if err := c.SetDeadline(time.Now()); err != nil {
			s.log.Debug("hanging up on a command", "error", err)
		}
	}
	return func() {
		s.talking.Lock()
		defer s.talking.Unlock()
		delete(s.talks, c)
	}
}

// Close ends the listening and what is being answered.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave()
}

func (s *Server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed
		}
		s.slots <- struct{}{}
		s.clients.Go(func() {
			defer func() { <-s.slots }()
			if err := s.serve(c); err != nil {
				s.log.Debug("a command was not answered", "error", err)
			}
		})
	}
}

// serve answers one request.
func (s *Server) serve(c net.Conn) error {
	defer c.Close() // the client has its answer, or the deadline was over
	if err := c.SetDeadline(time.Now().Add(exchangeTime)); err != nil {
		return err
	}
	defer s.talk(c)()
	var req request
	if err := receive(c, maxRequest, &req); err != nil {
		return err
	}
	return json.NewEncoder(c).Encode(s.answer(req))
}

func (s *Server) answer(req request) response {
	switch req.Do {
	case doStatus:
		status := s.board.Status()
		return response{Status: &status}
	case doApprove:
		answer := approval.Yes
		if req.Always {
			answer = approval.Always
		}
		return s.decide(req.ID, answer)
	case doDecline:
		return s.decide(req.ID, approval.No)
	}
	return response{Error: "this Foot does not know that request; is it of an older version?"}
}

func (s *Server) decide(id string, answer approval.Answer) response {
	q, err := s.desk.AnswerTo(id, answer)
	if err != nil {
		return response{Error: err.Error()}
	}
	return response{Path: q.Path}
}

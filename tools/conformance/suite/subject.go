package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

// known are the extensions that this checker speaks.
var known = []string{"cancel", "on-existing", "progress"}

// Options say how a peer is tried.
type Options struct {
	Role     Role
	BaseOnly bool
	// Patience is how long an answer may take that should come at once.
	Patience time.Duration
	// MaxWait is the longest timeout of the peer that a rule waits for.
	MaxWait time.Duration
	// Reconnect is how long a Foot may take to connect again.
	Reconnect time.Duration

	// Of a Brain: the URL of the tenant, as in http://host/brain/acme, that of its
	// MCP, the tokens of a Foot and of an agent of one project, and a RootDir to use
	// where the Brain cannot make one.
	TenantURL, MCPURL     string
	FootToken, AgentToken string
	DirName               string

	// Of a Foot: where it connects to.
	Listener *peer.Listener
}

// terms are what a Brain tells in its welcome; a rule may want others than usual.
type terms struct {
	chunkSize, maxFrameSize, maxUpload, maxDownload int64
	phaseTimeout, pingInterval                      time.Duration
}

func usualTerms() terms {
	return terms{chunkSize: 64 << 10, maxFrameSize: 4 << 20, maxUpload: 100 << 20, maxDownload: 100 << 20,
		phaseTimeout: 30 * time.Second, pingInterval: 20 * time.Second}
}

// subject is the peer under test with the connection that is in use.
type subject struct {
	Options
	ctx      context.Context
	conn     *peer.Conn
	terms    terms // that the Foot was welcomed with
	agent    *peer.Agent
	dir      string // the RootDir in use at the Brain
	files    int    // counts names, so that no rule meets another's files
	pace     pace
	hasLarge bool // a large file is there
}

// connect makes sure of a connection with these features offered or in force.
func (s *subject) connect(features []string, t terms) error {
	want := frames.ParseFeatures(features)
	if s.conn != nil && s.conn.Alive() && s.conn.Features() == want && (s.Role == Brain || s.terms == t) {
		return nil
	}
	s.disconnect()
	if s.Role == Brain {
		return s.dial(features, want)
	}
	// A Foot's connection may have died while it waited to be taken.
	for deadline := time.Now().Add(s.Reconnect); ; {
		err := s.take(features, t)
		if err == nil || s.conn == nil || s.conn.Alive() || time.Now().After(deadline) {
			return err
		}
		s.conn = nil
	}
}

// dial connects to a Brain.
func (s *subject) dial(features []string, want frames.FeatureSet) error {
	conn, err := s.open()
	if err != nil {
		return err
	}
	s.conn = conn
	if err := conn.Send(peer.NewHello(features)); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	w, err := conn.AwaitWelcome(s.Patience)
	if err != nil {
		return err
	}
	if got := frames.ParseFeatures(w.Features); got != want {
		return &missingFeaturesError{(want &^ got).Names()}
	}
	return nil
}

// take takes the next connection of a Foot.
func (s *subject) take(features []string, t terms) error {
	conn, err := s.open()
	if err != nil {
		return err
	}
	s.conn, s.terms = conn, t
	hello, err := conn.AwaitHello(s.Patience)
	if err != nil {
		return err
	}
	for _, f := range features {
		if !slices.Contains(hello.Features, f) {
			return &missingFeaturesError{[]string{f}}
		}
	}
	if err := s.welcome(features); err != nil {
		return err
	}
	if err := conn.Barrier(s.Patience); !errors.Is(err, peer.ErrNone) {
		return err
	}
	return nil // that pings are answered is a rule of its own
}

// welcome answers a Foot's hello.
func (s *subject) welcome(features []string) error {
	s.conn.SetFeatures(frames.ParseFeatures(features))
	return s.conn.Send(s.newWelcome(features))
}

func (s *subject) newWelcome(features []string) *frames.Welcome {
	footID := s.conn.Hello.FootID
	if footID == "" {
		footID = "laptop"
	}
	if features == nil {
		features = []string{}
	}
	return &frames.Welcome{ProtocolVersion: 1, ConnectionID: uuid.Must(uuid.NewV7()), Tenant: s.Listener.Tenant,
		ProjectID: "conformance", FootID: footID, Features: features, Settings: frames.WelcomeSettings{
			ChunkSize: s.terms.chunkSize, MaxFrameSize: s.terms.maxFrameSize,
			PhaseTimeoutMs: s.terms.phaseTimeout.Milliseconds(), PingIntervalMs: s.terms.pingInterval.Milliseconds(),
			MaxUploadSize: s.terms.maxUpload, MaxDownloadSize: s.terms.maxDownload}}
}

// open makes a connection on which no frame was sent yet.
func (s *subject) open() (*peer.Conn, error) {
	if s.Role == Brain {
		return peer.Dial(s.ctx, peer.Request{URL: peer.WebSocketURL(s.TenantURL), Token: s.FootToken})
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.Reconnect)
	defer cancel()
	c, err := s.Listener.Accept(ctx)
	if err != nil {
		return nil, &unreachableError{err}
	}
	return c, nil
}

// disconnect ends the connection in use.
func (s *subject) disconnect() {
	if s.conn == nil {
		return
	}
	if s.conn.Alive() {
		s.conn.Close(1001, "conformance")
	}
	s.conn = nil
}

// unreachableError is a peer that is not there.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string { return e.err.Error() }
func (e *unreachableError) Unwrap() error { return e.err }

// missingFeaturesError is a peer that does not know extensions.
type missingFeaturesError struct{ names []string }

func (e *missingFeaturesError) Error() string {
	return fmt.Sprintf("the peer does not do %q", e.names)
}

// prepare makes what all rules of a Brain need: an agent's session and a RootDir.
func (s *subject) prepare() error {
	if s.Role == Foot {
		return nil
	}
	agent, err := peer.ConnectAgent(s.ctx, s.MCPURL, s.AgentToken)
	if err != nil {
		return &unreachableError{fmt.Errorf("the Brain's MCP: %w", err)}
	}
	s.agent = agent
	if s.dir = s.DirName; s.dir != "" {
		return nil
	}
	made, err := agent.Call(s.ctx, "workspace_create_ephemeral_dir", map[string]any{})
	if err == nil && !made.OK {
		err = errors.New(made.String())
	}
	if err != nil {
		return fmt.Errorf("no RootDir could be made, give one with --dir: %w", err)
	}
	s.dir = made.DirName
	return nil
}

// finish leaves nothing behind.
func (s *subject) finish() {
	s.disconnect()
	if s.agent == nil {
		return
	}
	if s.DirName == "" && s.dir != "" {
		// The Brain removes it in time if this fails.
		_, _ = s.agent.Call(s.ctx, "workspace_close_dir", map[string]any{"dirName": s.dir})
	}
	s.agent.Close()
}

// newPath is a name that no rule used before.
func (s *subject) newPath() string {
	s.files++
	return fmt.Sprintf("conformance/%d.bin", s.files)
}

// pace keeps below the number of error frames that a peer sends in a second: it
// drops what is more.
type pace struct{ sent []time.Time }

// errorsASecond is well below the 50 that a peer may send.
const errorsASecond = 36

// wait waits until one more error may be asked for.
func (p *pace) wait(ctx context.Context) {
	now := time.Now()
	for len(p.sent) > 0 && now.Sub(p.sent[0]) > 1100*time.Millisecond {
		p.sent = p.sent[1:]
	}
	if len(p.sent) >= errorsASecond {
		timer := time.NewTimer(p.sent[0].Add(1100 * time.Millisecond).Sub(now))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		p.sent = p.sent[1:]
	}
	p.sent = append(p.sent, time.Now())
}

// Package hub owns the connected Feet: it lets them in at /brain/{tenant}/ws,
// knows who is connected since when, gives a call to the one it is meant for,
// and moves single files between a Foot and a RootDir.
//
// Who a Foot is comes from its token alone. The hub refuses frames of transfers
// that it did not ask for, and it touches no file but through the workspace.
package hub

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/wire"
)

// farewell is how long a drained hub waits for the ends of its connections.
const farewell = 400 * time.Millisecond

// Identity is who a Foot is, by its token.
type Identity struct {
	TokenID string
	Project workspace.Project
	Name    string
}

// Config is what a hub needs. Sizes and times are those of the settings.
type Config struct {
	Workspace *workspace.Manager
	// Authenticate returns whose token came with the request for a tenant's
	// WebSocket: unauthorized when it is missing or no good, access_denied when
	// it is of another tenant or of a role other than foot.
	Authenticate func(r *http.Request, tenant string) (Identity, error)
	// Follow has end called once the token is no longer good, with the reason
	// that the Foot is closed with. Nil: tokens are good for ever.
	Follow func(tokenID string, end func(reason string)) (release func())

	ChunkSize       int64
	MaxFrameSize    int64
	MaxUploadSize   int64
	MaxDownloadSize int64
	PhaseTimeout    time.Duration
	ConfirmTimeout  time.Duration // 0 means 5 min
	PingInterval    time.Duration
	CleanupInterval time.Duration
	// MaxConcurrent is how many transfers of one Foot run at once; more wait.
	// 0 means 16.
	MaxConcurrent int

	// OnEnded hears of each transfer that is over, on the goroutine of its call,
	// and OnConnection of each Foot that asked to be let in, with why not. Both may
	// be nil.
	OnEnded      func(Ended)
	OnConnection func(error)

	Log *slog.Logger
	// Tap sees every text message of every connection; for recordings in tests.
	Tap func(d wire.Direction, message []byte)
}

// Hub is the Feet of all projects.
type Hub struct {
	cfg    Config
	log    *slog.Logger
	ledger *ledger

	handshakes handshakes

	mu       sync.Mutex
	feet     map[workspace.Project]map[string]*foot // the current connection of each name
	all      map[*foot]struct{}                     // replaced ones too, until they are gone
	draining bool
	served   sync.WaitGroup
}

// New returns a hub without Feet.
func New(cfg Config) *Hub {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Follow == nil {
		cfg.Follow = func(string, func(string)) func() { return func() {} }
	}
	if cfg.OnConnection == nil {
		cfg.OnConnection = func(error) {}
	}
	if cfg.MaxConcurrent == 0 {
		cfg.MaxConcurrent = 16
	}
	return &Hub{
		cfg:    cfg,
		log:    cfg.Log,
		ledger: newLedger(),

		handshakes: handshakes{log: cfg.Log},

		feet: make(map[workspace.Project]map[string]*foot),
		all:  make(map[*foot]struct{}),
	}
}

// Transfers tells the running and recently ended transfers of a project, the
// latest first.
func (h *Hub) Transfers(p workspace.Project) []common.TransferStatus { return h.ledger.list(p) }

// register makes f the current connection of its name, before the Foot is
// welcomed: once it knows that it is connected, calls must find it. The newcomer
// always wins, as the older socket is usually dead.
func (h *Hub) register(f *foot) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return fault.New(common.ErrorCodeDraining)
	}
	byName := h.feet[f.id.Project]
	if byName == nil {
		byName = make(map[string]*foot)
		h.feet[f.id.Project] = byName
	}
	if older := byName[f.id.Name]; older != nil {
		older.log.Info("Foot replaced by a newer connection")
		go older.end(wire.ClosePolicy, wire.ReasonReplaced)
	}
	byName[f.id.Name] = f
	h.all[f] = struct{}{}
	h.served.Add(1)
	return nil
}

// unregister forgets a connection that has ended.
func (h *Hub) unregister(f *foot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, f)
	h.served.Done()
	byName := h.feet[f.id.Project]
	if byName[f.id.Name] != f {
		return // a newer one has its place
	}
	delete(byName, f.id.Name)
	if len(byName) == 0 {
		delete(h.feet, f.id.Project)
	}
}

// Drain refuses new connections and calls, lets running transfers end until ctx
// is done, cancels the rest and closes all connections with 1012.
func (h *Hub) Drain(ctx context.Context) {
	h.mu.Lock()
	h.draining = true
	feet := make([]*foot, 0, len(h.all))
	for f := range h.all {
		feet = append(feet, f)
	}
	h.mu.Unlock()
	var ended sync.WaitGroup
	for _, f := range feet {
		ended.Go(func() {
			f.slots.close(fault.New(common.ErrorCodeDraining))
			if f.joined() {
				f.session.Drain(ctx, "the Brain is stopping")
			}
			f.end(wire.CloseRestart, "draining")
		})
	}
	ended.Wait()
	h.awaitServed()
}

// awaitServed gives the peers a moment to answer their close frames.
func (h *Hub) awaitServed() {
	over := make(chan struct{})
	go func() {
		h.served.Wait()
		close(over)
	}()
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
	}
}

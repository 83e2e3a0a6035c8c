package hub

import (
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/brain/refuse"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/transfer"
	"github.com/vancetope/transfer/internal/version"
	"github.com/vancetope/transfer/internal/wire"
)

// ServeHTTP is the endpoint /brain/{tenant}/ws: it lets a Foot in and serves its
// connection until it ends.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, err := h.admit(r)
	var shaken func()
	if err == nil {
		shaken, err = h.handshakes.begin(id.TokenID)
	}
	if err != nil {
		h.cfg.OnConnection(err)
		refuse.With(w, err)
		return
	}
	defer shaken()
	h.serve(w, r, id, shaken)
}

// admit makes the checks that come before the upgrade, in the order of the
// protocol: path, token, subprotocol.
func (h *Hub) admit(r *http.Request) (Identity, error) {
	tenant := r.PathValue("tenant")
	if rootfs.CheckSegment("tenant", tenant) != nil {
		return Identity{}, fault.Newf(common.ErrorCodeNotFound, "no such path")
	}
	id, err := h.cfg.Authenticate(r, tenant)
	if err != nil {
		return Identity{}, err
	}
	if id.Project.Tenant != tenant {
		return Identity{}, fault.Newf(common.ErrorCodeAccessDenied, "the token is of another tenant")
	}
	if h.isDraining() {
		return Identity{}, fault.New(common.ErrorCodeDraining)
	}
	if !websocket.IsWebSocketUpgrade(r) {
		return Identity{}, fault.Texted(common.ErrorCodeHandshakeFailed, "expected a WebSocket upgrade")
	}
	if !wire.HasSubprotocol(r) {
		return Identity{}, fault.Texted(common.ErrorCodeHandshakeFailed, "expected the subprotocol "+wire.Subprotocol)
	}
	return id, nil
}

func (h *Hub) isDraining() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draining
}

// serve goes through the handshake, says when it is over, and then serves the
// connection.
func (h *Hub) serve(w http.ResponseWriter, r *http.Request, id Identity, shaken func()) {
	connection := uuid.New()
	log := h.log.With("tenant", id.Project.Tenant, "project", id.Project.ProjectID, "foot", id.Name, "connection", connection)
	var f *foot
	conn, _, err := wire.AcceptConn(r.Context(), w, r, h.wireConfig(), func(hello *frames.Hello) (*frames.Welcome, *wire.Refusal) {
		if hello.FootID != "" && hello.FootID != id.Name {
			return nil, &wire.Refusal{Err: fault.Newf(common.ErrorCodeIdentityMismatch, "the token is of another footId")}
		}
		features := frames.ParseFeatures(hello.Features) & transfer.Features
		newcomer := &foot{id: id, told: describe(id, hello, features), features: features, log: log,
			slots: newSlots(h.cfg.MaxConcurrent), reports: wire.Reports(), ready: make(chan struct{})}
		if err := h.register(newcomer); err != nil {
			return nil, &wire.Refusal{Err: fault.From(err), CloseCode: wire.CloseRestart}
		}
		f = newcomer
		return h.welcome(connection, id, features), nil
	})
	shaken()
	h.cfg.OnConnection(err)
	if f != nil {
		defer h.unregister(f)
		if err == nil {
			conn.SetFeatures(f.features)
			f.conn, f.session = conn, transfer.NewSession(conn, h.transferConfig(log, f.features))
		}
		close(f.ready)
	}
	if err != nil {
		log.Info("handshake failed", "err", err)
		return
	}
	defer h.cfg.Follow(id.TokenID, func(reason string) { f.end(wire.ClosePolicy, reason) })()
	log.Info("Foot connected", "os", f.told.Os, "clientVersion", safetext.Escape(f.told.ClientVersion))
	f.serve()
}

func (h *Hub) wireConfig() wire.Config {
	return wire.Config{
		MaxFrameSize: h.cfg.MaxFrameSize,
		PhaseTimeout: h.cfg.PhaseTimeout,
		PingInterval: h.cfg.PingInterval,
		Log:          h.log,
		Tap:          h.cfg.Tap,
	}
}

func (h *Hub) welcome(connection uuid.UUID, id Identity, features frames.FeatureSet) *frames.Welcome {
	return &frames.Welcome{
		ProtocolVersion: version.Protocol,
		ConnectionID:    connection,
		Tenant:          id.Project.Tenant,
		ProjectID:       id.Project.ProjectID,
		FootID:          id.Name,
		Features:        features.Names(),
		Settings: frames.WelcomeSettings{
			ChunkSize:       h.cfg.ChunkSize,
			MaxFrameSize:    h.cfg.MaxFrameSize,
			PhaseTimeoutMs:  h.cfg.PhaseTimeout.Milliseconds(),
			PingIntervalMs:  h.cfg.PingInterval.Milliseconds(),
			MaxUploadSize:   h.cfg.MaxUploadSize,
			MaxDownloadSize: h.cfg.MaxDownloadSize,
		},
	}
}

func describe(id Identity, hello *frames.Hello, features frames.FeatureSet) common.ConnectedFoot {
	return common.ConnectedFoot{
		Name:          id.Name,
		Os:            hello.Os,
		Access:        hello.Access,
		Grants:        hello.Grants,
		ClientVersion: hello.ClientVersion,
		Features:      features.Names(),
		Since:         time.Now().UTC(),
	}
}

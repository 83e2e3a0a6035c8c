package hub

import (
	"log/slog"
	"sync"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// How many connections may be between their upgrade and their hello. Each costs a
// goroutine and buffers for up to two phase timeouts, so a peer that opens many
// and says nothing must not be able to hold them all.
const (
	maxHandshakesOfToken = 16
	maxHandshakes        = 256
)

// handshakes counts the connections that have not said hello.
type handshakes struct {
	log *slog.Logger

	mu      sync.Mutex
	all     int
	ofToken map[string]int
	full    bool // the limit was logged and has not been left since
}

// begin takes a place for a handshake with a token, which end gives back.
func (h *handshakes) begin(tokenID string) (end func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all >= maxHandshakes || h.ofToken[tokenID] >= maxHandshakesOfToken {
		if !h.full {
			h.full = true
			h.log.Warn("too many connections that say no hello: more are refused", "all", h.all, "ofToken", h.ofToken[tokenID], "token", tokenID)
		}
		return nil, fault.Newf(common.ErrorCodeLimit, "too many connections that say no hello")
	}
	if h.ofToken == nil {
		h.ofToken = make(map[string]int)
	}
	h.all++
	h.ofToken[tokenID]++
	return sync.OnceFunc(func() { h.end(tokenID) }), nil
}

func (h *handshakes) end(tokenID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all--
	if h.ofToken[tokenID]--; h.ofToken[tokenID] == 0 {
		delete(h.ofToken, tokenID)
	}
	if h.all == 0 {
		h.full = false
	}
}

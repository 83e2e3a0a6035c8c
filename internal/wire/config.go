package wire

import (
	"log/slog"
	"time"
)

// Subprotocol is the WebSocket subprotocol of the frames.
const Subprotocol = "vancetope.v1"

// MaxControlFrame is the size above which a control frame is not sent.
const MaxControlFrame = 64 << 10

// The values of a zero Config.
const (
	DefaultMaxFrameSize = 4 << 20
	DefaultPhaseTimeout = 30 * time.Second
	DefaultPingInterval = 20 * time.Second
)

// Direction says which way a recorded message went.
type Direction uint8

const (
	Sent Direction = iota
	Received
)

func (d Direction) String() string {
	if d == Sent {
		return "sent"
	}
	return "received"
}

// Config is what both sides of a connection can set. The zero value works.
type Config struct {
	// MaxFrameSize is the largest message this side accepts. A peer that sends
	// more is closed with 1009.
	MaxFrameSize int64
	// PhaseTimeout bounds the upgrade and, after it, the handshake.
	PhaseTimeout time.Duration
	// PingInterval is the time between two pings. A peer is dead after two
	// intervals in which it sent nothing and took nothing, and also when it took
	// nothing for two intervals and a phase timeout, whatever it sent.
	PingInterval time.Duration
	// Log receives what an operator should know. Tokens never reach it.
	Log *slog.Logger
	// Tap sees every text message, the handshake's included, as it travels: a
	// received one before it is decoded, a sent one as its writing begins. It is
	// called on the reading and on the writing goroutine, and the bytes are only
	// valid during the call.
	Tap func(d Direction, message []byte)
}

func (c Config) withDefaults() Config {
	if c.MaxFrameSize <= 0 {
		c.MaxFrameSize = DefaultMaxFrameSize
	}
	if c.PhaseTimeout <= 0 {
		c.PhaseTimeout = DefaultPhaseTimeout
	}
	if c.PingInterval <= 0 {
		c.PingInterval = DefaultPingInterval
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// stall is how long a peer that goes on sending may take nothing. It is longer
// than silence may last, since a receiver holds its reader while its disk is slow,
// and a phase is what that may take.
func (c Config) stall() time.Duration { return 2*c.PingInterval + c.PhaseTimeout }

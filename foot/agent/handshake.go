package agent

import (
	"context"
	"encoding/base64"
	"fmt"
	"runtime"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/settings"
	"github.com/vancetope/transfer/internal/transfer"
	"github.com/vancetope/transfer/internal/version"
	"github.com/vancetope/transfer/internal/wire"
)

// dial connects and shakes hands.
func (a *Agent) dial(ctx context.Context) (*wire.Conn, *frames.Welcome, error) {
	t := a.Settings.Transfer
	return wire.Dial(ctx, wire.DialConfig{
		URL:    a.Brain,
		Tenant: a.Tenant,
		Token:  a.Token,
		Hello:  a.hello(),
		TLS:    a.TLS,
		Config: wire.Config{
			MaxFrameSize: t.MaxFrameSize,
			PhaseTimeout: t.PhaseTimeout,
			PingInterval: t.PingInterval,
			Log:          a.Log,
		},
	})
}

// hello says what this Foot is. It knows its name from the welcome only: a
// Foot holds nothing but the token.
func (a *Agent) hello() *frames.Hello {
	return &frames.Hello{
		ProtocolVersion: version.Protocol,
		ClientVersion:   version.String(),
		Os:              system(),
		Access:          a.Sandbox.Access(),
		Grants:          a.Sandbox.Grants(),
		Features:        transfer.Features.Names(),
	}
}

func system() common.Os {
	switch runtime.GOOS {
	case "windows":
		return common.OsWindows
	case "darwin":
		return common.OsDarwin
	}
	return common.OsLinux // for the Brain, every other Unix is like it
}

// terms are what both sides have agreed to on a connection.
type terms struct {
	chunkSize              int
	phaseTimeout           time.Duration
	maxUpload, maxDownload int64
	cleanupInterval        time.Duration
}

// frameSlack is what a chunk's frame needs beside the base64 of its data.
const frameSlack = 1 << 10

// agree takes the Brain's chunk size and phase timeout unless our own are
// stricter, and keeps a chunk's frame below what the Brain reads.
//
// What the Brain sends cannot be made smaller from here: hello has no field for
// it. A Foot whose frames cannot hold it says so, or every download would end the
// connection.
func agree(own settings.Transfer, brain frames.WelcomeSettings) (terms, error) {
	need := int64(base64.StdEncoding.EncodedLen(int(min(brain.ChunkSize, own.MaxFrameSize)))) + frameSlack
	if need > own.MaxFrameSize {
		return terms{}, fmt.Errorf("%w: the Brain sends chunks of %s, and this Foot reads messages of at most %s: "+
			"raise vance.transfer.max-frame-size here to twice the chunks, or lower vance.transfer.chunk-size at the Brain",
			ErrConfiguration, settings.FormatSize(brain.ChunkSize), settings.FormatSize(own.MaxFrameSize))
	}
	t := terms{
		phaseTimeout:    stricter(own.PhaseTimeout, time.Duration(brain.PhaseTimeoutMs)*time.Millisecond),
		maxUpload:       min(own.MaxUploadSize, brain.MaxUploadSize),
		maxDownload:     own.MaxDownloadSize,
		cleanupInterval: own.CleanupInterval,
	}
	fits := int64(base64.StdEncoding.DecodedLen(int(max(brain.MaxFrameSize-frameSlack, 0)) / 4 * 4))
	chunk := min(stricter(own.ChunkSize, brain.ChunkSize), fits)
	if chunk < 1 {
		return terms{}, fmt.Errorf("the Brain reads frames of at most %d bytes, which hold no chunk", brain.MaxFrameSize)
	}
	t.chunkSize = int(chunk)
	return t, nil
}

// stricter is the smaller of two limits, where a Brain that sends none has none.
func stricter[T int64 | time.Duration](own, brain T) T {
	if brain <= 0 {
		return own
	}
	return min(own, brain)
}

// inForce are the extensions of a welcome that this Foot has offered: a Brain
// cannot want others.
func inForce(w *frames.Welcome) frames.FeatureSet {
	return frames.ParseFeatures(w.Features) & transfer.Features
}

package hub

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/transfer"
	"github.com/vancetope/transfer/internal/wire"
)

// foot is one connection of a Foot. The session embedded in it takes the frames
// of transfers.
type foot struct {
	id   Identity
	told common.ConnectedFoot
	// features are the extensions in force.
	features frames.FeatureSet
	log      *slog.Logger
	// slots bound the transfers that run at once.
	slots *slots
	// reports is the pace at which its error frames are logged.
	reports *rate.Sometimes

	// ready is closed when the handshake is over, well or not. Then conn and
	// session are set, or stay nil.
	ready chan struct{}
	conn  *wire.Conn
	*session
}

// joined waits for the end of the handshake and reports whether it went well.
func (f *foot) joined() bool {
	<-f.ready
	return f.conn != nil
}

// end closes the connection.
func (f *foot) end(code int, reason string) {
	if f.joined() {
		f.conn.Close(code, reason)
	}
}

// session gives the embedded methods of transfer.Session a shorter name.
type session = transfer.Session

// permit refuses what the Foot would refuse anyway, before a frame is sent. Of an
// absolute path only the Foot knows in which folder it lies.
func (f *foot) permit(d transfer.Direction, localPath string) error {
	access := f.told.Access
	if name, _, ok := rootfs.SplitGrant(localPath); ok {
		i := slices.IndexFunc(f.told.Grants, func(g common.Grant) bool { return g.Name == name })
		if i < 0 {
			return fault.Newf(common.ErrorCodeNotFound, "this machine has no granted folder %s; it has %s", safetext.Quote("@"+name), f.granted())
		}
		if f.told.Grants[i].Access == common.AccessRead {
			access = common.AccessRead
		}
	}
	if d == transfer.Download && access != common.AccessEdit {
		return fault.Newf(common.ErrorCodeAccessDenied, "the person lets this machine be read only")
	}
	return nil
}

// granted lists the granted folders for people.
func (f *foot) granted() string {
	if len(f.told.Grants) == 0 {
		return "none"
	}
	names := make([]string, len(f.told.Grants))
	for i, g := range f.told.Grants {
		names[i] = "@" + g.Name
	}
	return strings.Join(names, ", ")
}

// foot takes every frame that a Brain can receive.
var (
	_ frames.BrainHandler = (*foot)(nil)
	_ wire.Handler        = (*foot)(nil)
)

// Handle takes a frame from the reading goroutine.
func (f *foot) Handle(frame frames.Frame) error { return frames.DispatchToBrain(f, frame) }

// HandleHello refuses a second hello.
func (f *foot) HandleHello(*frames.Hello) error {
	return fault.Newf(common.ErrorCodeUnexpectedFrame, "hello was said already")
}

// HandleErrorFrame notes what the Foot could not use. It has no effect: the
// timers of the transfer decide.
func (f *foot) HandleErrorFrame(e *frames.ErrorFrame) error {
	f.reports.Do(func() {
		f.log.Warn("Foot reports a frame it could not use", "code", safetext.Escape(string(e.Code)), "message", safetext.Escape(e.Message))
	})
	return nil
}

// serve reads until the connection is over. Its transfers end as soon as frames
// no longer travel, not only when the peer has said goodbye.
func (f *foot) serve() {
	go func() {
		<-f.conn.Done()
		why := fault.From(f.conn.Err())
		f.slots.close(why)
		f.session.Close(why)
	}()
	err := f.conn.Serve(context.Background(), f)
	f.log.Info("Foot disconnected", "reason", err)
}

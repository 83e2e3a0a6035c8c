// Package transfer moves one file over a connection, as its sender or as its
// receiver, and keeps the table of all transfers of that connection.
//
// It owns the life of a transfer: the order of its frames, its timers, its
// failures, and the promise that a target is either the old file or the whole,
// verified new one. It refuses to know where files lie (it is given an open
// Source and a Staging), who is connected (it is given a Link), and what a tool
// or a user wanted beyond one file.
//
// The rules are in sender.go and receiver.go: pure steps, event in, state and
// effects out. What they ask for is done by run.go, run_sender.go and
// run_receiver.go. Session routes frames to them.
package transfer

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// Link is the connection as a transfer needs it.
type Link interface {
	// SendControl queues a control frame and never waits for the network.
	SendControl(f frames.Frame) error
	// SendData queues a data frame of a stream, waiting until the stream's place
	// in the queue is free. When it returns, f may be used again.
	SendData(ctx context.Context, stream uuid.UUID, f frames.Frame) error
	// DropData forgets what a stream has queued and not sent.
	DropData(stream uuid.UUID)
}

// Source is one open regular file. It is hashed and streamed from the same
// open file.
type Source interface {
	io.ReaderAt
	io.Closer
	Size() int64
	Mode() fs.FileMode
	ModTime() time.Time
	// CheckUnchanged fails with source_changed when the file is no longer the
	// one that was opened.
	CheckUnchanged() error
}

// Staging is a hidden file that becomes the target when it is published.
// Discard does nothing after a successful Publish and may be called twice.
type Staging interface {
	io.Writer
	// Publish makes the written bytes the target, durably, and returns the path
	// relative to its root. It must not publish once ctx is done.
	Publish(ctx context.Context) (path string, err error)
	Discard() error
}

// Role is the side of the connection that a session is on.
type Role uint8

const (
	Brain Role = iota
	Foot
)

// Config is what all transfers of a connection share.
type Config struct {
	Role Role
	// ChunkSize is how many raw bytes a sent chunk holds. The caller keeps it
	// below what one frame of the peer can hold.
	ChunkSize int
	// MaxSendSize and MaxReceiveSize are the largest files, checked before
	// anything is hashed. 0 allows empty files only.
	MaxSendSize, MaxReceiveSize int64
	// Features are the extensions in force, a part of the package's Features.
	Features frames.FeatureSet
	// PhaseTimeout is how long a phase may last without progress.
	PhaseTimeout time.Duration
	// ConfirmTimeout is how long a Foot's people may take to approve. Brain's.
	ConfirmTimeout time.Duration
	// CleanupInterval is how long the id of an ended transfer is remembered.
	CleanupInterval time.Duration
	// Accept opens the place for a transfer_init that nobody here asked for. It
	// runs on the transfer's own goroutine. nil, as at Brain, refuses them all as
	// unknown_transfer.
	Accept func(ctx context.Context, init *frames.TransferInit) (*Incoming, error)
	// Serve opens the file that an upload request asks for. It runs on the
	// transfer's own goroutine. Foot's; nil refuses them all as unsupported.
	Serve func(ctx context.Context, req *frames.ClientFileUploadRequest) (*Outgoing, error)
	// OnEvent hears of every change of state, and of progress at most four times
	// a second. It is called in order for each transfer, before the transfer's
	// result is returned, with the transfer locked: it must not block, and must
	// not call the session.
	OnEvent func(Event)
	// Release takes back the memory of a received chunk. May be nil.
	Release func([]byte)
	// Log hears of what no peer is told. May be nil.
	Log *slog.Logger
}

// Incoming is the place of a file that is being received.
type Incoming struct {
	// Staging is the open place, nil where a person has to approve first.
	Staging Staging
	// Ask, if set, returns nil once a person has approved. No phase's time runs
	// meanwhile, and nothing was written. Only then Stage opens the place. Both
	// run on the transfer's own goroutine; Ask has to bound its time by itself.
	Ask   func(ctx context.Context) error
	Stage func(ctx context.Context) (Staging, error)
	// Path names the target in events, relative to its root; "" for the target
	// as the peer named it.
	Path string
	// Release, if set, is called once when the staging is published or gone: it
	// gives back the hold on the target.
	Release func()
}

// Outgoing is a file that is being sent.
type Outgoing struct {
	Source Source
	// Name tells the receiver what the file was called: its base name or its
	// root-relative path, never an absolute one.
	Name string
	// Ask, if set, returns nil once a person has approved; nothing is read
	// before. As Incoming's.
	Ask func(ctx context.Context) error
	// Release, if set, is called once after the source is closed.
	Release func()
}

// SendRequest asks for one file to be sent.
type SendRequest struct {
	ID uuid.UUID
	// Target is the path at the receiver; DirName only where Brain receives.
	Target  string
	DirName string
	// Attrs win field by field over those of the file.
	Attrs *common.FileAttrs
	// OnExisting is what the receiver does about a target that exists; "" is
	// replace. Anything else takes the feature on-existing.
	OnExisting common.OnExisting
	// Path names the file in events, relative to its root.
	Path string
	// Open opens the file. It runs on the transfer's own goroutine.
	Open func(ctx context.Context) (*Outgoing, error)
}

// ReceiveRequest asks the peer for one file (Brain's upload).
type ReceiveRequest struct {
	ID uuid.UUID
	// LocalPath is the file at the Foot.
	LocalPath string
	// DirName and RemotePath are the only place to which the file may go.
	DirName    string
	RemotePath string
	// Attrs win field by field over those the Foot read from the file.
	Attrs *common.FileAttrs
	// Open opens the place. init names the wanted place and has the merged
	// attributes. It runs on the transfer's own goroutine.
	Open func(ctx context.Context, init *frames.TransferInit) (*Incoming, error)
}

// Result is a transfer that succeeded.
type Result struct {
	ID           uuid.UUID
	BytesWritten int64
	Hash         string
	// Path is the target, relative to the receiver's root.
	Path string
}

// Direction says which way a file goes.
type Direction string

const (
	Upload   Direction = "upload"   // Foot to Brain
	Download Direction = "download" // Brain to Foot
)

// State is a transfer's state as people see it.
type State string

const (
	StateQueued    State = "queued"
	StateApproval  State = "waiting_for_approval"
	StateHashing   State = "hashing"
	StateStreaming State = "streaming"
	StateVerifying State = "verifying"
	StateComplete  State = "complete"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
)

// Event is a transfer at one moment.
type Event struct {
	ID        uuid.UUID
	Direction Direction
	// Path is the file at this side, relative to its root; DirName its RootDir
	// where this side is Brain and receives.
	Path       string
	DirName    string
	State      State
	Bytes      int64
	TotalBytes int64 // 0 until it is known
	StartedAt  time.Time
	// Err is why it failed, when State is failed or cancelled.
	Err *fault.Error
}

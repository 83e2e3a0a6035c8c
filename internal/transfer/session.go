package transfer

import (
	"context"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// Session is all transfers of one connection.
type Session struct {
	link Link
	cfg  Config
}

// NewSession returns the session of a connection.
func NewSession(link Link, cfg Config) *Session { return &Session{link: link, cfg: cfg} }

// Send sends a file and returns when the receiver has published it, or with a
// *fault.Error. When ctx ends the transfer is cancelled: with the cause of ctx
// when that is a fault, else as cancelled.
func (s *Session) Send(ctx context.Context, req SendRequest) (Result, error) {
	return Result{}, fault.New(common.ErrorCodeUnsupported)
}

// Receive asks the peer for a file and returns when it is published here, or
// with a *fault.Error.
func (s *Session) Receive(ctx context.Context, req ReceiveRequest) (Result, error) {
	return Result{}, fault.New(common.ErrorCodeUnsupported)
}

// HandleTransferInit and its sisters take the frames of the connection's
// reading goroutine. An error is a *fault.Error that goes to the peer as an
// error frame.
func (s *Session) HandleTransferInit(f *frames.TransferInit) error                 { return nil }
func (s *Session) HandleTransferInitResponse(f *frames.TransferInitResponse) error { return nil }

// HandleTransferChunk owns f.Bytes from now on. It blocks while the session
// holds too many unwritten bytes.
func (s *Session) HandleTransferChunk(f *frames.TransferChunk) error       { return nil }
func (s *Session) HandleTransferComplete(f *frames.TransferComplete) error { return nil }
func (s *Session) HandleTransferFinish(f *frames.TransferFinish) error     { return nil }
func (s *Session) HandleClientFileUploadRequest(f *frames.ClientFileUploadRequest) error {
	return nil
}

// HandleInvalid takes a message that broke its schema. False: the caller
// answers with an error frame.
func (s *Session) HandleInvalid(e *frames.DecodeError) (answered bool) { return false }

// Cancel ends a transfer with its normal failing answer. False: there is none
// of that id.
func (s *Session) Cancel(id uuid.UUID, cause *fault.Error) bool { return false }

// Drain refuses new transfers, waits for the running ones until ctx is done,
// and then cancels the rest.
func (s *Session) Drain(ctx context.Context) {}

// Len returns how many transfers the session holds.
func (s *Session) Len() int { return 0 }

// Close ends every transfer at once, without a frame: the connection is gone.
// cause is what their callers get; nil means connection_lost.
func (s *Session) Close(cause *fault.Error) {}

// Wait returns when no goroutine of the session runs any more, or ctx is done.
func (s *Session) Wait(ctx context.Context) error { return nil }

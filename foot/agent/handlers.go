package agent

import (
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

// The frames that a Foot takes, one method each. All but two are the session's.
var _ frames.FootHandler = (*connection)(nil)

// Handle takes a frame on the reading goroutine.
func (c *connection) Handle(f frames.Frame) error { return frames.DispatchToFoot(c, f) }

// HandleInvalid takes a message that is no valid frame.
func (c *connection) HandleInvalid(e *frames.DecodeError) (answered bool) {
	return c.session.HandleInvalid(e)
}

// HandleWelcome refuses a second welcome: the first one was the handshake's.
func (c *connection) HandleWelcome(*frames.Welcome) error {
	return fault.Newf(common.ErrorCodeUnexpectedFrame, "the handshake is over")
}

// HandleErrorFrame only keeps what the Brain could not use: an error frame ends
// nothing, and answering it could go on for ever.
func (c *connection) HandleErrorFrame(f *frames.ErrorFrame) error {
	c.reports.Do(func() {
		c.log.Warn("the Brain could not use a frame", "code", f.Code, "message", safetext.Escape(f.Message), "transfer", f.TransferID)
	})
	return nil
}

func (c *connection) HandleClientFileUploadRequest(f *frames.ClientFileUploadRequest) error {
	return c.session.HandleClientFileUploadRequest(f)
}

func (c *connection) HandleTransferInit(f *frames.TransferInit) error {
	return c.session.HandleTransferInit(f)
}

func (c *connection) HandleTransferInitResponse(f *frames.TransferInitResponse) error {
	return c.session.HandleTransferInitResponse(f)
}

func (c *connection) HandleTransferChunk(f *frames.TransferChunk) error {
	return c.session.HandleTransferChunk(f)
}

func (c *connection) HandleTransferComplete(f *frames.TransferComplete) error {
	return c.session.HandleTransferComplete(f)
}

func (c *connection) HandleTransferFinish(f *frames.TransferFinish) error {
	return c.session.HandleTransferFinish(f)
}

func (c *connection) HandleTransferProgress(f *frames.TransferProgress) error {
	return c.session.HandleTransferProgress(f)
}

func (c *connection) HandleTransferCancel(f *frames.TransferCancel) error {
	return c.session.HandleTransferCancel(f)
}

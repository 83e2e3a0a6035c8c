package transfer

import (
	"strings"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

// maxPeerText bounds how much of a peer's error text is passed on.
const maxPeerText = 512

// specTexts gives the code that belongs to an error text of a peer that sends
// texts only. The base protocol knows no codes.
var specTexts = []struct {
	text string
	code common.ErrorCode
}{
	{"path escapes project sandbox: symlink not allowed", common.ErrorCodeSymlinkNotAllowed},
	{"path escapes project sandbox", common.ErrorCodePathEscapesSandbox},
	{"exceeds size limit", common.ErrorCodeSizeLimit},
	{"exceeds declared totalSize", common.ErrorCodeSizeExceeded},
	{"size mismatch", common.ErrorCodeSizeMismatch},
	{"hash mismatch", common.ErrorCodeHashMismatch},
	{"hash required", common.ErrorCodeHashRequired},
	{"out-of-order chunk", common.ErrorCodeOutOfOrder},
	{"malformed chunk encoding", common.ErrorCodeMalformedChunk},
	{"chunk exceeds 1 MiB limit", common.ErrorCodeChunkTooLarge},
	{"insufficient disk space", common.ErrorCodeInsufficientSpace},
	{"disk full", common.ErrorCodeDiskFull},
	{"init timeout", common.ErrorCodeInitTimeout},
	{"chunk timeout", common.ErrorCodeChunkTimeout},
	{"complete timeout", common.ErrorCodeCompleteTimeout},
	{"file not found", common.ErrorCodeNotFound},
	{"not a regular file", common.ErrorCodeNotRegularFile},
	{"target busy", common.ErrorCodeTargetBusy},
	{"duplicate transferId", common.ErrorCodeDuplicateTransfer},
	{"source changed during transfer", common.ErrorCodeSourceChanged},
	{"already exists", common.ErrorCodeAlreadyExists},
	{"cancelled", common.ErrorCodeCancelled},
}

// peerFault is the failure that a peer reported. Its text is the peer's, made
// safe to show; the code is the one the peer gave, or the one its text belongs
// to, or internal.
func peerFault(text *string, code *common.ErrorCode) *fault.Error {
	shown := ""
	if text != nil {
		shown = printable(*text)
	}
	switch {
	case code != nil && shown != "":
		return fault.Texted(*code, shown)
	case code != nil:
		return fault.New(*code)
	case shown == "":
		return fault.Texted(common.ErrorCodeInternal, "the other side failed without a reason")
	}
	for _, row := range specTexts {
		if strings.HasPrefix(shown, row.text) {
			return fault.Texted(row.code, shown)
		}
	}
	return fault.Texted(common.ErrorCodeInternal, shown)
}

// printable makes a text of the peer safe to show, and cuts one that is too long.
func printable(s string) string { return safetext.Escape(cut(s, maxPeerText)) }

package fault

import (
	"net/http"

	"github.com/vancetope/transfer/gen/common"
)

// table gives each code its fixed text and, where the HTTP API can answer with
// it, its status.
var table = map[common.ErrorCode]struct {
	text   string
	status int
}{
	common.ErrorCodePathEscapesSandbox: {"path escapes project sandbox", http.StatusBadRequest},
	common.ErrorCodeSymlinkNotAllowed:  {"path escapes project sandbox: symlink not allowed", http.StatusBadRequest},
	common.ErrorCodePathProtected:      {"writing into .git is not allowed", http.StatusBadRequest},
	common.ErrorCodeInvalidPath:        {"invalid path", http.StatusBadRequest},
	common.ErrorCodeInvalidRequest:     {"invalid request", http.StatusBadRequest},
	common.ErrorCodeInvalidFrame:       {"invalid frame", 0},
	common.ErrorCodeNotFound:           {"file not found", http.StatusNotFound},
	common.ErrorCodeDirNotFound:        {"dirName not found", http.StatusNotFound},
	common.ErrorCodeNotRegularFile:     {"not a regular file", http.StatusBadRequest},
	common.ErrorCodeAlreadyExists:      {"already exists", http.StatusConflict},
	common.ErrorCodeTargetBusy:         {"target busy", http.StatusConflict},
	common.ErrorCodeConflict:           {"conflict", http.StatusConflict},
	common.ErrorCodeSizeLimit:          {"exceeds size limit", http.StatusRequestEntityTooLarge},
	common.ErrorCodeSizeMismatch:       {"size mismatch", http.StatusBadRequest},
	common.ErrorCodeHashMismatch:       {"hash mismatch", 0},
	common.ErrorCodeHashRequired:       {"hash required", 0},
	common.ErrorCodeOutOfOrder:         {"out-of-order chunk", 0},
	common.ErrorCodeMalformedChunk:     {"malformed chunk encoding", 0},
	common.ErrorCodeChunkTooLarge:      {"chunk exceeds 1 MiB limit", 0},
	common.ErrorCodeSizeExceeded:       {"exceeds declared totalSize", 0},
	common.ErrorCodeInsufficientSpace:  {"insufficient disk space", http.StatusInsufficientStorage},
	common.ErrorCodeDiskFull:           {"disk full", http.StatusInsufficientStorage},
	common.ErrorCodeQuota:              {"workspace quota exceeded", http.StatusInsufficientStorage},
	common.ErrorCodePermissionDenied:   {"permission denied", http.StatusForbidden},
	common.ErrorCodeAccessDenied:       {"access denied", http.StatusForbidden},
	common.ErrorCodeSourceChanged:      {"source changed during transfer", 0},
	common.ErrorCodeInitTimeout:        {"init timeout", 0},
	common.ErrorCodeChunkTimeout:       {"chunk timeout", 0},
	common.ErrorCodeCompleteTimeout:    {"complete timeout", 0},
	common.ErrorCodeDigestTimeout:      {"digest timeout", 0},
	common.ErrorCodeConnectionLost:     {"connection lost", 0},
	common.ErrorCodeStaleEpoch:         {"stale epoch", 0},
	common.ErrorCodeUnknownTransfer:    {"unknown transfer", 0},
	common.ErrorCodeDuplicateTransfer:  {"duplicate transferId", 0},
	common.ErrorCodeCancelled:          {"cancelled", 0},
	common.ErrorCodeDeclined:           {"declined", 0},
	common.ErrorCodeNoFoot:             {"no Foot is connected", 0},
	common.ErrorCodeFootAmbiguous:      {"several Feet are connected", 0},
	common.ErrorCodeProjectSuspended:   {"project suspended", 0},
	common.ErrorCodeLimit:              {"limit reached", http.StatusTooManyRequests},
	common.ErrorCodeUnsupported:        {"unsupported", http.StatusUnsupportedMediaType},
	common.ErrorCodeUnauthorized:       {"missing, unknown, revoked or expired token", http.StatusUnauthorized},
	common.ErrorCodePreconditionFailed: {"precondition failed", http.StatusPreconditionFailed},
	common.ErrorCodeDraining:           {"draining", http.StatusServiceUnavailable},
	common.ErrorCodeHandshakeFailed:    {"expected hello", http.StatusBadRequest},
	common.ErrorCodeUnsupportedVersion: {"unsupported protocol version", 0},
	common.ErrorCodeIdentityMismatch:   {"identity mismatch", 0},
	common.ErrorCodeUnknownType:        {"unknown frame type", 0},
	common.ErrorCodeUnexpectedFrame:    {"unexpected frame", 0},
	common.ErrorCodeInternal:           {"internal error", http.StatusInternalServerError},
}

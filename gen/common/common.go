// Bootstrap stand-in, replaced by framegen. Same names and signatures.
package common

import (
	"github.com/google/uuid"
	"time"
)

type ErrorCode string

const (
	ErrorCodePathEscapesSandbox ErrorCode = "path_escapes_sandbox"
	ErrorCodeSymlinkNotAllowed  ErrorCode = "symlink_not_allowed"
	ErrorCodePathProtected      ErrorCode = "path_protected"
	ErrorCodeInvalidPath        ErrorCode = "invalid_path"
	ErrorCodeInvalidRequest     ErrorCode = "invalid_request"
	ErrorCodeInvalidFrame       ErrorCode = "invalid_frame"
	ErrorCodeNotFound           ErrorCode = "not_found"
	ErrorCodeDirNotFound        ErrorCode = "dir_not_found"
	ErrorCodeNotRegularFile     ErrorCode = "not_regular_file"
	ErrorCodeAlreadyExists      ErrorCode = "already_exists"
	ErrorCodeTargetBusy         ErrorCode = "target_busy"
	ErrorCodeConflict           ErrorCode = "conflict"
	ErrorCodeSizeLimit          ErrorCode = "size_limit"
	ErrorCodeSizeMismatch       ErrorCode = "size_mismatch"
	ErrorCodeHashMismatch       ErrorCode = "hash_mismatch"
	ErrorCodeHashRequired       ErrorCode = "hash_required"
	ErrorCodeOutOfOrder         ErrorCode = "out_of_order"
	ErrorCodeMalformedChunk     ErrorCode = "malformed_chunk"
	ErrorCodeChunkTooLarge      ErrorCode = "chunk_too_large"
	ErrorCodeSizeExceeded       ErrorCode = "size_exceeded"
	ErrorCodeInsufficientSpace  ErrorCode = "insufficient_space"
	ErrorCodeDiskFull           ErrorCode = "disk_full"
	ErrorCodeQuota              ErrorCode = "quota"
	ErrorCodePermissionDenied   ErrorCode = "permission_denied"
	ErrorCodeAccessDenied       ErrorCode = "access_denied"
	ErrorCodeSourceChanged      ErrorCode = "source_changed"
	ErrorCodeInitTimeout        ErrorCode = "init_timeout"
	ErrorCodeChunkTimeout       ErrorCode = "chunk_timeout"
	ErrorCodeCompleteTimeout    ErrorCode = "complete_timeout"
	ErrorCodeDigestTimeout      ErrorCode = "digest_timeout"
	ErrorCodeConnectionLost     ErrorCode = "connection_lost"
	ErrorCodeStaleEpoch         ErrorCode = "stale_epoch"
	ErrorCodeUnknownTransfer    ErrorCode = "unknown_transfer"
	ErrorCodeDuplicateTransfer  ErrorCode = "duplicate_transfer"
	ErrorCodeCancelled          ErrorCode = "cancelled"
	ErrorCodeDeclined           ErrorCode = "declined"
	ErrorCodeNoFoot             ErrorCode = "no_foot"
	ErrorCodeFootAmbiguous      ErrorCode = "foot_ambiguous"
	ErrorCodeProjectSuspended   ErrorCode = "project_suspended"
	ErrorCodeLimit              ErrorCode = "limit"
	ErrorCodeUnsupported        ErrorCode = "unsupported"
	ErrorCodeUnauthorized       ErrorCode = "unauthorized"
	ErrorCodePreconditionFailed ErrorCode = "precondition_failed"
	ErrorCodeDraining           ErrorCode = "draining"
	ErrorCodeHandshakeFailed    ErrorCode = "handshake_failed"
	ErrorCodeUnsupportedVersion ErrorCode = "unsupported_version"
	ErrorCodeIdentityMismatch   ErrorCode = "identity_mismatch"
	ErrorCodeUnknownType        ErrorCode = "unknown_type"
	ErrorCodeUnexpectedFrame    ErrorCode = "unexpected_frame"
	ErrorCodeInternal           ErrorCode = "internal"
)

// FileAttrs are a file's attributes on the wire.
type FileAttrs struct {
	Mode  *string    `json:"mode,omitempty"`
	Mtime *time.Time `json:"mtime,omitempty"`
}

type TransferID = uuid.UUID

type Access string

const (
	AccessRead Access = "read"
	AccessEdit Access = "edit"
)

type Os string

const (
	OsLinux   Os = "linux"
	OsDarwin  Os = "darwin"
	OsWindows Os = "windows"
)

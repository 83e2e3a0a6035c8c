// Bootstrap stand-in, replaced by framegen. Same names and signatures.
package frames

import (
	"encoding/json"
	"errors"
	"github.com/google/uuid"
	"github.com/vancetope/transfer/gen/common"
)

type FrameType string

const (
	FrameTypeHello                   FrameType = "hello"
	FrameTypeWelcome                 FrameType = "welcome"
	FrameTypeError                   FrameType = "error"
	FrameTypeClientFileUploadRequest FrameType = "client.file.upload.request"
	FrameTypeTransferInit            FrameType = "transfer_init"
	FrameTypeTransferInitResponse    FrameType = "transfer_init_response"
	FrameTypeTransferChunk           FrameType = "transfer_chunk"
	FrameTypeTransferComplete        FrameType = "transfer_complete"
	FrameTypeTransferFinish          FrameType = "transfer_finish"
)

// Frame is any message of the WebSocket.
type Frame interface {
	FrameType() FrameType
	Validate() error
	AppendJSON(dst []byte) ([]byte, error)
}

type Grant struct {
	Name   string        `json:"name"`
	Access common.Access `json:"access"`
}

type Hello struct {
	Type            FrameType     `json:"type"`
	ProtocolVersion int64         `json:"protocolVersion"`
	FootID          string        `json:"footId"`
	ClientVersion   string        `json:"clientVersion"`
	Os              common.Os     `json:"os"`
	Access          common.Access `json:"access"`
	Grants          []Grant       `json:"grants"`
	Features        []string      `json:"features"`
}
type WelcomeSettings struct {
	ChunkSize       int64 `json:"chunkSize"`
	MaxFrameSize    int64 `json:"maxFrameSize"`
	PhaseTimeoutMs  int64 `json:"phaseTimeoutMs"`
	PingIntervalMs  int64 `json:"pingIntervalMs"`
	MaxUploadSize   int64 `json:"maxUploadSize"`
	MaxDownloadSize int64 `json:"maxDownloadSize"`
}
type Welcome struct {
	Type            FrameType       `json:"type"`
	ProtocolVersion int64           `json:"protocolVersion"`
	ConnectionID    uuid.UUID       `json:"connectionId"`
	Tenant          string          `json:"tenant"`
	ProjectID       string          `json:"projectId"`
	FootID          string          `json:"footId"`
	Features        []string        `json:"features"`
	Settings        WelcomeSettings `json:"settings"`
}

// ErrorFrame is the frame of type "error".
type ErrorFrame struct {
	Type       FrameType          `json:"type"`
	Code       common.ErrorCode   `json:"code"`
	Message    string             `json:"message"`
	TransferID *common.TransferID `json:"transferId,omitempty"`
}
type ClientFileUploadRequest struct {
	Type       FrameType         `json:"type"`
	TransferID common.TransferID `json:"transferId"`
	LocalPath  string            `json:"localPath"`
	DirName    string            `json:"dirName"`
	RemotePath string            `json:"remotePath"`
	Attrs      *common.FileAttrs `json:"attrs,omitempty"`
}
type TransferInit struct {
	Type       FrameType         `json:"type"`
	TransferID common.TransferID `json:"transferId"`
	Source     *string           `json:"source,omitempty"`
	Target     string            `json:"target"`
	DirName    *string           `json:"dirName,omitempty"`
	TotalSize  int64             `json:"totalSize"`
	Hash       *string           `json:"hash"`
	Attrs      *common.FileAttrs `json:"attrs,omitempty"`
}
type TransferInitResponse struct {
	Type       FrameType         `json:"type"`
	TransferID common.TransferID `json:"transferId"`
	Ok         bool              `json:"ok"`
	Error      *string           `json:"error"`
	ErrorCode  *common.ErrorCode `json:"errorCode,omitempty"`
}
type TransferChunk struct {
	Type       FrameType         `json:"type"`
	TransferID common.TransferID `json:"transferId"`
	Seq        int64             `json:"seq"`
	Bytes      []byte            `json:"bytes"`
	Last       bool              `json:"last"`
}
type HashCheck string

const (
	HashCheckOk       HashCheck = "ok"
	HashCheckMismatch HashCheck = "mismatch"
)

type TransferComplete struct {
	Type         FrameType         `json:"type"`
	TransferID   common.TransferID `json:"transferId"`
	Ok           bool              `json:"ok"`
	Error        *string           `json:"error"`
	ErrorCode    *common.ErrorCode `json:"errorCode,omitempty"`
	BytesWritten int64             `json:"bytesWritten"`
	HashCheck    *HashCheck        `json:"hashCheck"`
}
type TransferFinish struct {
	Type       FrameType         `json:"type"`
	TransferID common.TransferID `json:"transferId"`
	Ok         bool              `json:"ok"`
	Error      *string           `json:"error,omitempty"`
	ErrorCode  *common.ErrorCode `json:"errorCode,omitempty"`
}

func (v *Hello) FrameType() FrameType { return FrameTypeHello }
func (v *Hello) Validate() error      { return nil }

// AppendJSON appends the frame's JSON to dst; it sets the type tag itself.
func (v *Hello) AppendJSON(dst []byte) ([]byte, error) {
	w := *v
	w.Type = v.FrameType()
	b, err := json.Marshal(&w)
	return append(dst, b...), err
}

func (v *Welcome) FrameType() FrameType { return FrameTypeWelcome }
func (v *Welcome) Validate() error      { return nil }

// AppendJSON appends the frame's JSON to dst; it sets the type tag itself.
func (v *Welcome) AppendJSON(dst []byte) ([]byte, error) {
	w := *v
	w.Type = v.FrameType()
	b, err := json.Marshal(&w)
	return append(dst, b...), err
}

func (v *ErrorFrame) FrameType() FrameType { return FrameTypeError }
func (v *ErrorFrame) Validate() error      { return nil }

// AppendJSON appends the frame's JSON to dst; it sets the type tag itself.
func (v *ErrorFrame) AppendJSON(dst []byte) ([]byte, error) {
	w := *v
	w.Type = v.FrameType()
	b, err := json.Marshal(&w)
	return append(dst, b...), err
}

func (v *ClientFileUploadRequest) FrameType() FrameType { return FrameTypeClientFileUploadRequest }
func (v *ClientFileUploadRequest) Validate() error      { return nil }

// AppendJSON appends the frame's JSON to dst; it sets the type tag itself.
func (v *ClientFileUploadRequest) AppendJSON(dst []byte) ([]byte, error) {
	w := *v
	w.Type = v.FrameType()
	b, err := json.Marshal(&w)
	return append(dst, b...), err
}

func (v *TransferInit) FrameType() FrameType { return FrameTypeTransferInit }
func (v *TransferInit) Validate() error      { return nil }

// AppendJSON appends the frame's JSON to dst; it sets the type tag itself.
func (v *TransferInit) AppendJSON(dst []byte) ([]byte, error) {
	w := *v
	w.Type = v.FrameType()
	b, err := json.Marshal(&w)
	return append(dst, b...), err
}

func (v *TransferInitResponse) FrameType() FrameType { return FrameTypeTransferInitResponse }
func (v *TransferInitResponse) Validate() error      { return nil }

// AppendJSON appends the frame's JSON to dst; it sets the type tag itself.
func (v *TransferInitResponse) AppendJSON(dst []byte) ([]byte, error) {
	w := *v
	w.Type = v.FrameType()
	b, err := json.Marshal(&w)
	return append(dst, b...), err
}

func (v *TransferChunk) FrameType() FrameType { return FrameTypeTransferChunk }
func (v *TransferChunk) Validate() error      { return nil }

// AppendJSON appends the frame's JSON to dst; it sets the type tag itself.
func (v *TransferChunk) AppendJSON(dst []byte) ([]byte, error) {
	w := *v
	w.Type = v.FrameType()
	b, err := json.Marshal(&w)
	return append(dst, b...), err
}

func (v *TransferComplete) FrameType() FrameType { return FrameTypeTransferComplete }
func (v *TransferComplete) Validate() error      { return nil }

// AppendJSON appends the frame's JSON to dst; it sets the type tag itself.
func (v *TransferComplete) AppendJSON(dst []byte) ([]byte, error) {
	w := *v
	w.Type = v.FrameType()
	b, err := json.Marshal(&w)
	return append(dst, b...), err
}

func (v *TransferFinish) FrameType() FrameType { return FrameTypeTransferFinish }
func (v *TransferFinish) Validate() error      { return nil }

// AppendJSON appends the frame's JSON to dst; it sets the type tag itself.
func (v *TransferFinish) AppendJSON(dst []byte) ([]byte, error) {
	w := *v
	w.Type = v.FrameType()
	b, err := json.Marshal(&w)
	return append(dst, b...), err
}

// BrainHandler takes each frame that a Brain can receive.
type BrainHandler interface {
	HandleHello(f *Hello) error
	HandleErrorFrame(f *ErrorFrame) error
	HandleTransferInit(f *TransferInit) error
	HandleTransferInitResponse(f *TransferInitResponse) error
	HandleTransferChunk(f *TransferChunk) error
	HandleTransferComplete(f *TransferComplete) error
	HandleTransferFinish(f *TransferFinish) error
}

// DispatchToBrain calls the one method of h that takes f.
func DispatchToBrain(h BrainHandler, f Frame) error {
	switch f := f.(type) {
	case *Hello:
		return h.HandleHello(f)
	case *ErrorFrame:
		return h.HandleErrorFrame(f)
	case *TransferInit:
		return h.HandleTransferInit(f)
	case *TransferInitResponse:
		return h.HandleTransferInitResponse(f)
	case *TransferChunk:
		return h.HandleTransferChunk(f)
	case *TransferComplete:
		return h.HandleTransferComplete(f)
	case *TransferFinish:
		return h.HandleTransferFinish(f)
	}
	return errors.New("frame of the wrong direction")
}

// FootHandler takes each frame that a Foot can receive.
type FootHandler interface {
	HandleWelcome(f *Welcome) error
	HandleErrorFrame(f *ErrorFrame) error
	HandleClientFileUploadRequest(f *ClientFileUploadRequest) error
	HandleTransferInit(f *TransferInit) error
	HandleTransferInitResponse(f *TransferInitResponse) error
	HandleTransferChunk(f *TransferChunk) error
	HandleTransferComplete(f *TransferComplete) error
	HandleTransferFinish(f *TransferFinish) error
}

// DispatchToFoot calls the one method of h that takes f.
func DispatchToFoot(h FootHandler, f Frame) error {
	switch f := f.(type) {
	case *Welcome:
		return h.HandleWelcome(f)
	case *ErrorFrame:
		return h.HandleErrorFrame(f)
	case *ClientFileUploadRequest:
		return h.HandleClientFileUploadRequest(f)
	case *TransferInit:
		return h.HandleTransferInit(f)
	case *TransferInitResponse:
		return h.HandleTransferInitResponse(f)
	case *TransferChunk:
		return h.HandleTransferChunk(f)
	case *TransferComplete:
		return h.HandleTransferComplete(f)
	case *TransferFinish:
		return h.HandleTransferFinish(f)
	}
	return errors.New("frame of the wrong direction")
}

// Lane says which queue of a connection a frame goes through.
type Lane uint8

const (
	LaneControl Lane = iota
	LaneData
)

// LaneOf returns the lane of a frame type.
func LaneOf(t FrameType) Lane {
	if t == FrameTypeTransferChunk {
		return LaneData
	}
	return LaneControl
}

// FeatureSet is the set of extensions in force on a connection.
type FeatureSet uint64

// Has reports whether every feature of other is in s.
func (s FeatureSet) Has(other FeatureSet) bool { return s&other == other }

// Decoder decodes and validates what one role receives. The zero value works.
type Decoder struct {
	// Features in force; a frame of another feature is unexpected_frame.
	Features FeatureSet
	// Buffer, if set, provides the memory for a chunk's payload: len n, any contents.
	Buffer func(n int) []byte
}

// DecodeError says why a message is no valid frame for this role.
type DecodeError struct {
	Code            common.ErrorCode   // invalid_frame, unknown_type, unexpected_frame, malformed_chunk, chunk_too_large, hash_required, path_escapes_sandbox
	Place           string             // JSON pointer of the offending member, "" for the whole
	Reason          string             // what is wrong, in words; never holds the peer's bytes unescaped
	Type            FrameType          // the frame's type where it could be read and is known, else ""
	TransferID      *common.TransferID // the frame's transferId where it could be read and is well formed
	DuplicateMember bool               // the JSON has a member twice: nothing in it may be trusted
}

func (e *DecodeError) Error() string { return "invalid frame: " + e.Place + ": " + e.Reason }

// DecodeForBrain decodes a message that a Brain received. Its error is a *DecodeError.
func (d *Decoder) DecodeForBrain(message []byte) (Frame, error) {
	var head struct {
		Type FrameType `json:"type"`
	}
	if err := json.Unmarshal(message, &head); err != nil {
		return nil, &DecodeError{Code: common.ErrorCodeInvalidFrame, Reason: "not JSON"}
	}
	var f Frame
	switch head.Type {
	case FrameTypeHello:
		f = &Hello{}
	case FrameTypeError:
		f = &ErrorFrame{}
	case FrameTypeTransferInit:
		f = &TransferInit{}
	case FrameTypeTransferInitResponse:
		f = &TransferInitResponse{}
	case FrameTypeTransferChunk:
		f = &TransferChunk{}
	case FrameTypeTransferComplete:
		f = &TransferComplete{}
	case FrameTypeTransferFinish:
		f = &TransferFinish{}
	default:
		return nil, &DecodeError{Code: common.ErrorCodeUnknownType, Reason: "unknown type"}
	}
	if err := json.Unmarshal(message, f); err != nil {
		return nil, &DecodeError{Code: common.ErrorCodeInvalidFrame, Reason: "bad"}
	}
	return f, nil
}

// DecodeForFoot decodes a message that a Foot received. Its error is a *DecodeError.
func (d *Decoder) DecodeForFoot(message []byte) (Frame, error) {
	var head struct {
		Type FrameType `json:"type"`
	}
	if err := json.Unmarshal(message, &head); err != nil {
		return nil, &DecodeError{Code: common.ErrorCodeInvalidFrame, Reason: "not JSON"}
	}
	var f Frame
	switch head.Type {
	case FrameTypeWelcome:
		f = &Welcome{}
	case FrameTypeError:
		f = &ErrorFrame{}
	case FrameTypeClientFileUploadRequest:
		f = &ClientFileUploadRequest{}
	case FrameTypeTransferInit:
		f = &TransferInit{}
	case FrameTypeTransferInitResponse:
		f = &TransferInitResponse{}
	case FrameTypeTransferChunk:
		f = &TransferChunk{}
	case FrameTypeTransferComplete:
		f = &TransferComplete{}
	case FrameTypeTransferFinish:
		f = &TransferFinish{}
	default:
		return nil, &DecodeError{Code: common.ErrorCodeUnknownType, Reason: "unknown type"}
	}
	if err := json.Unmarshal(message, f); err != nil {
		return nil, &DecodeError{Code: common.ErrorCodeInvalidFrame, Reason: "bad"}
	}
	return f, nil
}

package difftest

import (
	"errors"

	"github.com/vancetope/transfer/gen/api"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/gen/tools"
	"github.com/vancetope/transfer/schema"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

// Message is what every generated object can do.
type Message interface {
	Validate() error
	AppendJSON(dst []byte) ([]byte, error)
}

// Subject is a generated type with the schema that it was generated from.
type Subject struct {
	File   string // below schema/
	Type   *spec.Type
	Decode func(text []byte) (Message, error)
}

// allFeatures are in force in the comparison: the schemas speak of what is legal
// with every extension.
const allFeatures = ^frames.FeatureSet(0)

// DecodeFrame decodes a frame as whoever may receive it. What one role refuses is
// put to the other whatever the reason: what is no I-JSON is refused before anybody
// asks who receives it.
func DecodeFrame(text []byte) (Message, error) {
	d := frames.Decoder{Features: allFeatures}
	f, err := d.DecodeForBrain(text)
	if err == nil {
		return f, nil
	}
	f, other := d.DecodeForFoot(text)
	if other == nil {
		return f, nil
	}
	var wrong *frames.DecodeError
	if errors.As(other, &wrong) && wrong.Code == common.ErrorCodeUnexpectedFrame {
		return nil, err
	}
	return nil, other
}

// tool adapts a generated decoder.
func tool[T Message](decode func([]byte) (T, error)) func([]byte) (Message, error) {
	return func(text []byte) (Message, error) {
		if len(text) == 0 {
			return nil, &common.DecodeError{Reason: "no bytes stand for {}, which is not the schema's rule"}
		}
		m, err := decode(text)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
}

var toolDecoders = map[string]func([]byte) (Message, error){
	"client_file_upload.input":              tool(tools.DecodeClientFileUploadInput),
	"client_file_upload.output":             tool(tools.DecodeClientFileUploadOutput),
	"client_file_download.input":            tool(tools.DecodeClientFileDownloadInput),
	"client_file_download.output":           tool(tools.DecodeClientFileDownloadOutput),
	"client_list.input":                     tool(tools.DecodeClientListInput),
	"client_list.output":                    tool(tools.DecodeClientListOutput),
	"transfer_cancel.input":                 tool(tools.DecodeTransferCancelInput),
	"transfer_cancel.output":                tool(tools.DecodeTransferCancelOutput),
	"transfer_status.input":                 tool(tools.DecodeTransferStatusInput),
	"transfer_status.output":                tool(tools.DecodeTransferStatusOutput),
	"workspace_close_dir.input":             tool(tools.DecodeWorkspaceCloseDirInput),
	"workspace_close_dir.output":            tool(tools.DecodeWorkspaceCloseDirOutput),
	"workspace_close_scope.input":           tool(tools.DecodeWorkspaceCloseScopeInput),
	"workspace_close_scope.output":          tool(tools.DecodeWorkspaceCloseScopeOutput),
	"workspace_list_dirs.input":             tool(tools.DecodeWorkspaceListDirsInput),
	"workspace_list_dirs.output":            tool(tools.DecodeWorkspaceListDirsOutput),
	"workspace_list_files.input":            tool(tools.DecodeWorkspaceListFilesInput),
	"workspace_list_files.output":           tool(tools.DecodeWorkspaceListFilesOutput),
	"workspace_read_file.input":             tool(tools.DecodeWorkspaceReadFileInput),
	"workspace_read_file.output":            tool(tools.DecodeWorkspaceReadFileOutput),
	"workspace_write_file.input":            tool(tools.DecodeWorkspaceWriteFileInput),
	"workspace_write_file.output":           tool(tools.DecodeWorkspaceWriteFileOutput),
	"workspace_create_ephemeral_dir.input":  tool(tools.DecodeWorkspaceCreateEphemeralDirInput),
	"workspace_create_ephemeral_dir.output": tool(tools.DecodeWorkspaceCreateEphemeralDirOutput),
}

// body decodes a body of the HTTP API.
func body[T any, P interface {
	*T
	Message
	common.StrictReader
}](text []byte) (Message, error) {
	v := P(new(T))
	if err := common.DecodeStrict(text, v, false, common.ErrorCodeInvalidRequest); err != nil {
		return nil, err
	}
	return v, nil
}

var bodyDecoders = map[string]func([]byte) (Message, error){
	"feet":      body[api.FeetResponse],
	"dirs":      body[api.DirsResponse],
	"transfers": body[api.TransfersResponse],
	"transfer":  body[api.CancelledTransfer],
	"error":     body[api.ErrorBody],
	"login":     body[api.LoginResponse],
	// Bodies of requests are closed.
	"login.request": tool(api.DecodeLoginRequest),
}

// Subjects returns every generated message, and the names of schema files that
// have no decoder in the tables above.
func Subjects(m *spec.Model) (subjects []Subject, forgotten []string) {
	for _, t := range m.Types {
		if t.Node.Pointer != "" {
			continue
		}
		s := Subject{File: t.Node.File, Type: t}
		switch t.Package {
		case "frames":
			s.Decode = DecodeFrame
		case "tools":
			s.Decode = toolDecoders[t.Key]
		case "api":
			s.Decode = bodyDecoders[t.Key]
		}
		if s.Decode == nil {
			forgotten = append(forgotten, s.File)
			continue
		}
		subjects = append(subjects, s)
	}
	return subjects, forgotten
}

// LoadModel loads the schemas of this project.
func LoadModel() (*spec.Model, error) { return spec.Load(schema.Files()) }

package toolset

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/tools"
)

// tool is one row of the table.
type tool struct {
	name, title string
	hints       hints
	edits       bool // needs a token that may edit RootDirs
	resting     bool // works in a suspended project too
	refuse      refusal
	run         runner
	example     string             // arguments as a model may write them
	fails       []common.ErrorCode // the failures that a model meets first
}

// runner runs a tool on arguments as they came.
type runner func(context.Context, *Tools, Caller, json.RawMessage, refusal) Result

// hints tell a client what a tool may do, so that it knows when to ask a person.
type hints struct{ readOnly, destructive, idempotent bool }

var table = []tool{
	{
		name:    "client_file_upload",
		title:   "Copy a file from a person's machine",
		example: `{"localPath":"report.pdf","dirName":"inbox","remotePath":"report.pdf"}`,
		fails:   []common.ErrorCode{common.ErrorCodeNoFoot, common.ErrorCodeNotFound, common.ErrorCodeDirNotFound, common.ErrorCodeSizeLimit, common.ErrorCodeDeclined},
		hints:   hints{destructive: true},
		edits:   true,
		run: keyed("client_file_upload", tools.DecodeClientFileUploadInput, keyOfUpload,
			typed(tools.DecodeClientFileUploadInput, clientFileUpload)),
		refuse: failedTransfer,
	},
	{
		name:    "client_file_download",
		title:   "Copy a file to a person's machine",
		example: `{"localPath":"summary.md","dirName":"inbox","remotePath":"out/summary.md","onExisting":"keep_both"}`,
		fails:   []common.ErrorCode{common.ErrorCodeNoFoot, common.ErrorCodeNotFound, common.ErrorCodeAlreadyExists, common.ErrorCodeAccessDenied, common.ErrorCodeDeclined},
		hints:   hints{destructive: true},
		run: keyed("client_file_download", tools.DecodeClientFileDownloadInput, keyOfDownload,
			typed(tools.DecodeClientFileDownloadInput, clientFileDownload)),
		refuse: failedTransfer,
	},
	{
		name:    "transfer_status",
		title:   "Tell how far transfers have come",
		example: `{}`,
		hints:   hints{readOnly: true, idempotent: true},
		run:     typed(tools.DecodeTransferStatusInput, transferStatus),
		refuse:  failedLookup,
	},
	{
		name:    "transfer_cancel",
		title:   "Cancel a transfer",
		example: `{"transferId":"01989f2e-7c1a-7b5e-9d3f-2a4b6c8d0e1f"}`,
		hints:   hints{destructive: true, idempotent: true},
		run:     typed(tools.DecodeTransferCancelInput, transferCancel),
		refuse:  failedLookup,
	},
	{
		name:    "client_list",
		title:   "List connected machines",
		example: `{}`,
		hints:   hints{readOnly: true, idempotent: true},
		run:     typed(tools.DecodeClientListInput, clientList),
		refuse:  failed,
	},
	{
		name:    "workspace_create_ephemeral_dir",
		title:   "Create a folder for transfers",
		example: `{"dirName":"inbox","label":"Files for the report"}`,
		fails:   []common.ErrorCode{common.ErrorCodeAlreadyExists, common.ErrorCodeProjectSuspended},
		edits:   true,
		run:     typed(tools.DecodeWorkspaceCreateEphemeralDirInput, workspaceCreateEphemeralDir),
		refuse:  failed,
	},
	{
		name:    "workspace_list_dirs",
		title:   "List the folders for transfers",
		example: `{}`,
		hints:   hints{readOnly: true, idempotent: true},
		resting: true,
		run:     typed(tools.DecodeWorkspaceListDirsInput, workspaceListDirs),
		refuse:  failed,
	},
	{
		name:    "workspace_close_dir",
		title:   "Delete a folder for transfers",
		example: `{"dirName":"inbox"}`,
		fails:   []common.ErrorCode{common.ErrorCodeDirNotFound},
		hints:   hints{destructive: true, idempotent: true},
		edits:   true,
		run:     typed(tools.DecodeWorkspaceCloseDirInput, workspaceCloseDir),
		refuse:  failed,
	},
	{
		name:    "workspace_close_scope",
		title:   "Delete the folders of a scope",
		example: `{"scope":"report-2026"}`,
		hints:   hints{destructive: true, idempotent: true},
		edits:   true,
		run:     typed(tools.DecodeWorkspaceCloseScopeInput, workspaceCloseScope),
		refuse:  failed,
	},
	{
		name:    "workspace_list_files",
		title:   "List files in the workspace",
		example: `{"dirName":"inbox","recursive":true}`,
		fails:   []common.ErrorCode{common.ErrorCodeDirNotFound, common.ErrorCodeNotFound},
		hints:   hints{readOnly: true, idempotent: true},
		run:     typed(tools.DecodeWorkspaceListFilesInput, workspaceListFiles),
		refuse:  failed,
	},
	{
		name:    "workspace_read_file",
		title:   "Read a file in the workspace",
		example: `{"dirName":"inbox","path":"notes.txt"}`,
		fails:   []common.ErrorCode{common.ErrorCodeDirNotFound, common.ErrorCodeNotFound, common.ErrorCodeUnsupported},
		hints:   hints{readOnly: true, idempotent: true},
		run:     typed(tools.DecodeWorkspaceReadFileInput, workspaceReadFile),
		refuse:  failed,
	},
	{
		name:    "workspace_write_file",
		title:   "Write a file in the workspace",
		example: `{"dirName":"inbox","path":"notes.txt","content":"hello"}`,
		fails:   []common.ErrorCode{common.ErrorCodeDirNotFound, common.ErrorCodeAlreadyExists, common.ErrorCodeQuota},
		hints:   hints{destructive: true},
		edits:   true,
		run:     typed(tools.DecodeWorkspaceWriteFileInput, workspaceWriteFile),
		refuse:  failed,
	},
}

var byName = func() map[string]tool {
	m := make(map[string]tool, len(table))
	for _, t := range table {
		m[t.name] = t
	}
	return m
}()

// description says what the tool does, how it is called and what its failures
// mean: what a model goes by.
func (t tool) description(does string) string {
	text := does + " Example: " + t.example + "."
	for i, code := range t.fails {
		if i == 0 {
			text += " When ok is false, errorCode says why:"
		}
		text += " " + string(code) + ": " + advice[code]
	}
	return text
}

// definition is the tool as tools/list tells it.
func (t tool) definition() *mcp.Tool {
	closedWorld := false
	schema := tools.Schemas[t.name]
	return &mcp.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  t.description(schema.Description),
		InputSchema:  schema.Input,
		OutputSchema: schema.Output,
		Annotations: &mcp.ToolAnnotations{
			Title:           t.title,
			ReadOnlyHint:    t.hints.readOnly,
			DestructiveHint: &t.hints.destructive,
			IdempotentHint:  t.hints.idempotent,
			OpenWorldHint:   &closedWorld,
		},
	}
}

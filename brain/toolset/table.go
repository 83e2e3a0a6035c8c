package toolset

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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
}

// runner runs a tool on arguments as they came.
type runner func(context.Context, *Tools, Caller, json.RawMessage, refusal) Result

// hints tell a client what a tool may do, so that it knows when to ask a person.
type hints struct{ readOnly, destructive, idempotent bool }

var table = []tool{
	{
		name:  "client_file_upload",
		title: "Copy a file from a person's machine",
		hints: hints{destructive: true},
		edits: true,
		run: keyed("client_file_upload", tools.DecodeClientFileUploadInput, func(in *tools.ClientFileUploadInput) *string { return in.IdempotencyKey },
			typed(tools.DecodeClientFileUploadInput, clientFileUpload)),
		refuse: failedTransfer,
	},
	{
		name:  "client_file_download",
		title: "Copy a file to a person's machine",
		hints: hints{destructive: true},
		run: keyed("client_file_download", tools.DecodeClientFileDownloadInput, func(in *tools.ClientFileDownloadInput) *string { return in.IdempotencyKey },
			typed(tools.DecodeClientFileDownloadInput, clientFileDownload)),
		refuse: failedTransfer,
	},
	{
		name:   "transfer_status",
		title:  "Tell how far transfers have come",
		hints:  hints{readOnly: true, idempotent: true},
		run:    typed(tools.DecodeTransferStatusInput, transferStatus),
		refuse: failed,
	},
	{
		name:   "transfer_cancel",
		title:  "Cancel a transfer",
		hints:  hints{destructive: true, idempotent: true},
		run:    typed(tools.DecodeTransferCancelInput, transferCancel),
		refuse: failed,
	},
	{
		name:   "client_list",
		title:  "List connected machines",
		hints:  hints{readOnly: true, idempotent: true},
		run:    typed(tools.DecodeClientListInput, clientList),
		refuse: failed,
	},
	{
		name:   "workspace_create_ephemeral_dir",
		title:  "Create a folder for transfers",
		edits:  true,
		run:    typed(tools.DecodeWorkspaceCreateEphemeralDirInput, workspaceCreateEphemeralDir),
		refuse: failed,
	},
	{
		name:    "workspace_list_dirs",
		title:   "List the folders for transfers",
		hints:   hints{readOnly: true, idempotent: true},
		resting: true,
		run:     typed(tools.DecodeWorkspaceListDirsInput, workspaceListDirs),
		refuse:  failed,
	},
	{
		name:   "workspace_close_dir",
		title:  "Delete a folder for transfers",
		hints:  hints{destructive: true, idempotent: true},
		edits:  true,
		run:    typed(tools.DecodeWorkspaceCloseDirInput, workspaceCloseDir),
		refuse: failed,
	},
	{
		name:   "workspace_close_scope",
		title:  "Delete the folders of a scope",
		hints:  hints{destructive: true, idempotent: true},
		edits:  true,
		run:    typed(tools.DecodeWorkspaceCloseScopeInput, workspaceCloseScope),
		refuse: failed,
	},
	{
		name:   "workspace_list_files",
		title:  "List files in the workspace",
		hints:  hints{readOnly: true, idempotent: true},
		run:    typed(tools.DecodeWorkspaceListFilesInput, workspaceListFiles),
		refuse: failed,
	},
	{
		name:   "workspace_read_file",
		title:  "Read a file in the workspace",
		hints:  hints{readOnly: true, idempotent: true},
		run:    typed(tools.DecodeWorkspaceReadFileInput, workspaceReadFile),
		refuse: failed,
	},
	{
		name:   "workspace_write_file",
		title:  "Write a file in the workspace",
		hints:  hints{destructive: true},
		edits:  true,
		run:    typed(tools.DecodeWorkspaceWriteFileInput, workspaceWriteFile),
		refuse: failed,
	},
}

var byName = func() map[string]tool {
	m := make(map[string]tool, len(table))
	for _, t := range table {
		m[t.name] = t
	}
	return m
}()

// definition is the tool as tools/list tells it.
func (t tool) definition() *mcp.Tool {
	closedWorld := false
	schema := tools.Schemas[t.name]
	return &mcp.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  schema.Description,
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

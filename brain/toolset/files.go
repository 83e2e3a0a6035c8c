package toolset

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/tools"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

func workspaceListFiles(ctx context.Context, t *Tools, c Caller, in *tools.WorkspaceListFilesInput) (answer[tools.WorkspaceListFilesOutput], error) {
	page, err := t.Workspace.ListFiles(ctx, c.Project, in.DirName, workspace.ListRequest{
		Path: value(in.Path), Recursive: value(in.Recursive), Cursor: value(in.Cursor), Limit: int(value(in.Limit))})
	if err != nil {
		return answer[tools.WorkspaceListFilesOutput]{}, err
	}
	out := tools.WorkspaceListFilesOutput{Ok: true, Entries: page.Entries}
	if out.Entries == nil {
		out.Entries = []common.WorkspaceEntry{}
	}
	text := fmt.Sprintf("%d entries", len(out.Entries))
	if page.NextCursor != "" {
		out.NextCursor = &page.NextCursor
		text += ", and more behind nextCursor"
	}
	return answer[tools.WorkspaceListFilesOutput]{out: out, text: text + "."}, nil
}

func workspaceReadFile(ctx context.Context, t *Tools, c Caller, in *tools.WorkspaceReadFileInput) (answer[tools.WorkspaceReadFileOutput], error) {
	part, err := t.Workspace.ReadFile(ctx, c.Project, in.DirName, in.Path, value(in.Offset), int(value(in.Length)))
	if err != nil {
		return answer[tools.WorkspaceReadFileOutput]{}, err
	}
	encoding, content := common.ContentEncodingText, ""
	if in.Encoding != nil && *in.Encoding == common.ContentEncodingBase64 {
		encoding, content = common.ContentEncodingBase64, base64.StdEncoding.EncodeToString(part.Bytes)
	} else {
		var isText bool
		if part, isText = part.Text(); !isText {
			return answer[tools.WorkspaceReadFileOutput]{}, fault.Newf(common.ErrorCodeUnsupported, "the file is not UTF-8 text from byte %d on; read it with encoding base64", part.Offset)
		}
		content = string(part.Bytes)
	}
	return answer[tools.WorkspaceReadFileOutput]{
		out:  tools.WorkspaceReadFileOutput{Ok: true, Encoding: &encoding, Content: &content, Offset: &part.Offset, Size: &part.Size, EOF: &part.EOF},
		text: fmt.Sprintf("Read %d of %d bytes of %s, from byte %d on.", len(part.Bytes), part.Size, safetext.Quote(in.Path), part.Offset),
	}, nil
}

func workspaceWriteFile(ctx context.Context, t *Tools, c Caller, in *tools.WorkspaceWriteFileInput) (answer[tools.WorkspaceWriteFileOutput], error) {
	content := []byte(in.Content)
	if in.Encoding != nil && *in.Encoding == common.ContentEncodingBase64 {
		var err error
		if content, err = base64.StdEncoding.Strict().DecodeString(in.Content); err != nil {
			return answer[tools.WorkspaceWriteFileOutput]{}, fault.Newf(common.ErrorCodeInvalidRequest, "content: is not base64")
		}
	}
	dirName := value(in.DirName)
	if dirName == "" {
		var err error
		if dirName, err = t.Workspace.Temp(ctx, c.Project, c.scope()); err != nil {
			return answer[tools.WorkspaceWriteFileOutput]{}, err
		}
	}
	done, err := t.Workspace.WriteFile(ctx, c.Project, dirName, in.Path, content, onExisting(in.OnExisting))
	if err != nil {
		return answer[tools.WorkspaceWriteFileOutput]{}, err
	}
	return answer[tools.WorkspaceWriteFileOutput]{
		out:  tools.WorkspaceWriteFileOutput{Ok: true, DirName: &dirName, Path: &done.Path, BytesWritten: &done.BytesWritten, Hash: &done.Hash},
		text: oneLine(fmt.Sprintf("Wrote %d bytes to %s in the RootDir %s, %s.", done.BytesWritten, safetext.Quote(done.Path), dirName, done.Hash)),
	}, nil
}

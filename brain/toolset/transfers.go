package toolset

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/brain/hub"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/tools"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/transfer"
)

func clientFileUpload(ctx context.Context, t *Tools, c Caller, in *tools.ClientFileUploadInput) (answer[tools.ClientFileUploadOutput], error) {
	done, err := t.Hub.Upload(ctx, c.Project, hub.Request{
		Foot:       value(in.Foot),
		LocalPath:  in.LocalPath,
		DirName:    in.DirName,
		RemotePath: in.RemotePath,
		Attrs:      in.Attrs,
		OnExisting: onExisting(in.OnExisting),
		Owner:      c.TokenID,
		Watch:      c.Watch,
	})
	if err != nil {
		return answer[tools.ClientFileUploadOutput]{id: minted(done.ID)}, err
	}
	text := fmt.Sprintf("Copied %s from the person's machine to %s in the RootDir %s: %d bytes, %s.",
		safetext.Quote(in.LocalPath), safetext.Quote(done.Path), in.DirName, done.BytesWritten, done.Hash)
	return answer[tools.ClientFileUploadOutput]{out: receipt(done), text: oneLine(text)}, nil
}

func clientFileDownload(ctx context.Context, t *Tools, c Caller, in *tools.ClientFileDownloadInput) (answer[tools.ClientFileDownloadOutput], error) {
	done, err := t.Hub.Download(ctx, c.Project, hub.Request{
		Foot:       value(in.Foot),
		LocalPath:  in.LocalPath,
		DirName:    in.DirName,
		RemotePath: in.RemotePath,
		Attrs:      in.Attrs,
		OnExisting: onExisting(in.OnExisting),
		Owner:      c.TokenID,
		Watch:      c.Watch,
	})
	if err != nil {
		return answer[tools.ClientFileDownloadOutput]{id: minted(done.ID)}, err
	}
	text := fmt.Sprintf("Copied %s of the RootDir %s to %s on the person's machine: %d bytes, %s.",
		safetext.Quote(in.RemotePath), in.DirName, safetext.Quote(done.Path), done.BytesWritten, done.Hash)
	return answer[tools.ClientFileDownloadOutput]{out: tools.ClientFileDownloadOutput(receipt(done)), text: oneLine(text)}, nil
}

// receipt is the output of a transfer that went well. The two transfer tools
// answer with the same fields, which the compiler checks.
func receipt(done transfer.Result) tools.ClientFileUploadOutput {
	return tools.ClientFileUploadOutput{
		Ok:           true,
		TransferID:   &done.ID,
		BytesWritten: &done.BytesWritten,
		Hash:         &done.Hash,
		Path:         &done.Path,
	}
}

func minted(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func onExisting(o *common.OnExisting) common.OnExisting {
	if o == nil {
		return common.OnExistingReplace
	}
	return *o
}

func value[T any](v *T) T {
	if v == nil {
		var none T
		return none
	}
	return *v
}

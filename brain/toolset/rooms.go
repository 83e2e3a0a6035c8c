package toolset

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/tools"
	"github.com/vancetope/transfer/internal/safetext"
)

func clientList(_ context.Context, t *Tools, c Caller, _ *tools.ClientListInput) (answer[tools.ClientListOutput], error) {
	feet := t.Hub.Feet(c.Project)
	names := make([]string, len(feet))
	for i := range feet {
		feet[i].ClientVersion = safetext.Escape(feet[i].ClientVersion)
		names[i] = feet[i].Name
	}
	text := "No machine is connected. Ask the person to start `foot run`."
	if len(feet) > 0 {
		text = fmt.Sprintf("Connected: %s.", strings.Join(names, ", "))
	}
	return answer[tools.ClientListOutput]{out: tools.ClientListOutput{Ok: true, Feet: feet}, text: text}, nil
}

func workspaceCreateEphemeralDir(ctx context.Context, t *Tools, c Caller, in *tools.WorkspaceCreateEphemeralDirInput) (answer[tools.WorkspaceCreateEphemeralDirOutput], error) {
	d, err := t.Workspace.Create(ctx, c.Project, workspace.CreateRequest{
		Type:                 workspace.TypeEphemeral,
		DirName:              value(in.DirName),
		Creator:              c.scopeNamed(in.Scope),
		Label:                value(in.Label),
		Metadata:             in.Metadata,
		DeleteOnCreatorClose: in.DeleteOnCreatorClose == nil || *in.DeleteOnCreatorClose,
	})
	if err != nil {
		return answer[tools.WorkspaceCreateEphemeralDirOutput]{}, err
	}
	text := fmt.Sprintf("Created the RootDir %s.", d.DirName)
	expires := moment(t.Workspace.ExpiresAt(d))
	if expires != nil {
		text = fmt.Sprintf("Created the RootDir %s; unless it is used it goes at %s.", d.DirName, expires.Format(time.RFC3339))
	}
	return answer[tools.WorkspaceCreateEphemeralDirOutput]{
		out:  tools.WorkspaceCreateEphemeralDirOutput{Ok: true, DirName: &d.DirName, ExpiresAt: expires},
		text: text,
	}, nil
}

func workspaceListDirs(ctx context.Context, t *Tools, c Caller, _ *tools.WorkspaceListDirsInput) (answer[tools.WorkspaceListDirsOutput], error) {
	dirs, err := t.Workspace.Tell(ctx, c.Project)
	if err != nil {
		return answer[tools.WorkspaceListDirsOutput]{}, err
	}
	names := make([]string, len(dirs))
	for i, d := range dirs {
		names[i] = d.DirName
	}
	text := "There is no RootDir. workspace_create_ephemeral_dir makes one."
	if len(dirs) > 0 {
		text = fmt.Sprintf("%d RootDirs: %s.", len(dirs), strings.Join(names, ", "))
	}
	return answer[tools.WorkspaceListDirsOutput]{out: tools.WorkspaceListDirsOutput{Ok: true, Dirs: dirs}, text: oneLine(text)}, nil
}

func workspaceCloseDir(ctx context.Context, t *Tools, c Caller, in *tools.WorkspaceCloseDirInput) (answer[tools.WorkspaceCloseDirOutput], error) {
	if err := t.Workspace.CloseDir(ctx, c.Project, in.DirName); err != nil {
		return answer[tools.WorkspaceCloseDirOutput]{}, err
	}
	return answer[tools.WorkspaceCloseDirOutput]{
		out:  tools.WorkspaceCloseDirOutput{Ok: true, DirName: &in.DirName},
		text: fmt.Sprintf("The RootDir %s and all files in it are gone.", in.DirName),
	}, nil
}

func workspaceCloseScope(ctx context.Context, t *Tools, c Caller, in *tools.WorkspaceCloseScopeInput) (answer[tools.WorkspaceCloseScopeOutput], error) {
	closed, err := t.Workspace.CloseScope(ctx, c.Project, c.scopeNamed(&in.Scope))
	if err != nil {
		return answer[tools.WorkspaceCloseScopeOutput]{}, err
	}
	text := "The scope has no RootDirs."
	if len(closed) > 0 {
		text = fmt.Sprintf("%d RootDirs are gone: %s.", len(closed), strings.Join(closed, ", "))
	}
	return answer[tools.WorkspaceCloseScopeOutput]{out: tools.WorkspaceCloseScopeOutput{Ok: true, Closed: closed}, text: oneLine(text)}, nil
}

// moment is a time for an output, nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

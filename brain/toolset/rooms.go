package toolset

import (
	"context"
	"fmt"
	"strings"

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
		Type:    workspace.TypeEphemeral,
		DirName: value(in.DirName),
		Creator: c.scope(),
	})
	if err != nil {
		return answer[tools.WorkspaceCreateEphemeralDirOutput]{}, err
	}
	return answer[tools.WorkspaceCreateEphemeralDirOutput]{
		out:  tools.WorkspaceCreateEphemeralDirOutput{Ok: true, DirName: &d.DirName},
		text: fmt.Sprintf("Created the RootDir %s.", d.DirName),
	}, nil
}

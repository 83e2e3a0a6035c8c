package e2etest

import (
	"path/filepath"
	"testing"
)

// World is a Brain, a Foot connected to it, and an agent.
type World struct {
	Brain *Brain
	Foot  *Foot
	Agent *Agent

	Tenant, Project      string
	AgentToken, FootFile string // token files
}

// WorldOptions says how a World differs from the usual one.
type WorldOptions struct {
	Binaries      Binaries
	Dir           string
	BrainSettings map[string]string
	FootSettings  map[string]string
	FootArgs      []string
	Via           func(url string) string // what the Foot dials instead of the Brain's URL
	NoFoot        bool
}

// NewWorld starts everything and returns once the Foot is connected.
func NewWorld(t testing.TB, o WorldOptions) *World {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	w := &World{Tenant: "acme", Project: "proj-research"}
	w.Brain = StartBrain(t, BrainOptions{Binaries: o.Binaries, Dir: o.Dir, Settings: o.BrainSettings})
	w.AgentToken = w.Brain.Token(t, w.Tenant, w.Project, "agent", "agent")
	w.FootFile = w.Brain.Token(t, w.Tenant, w.Project, "foot", "laptop")
	if !o.NoFoot {
		url := w.Brain.URL
		if o.Via != nil {
			url = o.Via(url)
		}
		w.Foot = StartFoot(t, FootOptions{Binaries: o.Binaries, Dir: o.Dir, Settings: o.FootSettings, Args: o.FootArgs,
			URL: url, Tenant: w.Tenant, ProjectID: w.Project, TokenFile: w.FootFile})
		w.Foot.AwaitEvent(t, "connected")
	}
	w.Agent = ConnectAgent(t, w.Brain.URL, w.AgentToken, "")
	return w
}

// Command is `brain call` with the agent's token.
func (w *World) Command() Command { return Command{Brain: w.Brain, TokenFile: w.AgentToken} }

// NewDir makes an ephemeral RootDir and returns its name.
func (w *World) NewDir(t testing.TB) string {
	t.Helper()
	made := w.Agent.Call(t, "workspace_create_ephemeral_dir", map[string]any{})
	if !made.OK || made.DirName == "" {
		t.Fatalf("workspace_create_ephemeral_dir: %s", made)
	}
	return made.DirName
}

// AtBrain is the path on disk of a file in a RootDir.
func (w *World) AtBrain(dirName, path string) string {
	return filepath.Join(w.Brain.Data, "workspaces", w.Tenant, w.Project, dirName, filepath.FromSlash(path))
}

// AtFoot is the path on disk of a file in the Foot's project folder.
func (w *World) AtFoot(path string) string {
	return filepath.Join(w.Foot.Project, filepath.FromSlash(path))
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vancetope/transfer/internal/launch"
)

const (
	tenant  = "acme"
	project = "demo"
	footID  = "laptop"

	startPatience = 30 * time.Second // for a program to come up
	stopPatience  = 15 * time.Second // for a program to drain and end
)

// stage is what the demo plays on: a folder of its own, the two programs, the
// session of the LLM client.
type stage struct {
	line commandLine
	file *source
	dir  string
	env  []string
	log  bytes.Buffer // both programs' stderr; shown when something failed
	mu   sync.Mutex   // guards log

	brain, foot *launch.Process
	session     *mcp.ClientSession
	digest      string // of the user's file, in hex
}

func newStage(line commandLine, file *source) (*stage, error) {
	dir, err := os.MkdirTemp("", "vancetope-demo-")
	if err != nil {
		return nil, err
	}
	return &stage{line: line, file: file, dir: dir, env: launch.Environment(dir)}, nil
}

// Write takes the programs' log lines.
func (s *stage) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

// explain adds what the programs logged to an error.
func (s *stage) explain(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log.Len() == 0 {
		return err
	}
	return fmt.Errorf("%w\nthe programs logged:\n%s", err, s.log.String())
}

func (s *stage) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// atBrain is where a file of a RootDir lies on the Brain's disk, atFoot where
// one of the project lies on the user's.
func (s *stage) atBrain(dirName, path string) string {
	return s.path("brain", "workspaces", tenant, project, dirName, filepath.FromSlash(path))
}

func (s *stage) atFoot(path string) string {
	return s.path("foot", tenant, project, filepath.FromSlash(path))
}

// start brings everything up: Brain, tokens, Foot, session.
func (s *stage) start(ctx context.Context) error {
	config := s.path("settings.yaml")
	if err := os.WriteFile(config, []byte(settingsFor(s.file.size)), 0o600); err != nil {
		return err
	}
	var err error
	if s.brain, err = s.launch(s.line.Brain, "serve", "--listen", "127.0.0.1:0", "--data", s.path("brain"), "--config", config); err != nil {
		return err
	}
	var ready struct {
		URL string `json:"url"`
	}
	if err := s.await(ctx, s.brain, "ready", &ready); err != nil {
		return err
	}
	say("brain serve   listens on %s", ready.URL)

	agent, err := s.token(ctx, "agent", "assistant")
	if err != nil {
		return err
	}
	footToken, err := s.token(ctx, "foot", footID)
	if err != nil {
		return err
	}
	tokenFile := s.path("foot.token")
	if err := os.WriteFile(tokenFile, []byte(footToken), 0o600); err != nil {
		return err
	}
	if s.foot, err = s.launch(s.line.Foot, "run", "--json", "--brain", ready.URL, "--tenant", tenant,
		"--token-file", tokenFile, "--root", s.path("foot"), "--state", s.path("foot-state"), "--config", config); err != nil {
		return err
	}
	if err := s.await(ctx, s.foot, "connected", new(struct{})); err != nil {
		return err
	}
	say("foot run      is connected as %q", footID)
	return s.connect(ctx, ready.URL, agent)
}

// settingsFor raises the limits of both programs to what the file needs.
func settingsFor(size int64) string {
	limit := max(size, 100<<20)
	// The hash of a large file takes its time before the first byte moves.
	patience := max(30, size/(20<<20))
	return fmt.Sprintf("vance.transfer.max-upload-size: %d\nvance.transfer.max-download-size: %d\nvance.transfer.phase-timeout: %ds\n",
		limit, limit, min(patience, 3600))
}

func (s *stage) launch(program string, args ...string) (*launch.Process, error) {
	return launch.Start(launch.Command{Path: program, Args: args, Env: s.env, Stderr: s})
}

func (s *stage) await(ctx context.Context, p *launch.Process, event string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	e, err := p.AwaitNamed(ctx, event)
	if err != nil {
		return err
	}
	return e.Decode(into)
}

func (s *stage) token(ctx context.Context, role, name string) (string, error) {
	cmd := exec.CommandContext(ctx, s.line.Brain, "token", "create", "--data", s.path("brain"),
		"--tenant", tenant, "--project", project, "--role", role, "--name", name)
	cmd.Env, cmd.Stderr = s.env, s
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("brain token create: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (s *stage) connect(ctx context.Context, url, token string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "vancetope-demo", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{
		Endpoint:   url + "/mcp",
		HTTPClient: &http.Client{Transport: bearer(token)},
	}
	var err error
	if s.session, err = client.Connect(ctx, transport, nil); err != nil {
		return fmt.Errorf("opening the MCP session: %w", err)
	}
	list, err := s.session.ListTools(ctx, nil)
	if err != nil {
		return fmt.Errorf("listing the tools: %w", err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	say("MCP client    has a session at %s/mcp; its tools:\n              %s", url, strings.Join(names, ", "))
	return nil
}

// bearer adds the agent's token to every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// close ends the session and both programs and removes the folder.
func (s *stage) close() error {
	var problems []error
	if s.session != nil {
		if err := s.session.Close(); err != nil {
			problems = append(problems, fmt.Errorf("closing the session: %w", err))
		}
	}
	for _, p := range []*launch.Process{s.foot, s.brain} {
		if p == nil {
			continue
		}
		if code := p.Stop(stopPatience); code != 0 {
			problems = append(problems, fmt.Errorf("%s ended with exit code %d", p.Name(), code))
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

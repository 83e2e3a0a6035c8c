package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/vancetope/transfer/internal/launch"
)

const (
	tenant  = "acme"
	project = "bench"
	footID  = "laptop"
)

// pair is a Brain, a Foot that is connected to it, and who calls the tools.
type pair struct {
	stage       *stage
	brain, foot *launch.Process
	agent       *caller
	dirName     string
	atBrain     string // the RootDir's folder
	atFoot      string // the project's folder
}

// pairOptions says how a pair is set up.
type pairOptions struct {
	folder string // what both lie in
	chunk  string // vance.transfer.chunk-size
	// between turns the Brain's URL into the one that the Foot is given; nil
	// leaves it.
	between func(url string) (string, error)
	// metrics is the address for the Brain's metrics; "" has none.
	metrics string
}

// newPair starts both programs and makes a RootDir.
func (s *stage) newPair(ctx context.Context, o pairOptions) (*pair, error) {
	folder, err := os.MkdirTemp(o.folder, "pair-")
	if err != nil {
		return nil, err
	}
	p := &pair{stage: s, atFoot: filepath.Join(folder, "foot", tenant, project)}
	config := filepath.Join(folder, "settings.yaml")
	text := fmt.Sprintf("vance.transfer:\n  chunk-size: %s\n  max-upload-size: 8GiB\n  max-download-size: 8GiB\n  phase-timeout: 5m\n", o.chunk)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "brain")
	args := []string{"serve", "--listen", "127.0.0.1:0", "--data", data, "--config", config}
	if o.metrics != "" {
		args = append(args, "--metrics-listen", o.metrics)
	}
	if p.brain, err = s.launch(s.command.Brain, args...); err != nil {
		return nil, err
	}
	var ready struct {
		URL string `json:"url"`
	}
	if err := s.await(ctx, p.brain, "ready", &ready); err != nil {
		return nil, err
	}
	agent, err := s.token(ctx, data, "agent", "assistant")
	if err != nil {
		return nil, err
	}
	footToken, err := s.token(ctx, data, "foot", footID)
	if err != nil {
		return nil, err
	}
	tokenFile := filepath.Join(folder, "foot.token")
	if err := os.WriteFile(tokenFile, []byte(footToken), 0o600); err != nil {
		return nil, err
	}
	url := ready.URL
	if o.between != nil {
		if url, err = o.between(url); err != nil {
			return nil, err
		}
	}
	if p.foot, err = s.launch(s.command.Foot, "run", "--json", "--brain", url, "--tenant", tenant, "--token-file", tokenFile,
		"--root", filepath.Join(folder, "foot"), "--state", filepath.Join(folder, "foot-state"), "--config", config); err != nil {
		return nil, err
	}
	if err := s.await(ctx, p.foot, "connected", new(struct{})); err != nil {
		return nil, err
	}
	p.agent = newCaller(ready.URL, agent)
	made, err := p.agent.call(ctx, "workspace_create_ephemeral_dir", map[string]any{})
	if err != nil {
		return nil, err
	}
	p.dirName = made.DirName
	p.atBrain = filepath.Join(data, "workspaces", tenant, project, p.dirName)
	return p, nil
}

func (s *stage) token(ctx context.Context, data, role, name string) (string, error) {
	cmd := exec.CommandContext(ctx, s.command.Brain, "token", "create", "--data", data,
		"--tenant", tenant, "--project", project, "--role", role, "--name", name)
	cmd.Env, cmd.Stderr = s.env, s
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("brain token create: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// direction is one of the two tools.
type direction struct {
	tool string
	// from and to are the folders that a file lies in before and after.
	from, to func(*pair) string
}

var (
	upload = direction{"client_file_upload",
		func(p *pair) string { return p.atFoot }, func(p *pair) string { return p.atBrain }}
	download = direction{"client_file_download",
		func(p *pair) string { return p.atBrain }, func(p *pair) string { return p.atFoot }}
)

// name is "upload" or "download".
func (d direction) name() string { return strings.TrimPrefix(d.tool, "client_file_") }

// move moves a file of one name to another.
func (p *pair) move(ctx context.Context, d direction, from, to string) error {
	args := map[string]any{"dirName": p.dirName, "localPath": from, "remotePath": to}
	if d.tool == download.tool {
		args["localPath"], args["remotePath"] = to, from
	}
	_, err := p.agent.call(ctx, d.tool, args)
	return err
}

// timed runs f and adds what both programs spent on it.
func (p *pair) timed(f func() error) (sample, error) {
	footBefore, err1 := cpuSeconds(p.foot.PID())
	brainBefore, err2 := cpuSeconds(p.brain.PID())
	start := time.Now()
	if err := errors.Join(err1, err2, f()); err != nil {
		return sample{}, err
	}
	took := time.Since(start)
	footAfter, err1 := cpuSeconds(p.foot.PID())
	brainAfter, err2 := cpuSeconds(p.brain.PID())
	footPeak, err3 := peakMemory(p.foot.PID())
	brainPeak, err4 := peakMemory(p.brain.PID())
	return sample{
		Seconds:   took.Seconds(),
		ClientCPU: footAfter - footBefore,
		ServerCPU: brainAfter - brainBefore,
		Figures:   map[string]float64{footPeakFigure: float64(footPeak), brainPeakFigure: float64(brainPeak)},
	}, errors.Join(err1, err2, err3, err4)
}

// oneFile is the contender that moves one file in one direction.
func (p *pair) oneFile(name string, d direction, size int64) (contender, error) {
	from := d.name() + ".source"
	digest, err := source(filepath.Join(d.from(p), from), size)
	if err != nil {
		return contender{}, err
	}
	return contender{name: name, run: func(ctx context.Context, round int) (sample, error) {
		to := fmt.Sprintf("%s-%d", d.name(), round)
		got, err := p.timed(func() error { return p.move(ctx, d, from, to) })
		if err != nil {
			return got, err
		}
		return got, arrived(filepath.Join(d.to(p), to), digest)
	}}, nil
}

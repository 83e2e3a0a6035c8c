package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/vancetope/transfer/internal/launch"
)

const (
	startPatience = 30 * time.Second // for a program to come up
	stopPatience  = 15 * time.Second // for a program to end
)

// stage is where one group plays: a folder in memory, a folder on the disk, and
// the processes of the group. All of it goes when the group ends.
type stage struct {
	command *runCmd
	memory  string
	disk    string
	env     []string
	missing []string // what could not be compared, and why

	mu       sync.Mutex
	log      bytes.Buffer // what the processes wrote to stderr
	closings []func() error
}

func newStage(c *runCmd) (*stage, error) {
	memory, err := os.MkdirTemp(c.Memory, "vancetope-bench-")
	if err != nil {
		return nil, fmt.Errorf("--memory names a folder in memory: %w", err)
	}
	disk, err := os.MkdirTemp(c.Disk, "vancetope-bench-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--disk names a folder on a disk: %w", err), os.RemoveAll(memory))
	}
	return &stage{command: c, memory: memory, disk: disk, env: launch.Environment(memory)}, nil
}

// Write takes the log lines of the processes.
func (s *stage) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const keep = 64 << 10
	if s.log.Len() > keep {
		s.log.Next(s.log.Len() - keep)
	}
	return s.log.Write(p)
}

// explain adds what the processes logged to an error.
func (s *stage) explain(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log.Len() == 0 {
		return err
	}
	return fmt.Errorf("%w\nthe programs logged:\n%s", err, s.log.String())
}

// launch starts a program of this project that ends with the stage.
func (s *stage) launch(program string, args ...string) (*launch.Process, error) {
	p, err := launch.Start(launch.Command{Path: program, Args: args, Env: s.env, Stderr: s})
	if err != nil {
		return nil, err
	}
	s.atEnd(func() error {
		if code := p.Stop(stopPatience); code != 0 {
			return fmt.Errorf("%s ended with exit code %d", p.Name(), code)
		}
		return nil
	})
	return p, nil
}

// await waits for a process's event.
func (s *stage) await(ctx context.Context, p *launch.Process, event string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	e, err := p.AwaitNamed(ctx, event)
	if err != nil {
		return err
	}
	return e.Decode(into)
}

// atEnd adds what close does, the last added first.
func (s *stage) atEnd(f func() error) { s.closings = append(s.closings, f) }

func (s *stage) close() error {
	var problems []error
	for i := len(s.closings) - 1; i >= 0; i-- {
		problems = append(problems, s.closings[i]())
	}
	problems = append(problems, os.RemoveAll(s.memory), os.RemoveAll(s.disk))
	return errors.Join(problems...)
}

// source makes a file of random bytes, which nothing on the way can make
// smaller, and returns its SHA-256.
func source(file string, size int64) (digest string, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(f, h), rand.Reader, size); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// arrived checks a copy against the digest of the original and removes it.
func arrived(file, digest string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != digest {
		return fmt.Errorf("%s has the SHA-256 %s, the original %s", file, got, digest)
	}
	return os.Remove(file)
}

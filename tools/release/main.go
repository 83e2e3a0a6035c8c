// Command release builds both programs for every system they are given out for
// and packs them into archives with their checksums.
//
// The archives depend on the commit and on Go's version alone: not on the folder,
// the clock, the user or the machine. scripts/release-check proves it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is a system that programs are built for.
type target struct {
	os, arch string
	// untested is a system on which no test has run: the archive's name says so.
	untested bool
}

var targets = []target{
	{os: "linux", arch: "amd64"},
	{os: "linux", arch: "arm64"},
	{os: "darwin", arch: "amd64"},
	{os: "darwin", arch: "arm64"},
	{os: "windows", arch: "amd64", untested: true},
	{os: "windows", arch: "arm64", untested: true},
}

func (t target) String() string { return t.os + "/" + t.arch }

func (t target) exe() string {
	if t.os == "windows" {
		return ".exe"
	}
	return ""
}

// archive is the name of the target's archive, without what it ends with.
func (t target) archive(version string) string {
	system := t.os
	if system == "darwin" {
		system = "macos"
	}
	name := fmt.Sprintf("vancetope-%s-%s-%s", version, system, t.arch)
	if t.untested {
		name += "-untested"
	}
	return name
}

// source is what is released.
type source struct {
	version, commit string
	at              time.Time // of the commit, for the files in the archives
}

func main() {
	out := flag.String("out", "dist", "folder for the archives; its old archives are removed")
	only := flag.String("only", "", "comma-separated targets, such as linux/amd64; default all")
	dirty := flag.Bool("allow-dirty", false, "also release a working copy with changes, which nobody can build again")
	flag.Parse()
	if err := release(*out, *only, *dirty); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(out, only string, dirty bool) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	src, err := look(dirty)
	if err != nil {
		return err
	}
	if err := prepare(out); err != nil {
		return err
	}
	var archives []string
	for _, t := range chosen {
		name, err := pack(out, src, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		fmt.Println(filepath.Join(out, name))
		archives = append(archives, name)
	}
	return writeSums(out, archives)
}

func choose(only string) ([]target, error) {
	if only == "" {
		return targets, nil
	}
	var chosen []target
	for _, name := range strings.Split(only, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no target %q: there are %v", name, targets)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}

// look reads version, commit and time from git.
func look(allowDirty bool) (source, error) {
	version, err1 := git("describe", "--tags", "--always", "--dirty")
	commit, err2 := git("rev-parse", "HEAD")
	at, err3 := git("log", "-1", "--format=%ct")
	if err := errors.Join(err1, err2, err3); err != nil {
		return source{}, err
	}
	if strings.HasSuffix(version, "-dirty") && !allowDirty {
		return source{}, errors.New("the working copy has changes: commit them first")
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return source{}, err
	}
	return source{version: strings.TrimPrefix(version, "v"), commit: commit, at: time.Unix(seconds, 0).UTC()}, nil
}

func git(args ...string) (string, error) {
	output, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(output)), nil
}

// prepare makes the folder and removes the archives of an earlier release.
func prepare(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(out, "vancetope-*"))
	if err != nil {
		return err
	}
	for _, name := range append(old, filepath.Join(out, sums)) {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// build builds a program for a target.
func build(program, file string, src source, t target) error {
	const version = "github.com/vancetope/transfer/internal/version"
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags", fmt.Sprintf("-s -w -buildid= -X %s.version=%s -X %s.commit=%s", version, src.version, version, src.commit),
		"-o", file, "./"+program)
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

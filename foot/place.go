package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vancetope/transfer/foot/agent"
	"github.com/vancetope/transfer/internal/cli"
	"github.com/vancetope/transfer/internal/rootfs"
	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/settings"
)

// placeFlags say which Foot a command is about.
type placeFlags struct {
	Tenant  string  `help:"With several Feet here: the tenant of the one that is meant." placeholder:"NAME"`
	Project string  `help:"With several Feet here: the project of the one that is meant." placeholder:"NAME"`
	State   *string `help:"State folder of the Foot, where it runs with one of its own." placeholder:"DIR"`
	Config  string  `help:"File with settings; default ~/.vancetope/foot.yaml when there is one." placeholder:"FILE"`
}

// find returns the one state folder that is meant and that has what the command
// needs. none is what to do where there is none.
func (f *placeFlags) find(has func(dir string) bool, none error) (string, error) {
	values, err := footSettings(f.Config, map[string]*string{"vance.foot.state": f.State})
	if err != nil {
		return "", cli.Usagef("%w", err)
	}
	return findState(values.Foot.State, f.Tenant, f.Project, has, none)
}

// findState returns the state folder that was named, else the only default one
// of a tenant and a project, each of which may be empty, that has what is needed.
func findState(named, tenant, project string, has func(dir string) bool, none error) (string, error) {
	if named != "" {
		if !has(named) {
			return "", none
		}
		return named, nil
	}
	for _, segment := range []struct{ flag, value string }{{"--tenant", tenant}, {"--project", project}} {
		if segment.value != "" && rootfs.CheckSegment("name", segment.value) != nil {
			return "", cli.Usagef("%s %s is not a name", segment.flag, safetext.Quote(segment.value))
		}
	}
	base, err := agent.DefaultStates()
	if err != nil {
		return "", cli.Usagef("%w", err)
	}
	found, err := filepath.Glob(filepath.Join(base, orAny(tenant), orAny(project)))
	if err != nil {
		return "", cli.Usagef("%w", err)
	}
	var fit []string
	for _, dir := range found {
		if has(dir) {
			fit = append(fit, dir)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		return "", cli.Usagef("there are several (tenant/project): %s: say which one with --tenant and --project", listed(base, fit))
	case tenant != "" || project != "":
		return "", noneOf(base, has, none)
	}
	return "", none
}

// noneOf adds to none what there is of other tenants and projects.
func noneOf(base string, has func(dir string) bool, none error) error {
	all, err := filepath.Glob(filepath.Join(base, "*", "*"))
	if err != nil {
		return none
	}
	others := slices.DeleteFunc(all, func(dir string) bool { return !has(dir) })
	var exit *cli.Exit
	if len(others) == 0 || !errors.As(none, &exit) {
		return none
	}
	return &cli.Exit{Code: exit.Code, Err: fmt.Errorf("%w (there is, of other tenants and projects: %s)", exit.Err, listed(base, others))}
}

// listed are state folders as tenant/project.
func listed(base string, dirs []string) string {
	names := make([]string, len(dirs))
	for i, dir := range dirs {
		rel, err := filepath.Rel(base, dir)
		if err != nil {
			rel = dir
		}
		names[i] = safetext.Escape(filepath.ToSlash(rel))
	}
	return strings.Join(names, ", ")
}

func orAny(segment string) string {
	if segment == "" {
		return "*"
	}
	return segment
}

// footSettings loads the settings with what flags say; a nil one says nothing.
func footSettings(file string, flags map[string]*string) (*settings.Settings, error) {
	given := map[string]string{}
	for name, text := range flags {
		if text != nil {
			given[name] = *text
		}
	}
	return settings.Load(settings.Options{
		Program: settings.ForFoot,
		File:    file,
		Environ: os.Environ(),
		Flags:   given,
	})
}

// print writes lines of results.
func (s streams) print(lines ...string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(s.out, line); err != nil {
			return &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("writing the result: %w", err)}
		}
	}
	return nil
}

package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// State is how a project stands.
type State string

const (
	// Active is every project that nobody said anything of.
	Active State = "active"
	// Suspended: its RootDirs are kept by name, what was in them is gone.
	Suspended State = "suspended"
	// Closed: its RootDirs are gone.
	Closed State = "closed"
)

// projectRecord is a project as it is stored. Whoever changes State is obeyed by
// whoever serves the data directory, who then writes Reached.
type projectRecord struct {
	State   State `json:"state"`
	Reached State `json:"reached,omitempty"`

	project  Project
	revision uint64
}

// projects keeps the records in the state store, one entry each.
type projects struct{ store state.Store }

const projectPrefix = "project/"

func (p Project) recordKey() string { return projectPrefix + p.Tenant + "/" + p.ProjectID }

func (s projects) get(ctx context.Context, p Project) (projectRecord, error) {
	e, err := s.store.Get(ctx, p.recordKey())
	if errors.Is(err, state.ErrNotFound) {
		return projectRecord{State: Active, Reached: Active, project: p, revision: state.Absent}, nil
	}
	if err != nil {
		return projectRecord{}, err
	}
	return readProject(e)
}

func (s projects) put(ctx context.Context, r projectRecord) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = s.store.CompareAndSet(ctx, r.project.recordKey(), r.revision, value, state.Forever)
	return err
}

func (s projects) list(ctx context.Context, prefix string) ([]projectRecord, error) {
	entries, err := s.store.List(ctx, projectPrefix+prefix)
	if err != nil {
		return nil, err
	}
	records := make([]projectRecord, 0, len(entries))
	for _, e := range entries {
		r, err := readProject(e)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

func readProject(e state.Entry) (projectRecord, error) {
	var r projectRecord
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return r, fmt.Errorf("project %s in the state: %w", e.Key, err)
	}
	tenant, id, ok := strings.Cut(strings.TrimPrefix(e.Key, projectPrefix), "/")
	r.project, r.revision = Project{tenant, id}, e.Revision
	if !ok || r.project.Check() != nil || !slices.Contains([]State{Active, Suspended, Closed}, r.State) {
		return r, fmt.Errorf("project %s in the state is none", e.Key)
	}
	return r, nil
}

// Active returns nil for an active project, and project_suspended for another.
func (m *Manager) Active(p Project) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch m.resting[p] {
	case Suspended:
		return fault.Newf(common.ErrorCodeProjectSuspended, "an operator ends that with brain project recover")
	case Closed:
		return fault.Newf(common.ErrorCodeProjectSuspended, "the project is closed; an operator opens it again with brain project recover")
	}
	return nil
}

// Obey does what the state says of the projects. Tend does it again and again.
func (m *Manager) Obey(ctx context.Context) error {
	records, err := m.projects.list(ctx, "")
	if err != nil {
		return err
	}
	for _, r := range records {
		m.rest(r.project, r.State)
		if r.Reached == r.State {
			continue
		}
		if err := m.reach(ctx, r); err != nil {
			m.log.Error("a project cannot be put into its state", "tenant", r.project.Tenant, "project", r.project.ProjectID, "state", r.State, "err", err)
		}
	}
	return nil
}

// rest bars the use of a project that is not active.
func (m *Manager) rest(p Project, s State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s == Active {
		delete(m.resting, p)
		return
	}
	m.resting[p] = s
}

// reach does what a new state asks for, and notes that it is done.
func (m *Manager) reach(ctx context.Context, r projectRecord) error {
	all, err := m.descriptors.list(ctx, r.project)
	if err != nil {
		return err
	}
	var problems []error
	for _, d := range all {
		switch {
		case d.Closing:
		case r.State == Closed:
			if err := m.CloseDir(ctx, r.project, d.DirName); fault.CodeOf(err) != common.ErrorCodeDirNotFound {
				problems = append(problems, err)
			}
		case r.State == Suspended:
			problems = append(problems, m.vacate(ctx, d))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	r.Reached = r.State
	if err := m.projects.put(ctx, r); err != nil && !errors.Is(err, state.ErrConflict) {
		return err
	}
	m.usage.forget(r.project)
	m.log.Info("project is "+string(r.State), "tenant", r.project.Tenant, "project", r.project.ProjectID, "dirs", len(all))
	return nil
}

// vacate deletes what is in a RootDir; the RootDir itself stays.
func (m *Manager) vacate(ctx context.Context, d stored) error {
	key := siteKey{d.project(), d.DirName}
	s, first := m.beginClosing(key)
	if !first {
		return nil // it is being closed
	}
	defer m.forget(key, s)
	m.empty(ctx, key, s, "the project was suspended")
	p := m.place(d.project(), d.DirName)
	if err := handlers[d.Type].close(p); err != nil {
		return err
	}
	return handlers[d.Type].init(p)
}

// ProjectStatus is a project as operators are told of it.
type ProjectStatus struct {
	Tenant  string   `json:"tenant"`
	Project string   `json:"project"`
	State   State    `json:"state"`
	Dirs    []string `json:"dirs"`
}

// SetProject writes the state that a project is to have. Whoever serves the data
// directory obeys within a second.
func SetProject(ctx context.Context, store state.Store, p Project, to State) error {
	if err := p.Check(); err != nil {
		return err
	}
	records := projects{store}
	for range markTries {
		r, err := records.get(ctx, p)
		if err != nil || r.State == to {
			return err
		}
		r.State = to
		if err := records.put(ctx, r); !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
	return fault.Newf(common.ErrorCodeConflict, "the project's state is being changed by others")
}

// Known reports whether a project has a RootDir, or a state that somebody gave it.
func Known(ctx context.Context, store state.Store, p Project) (bool, error) {
	r, err := projects{store}.get(ctx, p)
	if err != nil || r.revision != state.Absent {
		return err == nil, err
	}
	dirs, err := (descriptors{store}).list(ctx, p)
	return len(dirs) > 0, err
}

// ReadProject tells how a project stands, and whether it has come to that.
func ReadProject(ctx context.Context, store state.Store, p Project) (status ProjectStatus, reached bool, err error) {
	if err := p.Check(); err != nil {
		return ProjectStatus{}, false, err
	}
	r, err := projects{store}.get(ctx, p)
	if err != nil {
		return ProjectStatus{}, false, err
	}
	dirs, err := (descriptors{store}).list(ctx, p)
	if err != nil {
		return ProjectStatus{}, false, err
	}
	status = ProjectStatus{Tenant: p.Tenant, Project: p.ProjectID, State: r.State, Dirs: []string{}}
	for _, d := range dirs {
		if !d.Closing {
			status.Dirs = append(status.Dirs, d.DirName)
		}
	}
	return status, r.Reached == r.State, nil
}

// ReadProjects tells of all projects that have RootDirs or a state of their own,
// of one tenant or, for "", of all.
func ReadProjects(ctx context.Context, store state.Store, tenant string) ([]ProjectStatus, error) {
	known := map[Project]bool{}
	records, err := projects{store}.list(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		known[r.project] = true
	}
	dirs, err := (descriptors{store}).all(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		known[d.project()] = true
	}
	list := []ProjectStatus{}
	for _, p := range slices.SortedFunc(maps.Keys(known), func(a, b Project) int { return strings.Compare(a.recordKey(), b.recordKey()) }) {
		if tenant != "" && p.Tenant != tenant {
			continue
		}
		status, _, err := ReadProject(ctx, store, p)
		if err != nil {
			return nil, err
		}
		list = append(list, status)
	}
	return list, nil
}

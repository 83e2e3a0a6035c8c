package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vancetope/transfer/brain/state"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Descriptor is what is known about a RootDir.
type Descriptor struct {
	Tenant    string    `json:"tenant"`
	ProjectID string    `json:"projectId"`
	DirName   string    `json:"dirName"`
	Type      Type      `json:"type"`
	Creator   string    `json:"creator"`
	CreatedAt time.Time `json:"createdAt"`
	Label     string    `json:"label,omitempty"`
	// Metadata is what the creator wants to be told again.
	Metadata []string `json:"metadata,omitempty"`
	// DeleteOnCreatorClose: it goes with its creator's scope.
	DeleteOnCreatorClose bool `json:"deleteOnCreatorClose,omitempty"`
	// UsedAt is the last use as it was noted: at most usedEvery too early.
	UsedAt time.Time `json:"usedAt,omitzero"`
}

func (d Descriptor) project() Project { return Project{d.Tenant, d.ProjectID} }

// stored is a descriptor as it lies in the state store.
type stored struct {
	Descriptor
	// Closing is set before the folder is deleted: such a RootDir is gone for
	// everybody, and what is left of it is removed at the next start.
	Closing bool `json:"closing,omitempty"`

	revision uint64
}

// descriptors keeps them in the state store, one entry each.
type descriptors struct{ store state.Store }

const keyPrefix = "rootdir/"

func (p Project) prefix() string { return keyPrefix + p.Tenant + "/" + p.ProjectID + "/" }

func (d Descriptor) key() string { return d.project().prefix() + d.DirName }

// create stores a new descriptor, or fails with already_exists.
func (s descriptors) create(ctx context.Context, d Descriptor) error {
	_, err := s.put(ctx, stored{Descriptor: d, revision: state.Absent})
	if errors.Is(err, state.ErrConflict) {
		return fault.Newf(common.ErrorCodeAlreadyExists, "a RootDir %q", d.DirName)
	}
	return err
}

// get returns the descriptor of an open RootDir, or dir_not_found.
func (s descriptors) get(ctx context.Context, p Project, dirName string) (stored, error) {
	d, err := s.any(ctx, p, dirName)
	if err == nil && d.Closing {
		err = fault.New(common.ErrorCodeDirNotFound)
	}
	return d, err
}

// any is get for RootDirs that are being closed too.
func (s descriptors) any(ctx context.Context, p Project, dirName string) (stored, error) {
	e, err := s.store.Get(ctx, p.prefix()+dirName)
	if errors.Is(err, state.ErrNotFound) {
		return stored{}, fault.New(common.ErrorCodeDirNotFound)
	}
	if err != nil {
		return stored{}, err
	}
	return read(e)
}

// markClosing makes a RootDir vanish for all users. One that is marked already,
// since its removal failed, is returned as it is.
func (s descriptors) markClosing(ctx context.Context, p Project, dirName string) (stored, error) {
	for range markTries {
		d, err := s.any(ctx, p, dirName)
		if err != nil || d.Closing {
			return d, err
		}
		d.Closing = true
		d.revision, err = s.put(ctx, d)
		if !errors.Is(err, state.ErrConflict) {
			return d, err
		}
	}
	return stored{}, fault.Newf(common.ErrorCodeConflict, "the RootDir is being changed by others")
}

// markTries is how often a RootDir may be noted as used while it is marked.
const markTries = 5

// touch notes a use. It goes by the revision, so that it cannot undo anything
// that happened meanwhile.
func (s descriptors) touch(ctx context.Context, d stored, at time.Time) error {
	d.UsedAt = at
	_, err := s.put(ctx, d)
	if errors.Is(err, state.ErrConflict) {
		return nil // somebody else noted a use, or is closing it
	}
	return err
}

func (s descriptors) delete(ctx context.Context, d stored) error {
	err := s.store.Delete(ctx, d.key())
	if errors.Is(err, state.ErrNotFound) {
		return nil
	}
	return err
}

// list returns a project's descriptors in the order of their names, those being
// closed among them.
func (s descriptors) list(ctx context.Context, p Project) ([]stored, error) {
	return s.under(ctx, p.prefix())
}

// all returns the descriptors of all projects.
func (s descriptors) all(ctx context.Context) ([]stored, error) {
	return s.under(ctx, keyPrefix)
}

func (s descriptors) under(ctx context.Context, prefix string) ([]stored, error) {
	entries, err := s.store.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	list := make([]stored, 0, len(entries))
	for _, e := range entries {
		d, err := read(e)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

func (s descriptors) put(ctx context.Context, d stored) (uint64, error) {
	value, err := json.Marshal(d)
	if err != nil {
		return 0, err
	}
	return s.store.CompareAndSet(ctx, d.key(), d.revision, value, state.Forever)
}

// read refuses a descriptor that does not name the key it lies under: its names
// become a path that is deleted one day.
func read(e state.Entry) (stored, error) {
	var d stored
	if err := json.Unmarshal(e.Value, &d); err != nil {
		return d, fmt.Errorf("descriptor %s: %w", e.Key, err)
	}
	if d.key() != e.Key || d.project().Check() != nil || checkDirName(d.DirName) != nil {
		return d, fmt.Errorf("descriptor %s names another RootDir", e.Key)
	}
	if _, ok := handlers[d.Type]; !ok {
		return d, fmt.Errorf("descriptor %s has the unknown type %q", e.Key, d.Type)
	}
	d.revision = e.Revision
	return d, nil
}

package hub

import (
	"maps"
	"slices"
	"strings"

	"github.com/vancetope/transfer/brain/workspace"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/safetext"
)

// Feet tells which Feet of a project are connected, in the order of their names.
func (h *Hub) Feet(p workspace.Project) []common.ConnectedFoot {
	h.mu.Lock()
	defer h.mu.Unlock()
	told := make([]common.ConnectedFoot, 0, len(h.feet[p]))
	for _, name := range sortedNames(h.feet[p]) {
		told = append(told, h.feet[p][name].told)
	}
	return told
}

// pick returns the Foot that a call is meant for: the one of that name, or the
// only one when no name is given.
func (h *Hub) pick(p workspace.Project, name string) (*foot, error) {
	f, err := h.find(p, name)
	if err == nil && !f.joined() {
		return nil, fault.New(common.ErrorCodeNoFoot) // it left during its handshake
	}
	return f, err
}

func (h *Hub) find(p workspace.Project, name string) (*foot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return nil, fault.New(common.ErrorCodeDraining)
	}
	feet := h.feet[p]
	if name != "" {
		if f := feet[name]; f != nil {
			return f, nil
		}
		return nil, noFootNamed(name, feet)
	}
	if len(feet) > 1 {
		return nil, fault.Newf(common.ErrorCodeFootAmbiguous, "choose one with the argument foot: %s", list(feet))
	}
	for _, f := range feet {
		return f, nil
	}
	return nil, fault.New(common.ErrorCodeNoFoot)
}

func noFootNamed(name string, feet map[string]*foot) error {
	connected := "none"
	if len(feet) > 0 {
		connected = list(feet)
	}
	return fault.Newf(common.ErrorCodeNoFoot, "by the name %s; connected: %s", safetext.Quote(name), connected)
}

func list(feet map[string]*foot) string { return strings.Join(sortedNames(feet), ", ") }

func sortedNames(feet map[string]*foot) []string { return slices.Sorted(maps.Keys(feet)) }

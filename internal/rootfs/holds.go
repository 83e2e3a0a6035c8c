package rootfs

import (
	"strings"
	"sync"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// Holds is the table of the targets that are being written: one for each RootDir
// and each Foot project, shared by transfers, tools, panel and trees. Nothing in
// it touches the disk.
type Holds struct {
	fold bool

	mu    sync.Mutex
	held  map[string]holdKind
	below map[string]int // how many holds lie strictly below a path
}

type holdKind int

const (
	holdNone holdKind = iota
	holdFile
	holdTree
)

// NewHolds returns an empty table. With fold, names that a folding file system
// takes for the same are the same target (see Root.FoldsCase).
func NewHolds(fold bool) *Holds {
	return &Holds{fold: fold, held: map[string]holdKind{}, below: map[string]int{}}
}

// Hold takes the target of a file: target_busy while another has it, or while a
// tree at or above it is being written. Release may be called more than once.
func (h *Holds) Hold(p Path) (release func(), err error) { return h.take(p, holdFile) }

// HoldTree takes the target of a tree: besides what Hold refuses, it is busy
// while anything below it is held.
func (h *Holds) HoldTree(p Path) (release func(), err error) { return h.take(p, holdTree) }

func (h *Holds) take(p Path, kind holdKind) (func(), error) {
	key := p.s
	if h.fold {
		key = FoldKey(key)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy(key, kind) {
		return nil, fault.New(common.ErrorCodeTargetBusy)
	}
	h.held[key] = kind
	h.count(key, +1)
	return sync.OnceFunc(func() { h.release(key) }), nil
}

func (h *Holds) busy(key string, kind holdKind) bool {
	if h.held[key] != holdNone {
		return true
	}
	for above := range ancestors(key) {
		if h.held[above] == holdTree {
			return true
		}
	}
	return kind == holdTree && h.below[key] > 0
}

func (h *Holds) release(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.held, key)
	h.count(key, -1)
}

func (h *Holds) count(key string, by int) {
	for above := range ancestors(key) {
		if h.below[above] += by; h.below[above] == 0 {
			delete(h.below, above)
		}
	}
}

// Len returns how many targets are held.
func (h *Holds) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.held)
}

// ancestors yields the paths above key, the root ("") last.
func ancestors(key string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key != "" {
			key = key[:max(strings.LastIndexByte(key, '/'), 0)]
			if !yield(key) {
				return
			}
		}
	}
}

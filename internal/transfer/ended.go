package transfer

import (
	"time"

	"github.com/google/uuid"
)

// rememberedIDs is how many ended transfers a connection remembers.
const rememberedIDs = 1024

// endedIDs remembers the ids of ended transfers: the last ones, for a while.
// Late frames of them are no error, and none of them can begin again.
type endedIDs struct {
	ttl   time.Duration
	at    map[uuid.UUID]time.Time
	order []uuid.UUID // oldest first
}

func (e *endedIDs) add(id uuid.UUID) {
	e.expire()
	if _, ok := e.at[id]; ok {
		return
	}
	if len(e.order) == rememberedIDs {
		e.dropOldest()
	}
	if e.at == nil {
		e.at = make(map[uuid.UUID]time.Time)
	}
	e.at[id] = time.Now()
	e.order = append(e.order, id)
}

func (e *endedIDs) has(id uuid.UUID) bool {
	e.expire()
	_, ok := e.at[id]
	return ok
}

func (e *endedIDs) expire() {
	for len(e.order) > 0 && time.Since(e.at[e.order[0]]) > e.ttl {
		e.dropOldest()
	}
}

func (e *endedIDs) dropOldest() {
	delete(e.at, e.order[0])
	e.order = e.order[1:]
}

package difftest

import (
	"math/rand/v2"
	"strconv"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// Mutator makes random edits of valid instances, one to three at a time, so that
// rules meet that no single edit brings together.
type Mutator struct {
	random *rand.Rand
}

// NewMutator returns a mutator that repeats itself for the same seed.
func NewMutator(seed uint64) *Mutator {
	return &Mutator{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

// Next returns an edited instance of a schema.
func (m *Mutator) Next(t *spec.Type) string {
	whole := Sample(t, m.random.IntN(4) > 0).Copy()
	for range 1 + m.random.IntN(3) {
		m.edit(whole)
	}
	return whole.String()
}

func (m *Mutator) edit(whole *Tree) {
	var places []*Tree
	whole.Each(func(t *Tree) { places = append(places, t) })
	at := places[m.random.IntN(len(places))]
	if at == whole && m.random.IntN(8) > 0 && len(places) > 1 {
		at = places[1+m.random.IntN(len(places)-1)]
	}
	switch {
	case at.Kind == 0 || len(at.Below) == 0 || m.random.IntN(3) == 0:
		*at = *m.value(places)
	case at.Kind == '{':
		m.editObject(at, places)
	default:
		m.editArray(at, places)
	}
}

// value is a nasty value, a value from another place, or a number.
func (m *Mutator) value(places []*Tree) *Tree {
	switch m.random.IntN(6) {
	case 0:
		return places[m.random.IntN(len(places))].Copy()
	case 1:
		return Leaf(strconv.FormatInt(m.random.Int64N(1<<53+10)>>m.random.IntN(53), 10))
	}
	return Leaf(pool[m.random.IntN(len(pool))])
}

func (m *Mutator) editObject(at *Tree, places []*Tree) {
	i := m.random.IntN(len(at.Below))
	switch m.random.IntN(6) {
	case 0:
		at.Drop(i)
	case 1:
		at.Add(at.Names[i], m.value(places))
	case 2:
		at.Add(`"unknown"`, m.value(places))
	case 3:
		names := otherNames(at.Names[i])
		at.Names[i] = names[m.random.IntN(len(names))]
	case 4:
		j := m.random.IntN(len(at.Below))
		at.Below[i], at.Below[j] = at.Below[j], at.Below[i]
	case 5:
		at.Names[i] = escapeFirst(at.Names[i])
	}
}

func (m *Mutator) editArray(at *Tree, places []*Tree) {
	i := m.random.IntN(len(at.Below))
	switch m.random.IntN(3) {
	case 0:
		at.Drop(i)
	case 1:
		at.Below = append(at.Below, m.value(places))
	case 2:
		for range m.random.IntN(300) {
			at.Below = append(at.Below, at.Below[i])
		}
	}
}

package wirejson

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// nameSets finds a name that stands twice in one object, for all the objects
// that are open. A name is remembered as the offset where its literal begins in
// the message, so that a million names cost a few bytes each and no copy: the memory of a large
// object stays below four times its text.
//
// Small objects are searched one by one in a shared stack; a large one gets a
// table of its own. The hash has a random seed, so that no peer can aim at it.
type nameSets struct {
	message []byte
	open    []nameSet
	small   []entry // names of the open small objects, one after the other
	free    [36][]table
	seed    maphash.Seed
	a, b    []byte
}

// entry is one name of a small object.
type entry struct {
	start, hash uint32
}

// nameSet holds the names of one open object.
type nameSet struct {
	first uint32 // index in small
	count uint32 // names in table
	table *table // nil while small
}

// table is a hash table with open addressing.
type table struct {
	starts []uint32
	marks  []uint8 // some bits of the hash, so that unequal names are rarely compared; 0 is an empty slot
}

const (
	searched  = 16 // names up to which an object is searched one by one
	leastBits = 6  // a table starts with 64 slots
)

func (n *nameSets) reset(message []byte) {
	n.message = message
	for len(n.open) > 0 {
		n.pop()
	}
	n.small = n.small[:0]
	if n.seed == (maphash.Seed{}) {
		n.seed = maphash.MakeSeed()
	}
}

func (n *nameSets) release() {
	n.message = nil
	n.free = [36][]table{}
	if cap(n.open) > 64 {
		n.open = nil
	}
	if cap(n.small) > 1024 {
		n.small = nil
	}
	clear(n.open[:cap(n.open)])
}

func (n *nameSets) push() {
	n.open = append(double(n.open), nameSet{first: uint32(len(n.small))})
}

func (n *nameSets) pop() {
	last := len(n.open) - 1
	if last < 0 {
		return // an end without a beginning: the decoder refuses it
	}
	set := &n.open[last]
	if set.table != nil {
		n.giveBack(*set.table)
		set.table = nil
	}
	n.small = n.small[:set.first]
	n.open = n.open[:last]
}

// double makes room for one more by doubling, which costs less memory in all than
// the smaller steps that append takes.
func double[T any](s []T) []T {
	if len(s) < cap(s) {
		return s
	}
	return slices.Grow(s, max(len(s), 16))
}

// add remembers the name whose literal is message[start:end], and reports false
// when the innermost open object has it already.
func (n *nameSets) add(start, end int) bool {
	set := &n.open[len(n.open)-1]
	hash := uint32(maphash.Bytes(n.seed, n.contents(start, end, &n.a)))
	if set.table != nil {
		if !n.insert(*set.table, start, hash) {
			return false
		}
		set.count++
		if int(set.count) > len(set.table.starts)/4*3 {
			n.grow(set)
		}
		return true
	}
	names := n.small[set.first:]
	for _, other := range names {
		if other.hash == hash && n.equal(int(other.start), start) {
			return false
		}
	}
	n.small = append(double(n.small), entry{uint32(start), hash})
	if len(names) == searched {
		n.tabulate(set)
	}
	return true
}

// tabulate turns a small set into a table.
func (n *nameSets) tabulate(set *nameSet) {
	table := n.take(leastBits)
	set.table = &table
	for _, name := range n.small[set.first:] {
		n.insert(table, int(name.start), name.hash)
		set.count++
	}
	n.small = n.small[:set.first]
}

func (n *nameSets) grow(set *nameSet) {
	larger := n.take(bitsOf(*set.table) + 1)
	for i, start := range set.table.starts {
		if set.table.marks[i] != 0 {
			n.insert(larger, int(start), uint32(maphash.Bytes(n.seed, n.name(int(start), &n.a))))
		}
	}
	n.giveBack(*set.table)
	*set.table = larger
}

func (n *nameSets) insert(t table, start int, hash uint32) bool {
	mask, mark := len(t.starts)-1, uint8(hash>>24)|1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		switch {
		case t.marks[i] == 0:
			t.starts[i], t.marks[i] = uint32(start), mark
			return true
		case t.marks[i] == mark && n.equal(int(t.starts[i]), start):
			return false
		}
	}
}

// take returns an empty table of 1<<bits slots, or a larger one that lies about:
// then a message that is read again does not grow its tables step by step again.
func (n *nameSets) take(bits int) table {
	const further = 3 // clearing one much too large would cost more than it saves
	for size := bits + further; size >= bits; size-- {
		if f := n.free[size]; len(f) > 0 {
			t := f[len(f)-1]
			n.free[size] = f[:len(f)-1]
			clear(t.marks)
			return t
		}
	}
	return table{make([]uint32, 1<<bits), make([]uint8, 1<<bits)}
}

func (n *nameSets) giveBack(t table) {
	bits := bitsOf(t)
	n.free[bits] = append(n.free[bits], t)
}

func bitsOf(t table) int { return bits.TrailingZeros(uint(len(t.starts))) }

func (n *nameSets) equal(start1, start2 int) bool {
	return bytes.Equal(n.name(start1, &n.a), n.name(start2, &n.b))
}

// name returns the contents of the string literal that begins at offset start.
func (n *nameSets) name(start int, scratch *[]byte) []byte {
	for i := start + 1; ; i++ {
		switch n.message[i] {
		case '"':
			return n.message[start+1 : i]
		case '\\':
			return n.contents(start, endOfString(n.message, start), scratch)
		}
	}
}

func (n *nameSets) contents(start, end int, scratch *[]byte) []byte {
	literal := n.message[start:end]
	if bytes.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1]
	}
	unquoted, err := jsontext.AppendUnquote((*scratch)[:0], literal)
	if err != nil {
		return literal // cannot be: the decoder has read it
	}
	*scratch = unquoted
	return unquoted
}

package wirejson

import (
	"bytes"
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"
)

// nameSets finds a name that stands twice in one object, for all the objects
// that are open. A name is remembered as the offset where its literal ends in
// the message, so that a million names cost a few bytes each and no copy: the memory of a large
// object stays below four times its text.
//
// Small objects are searched one by one in a shared stack; a large one gets a
// table of its own. The hash has a random seed, so that no peer can aim at it.
type nameSets struct {
	message []byte
	open    []nameSet
	small   []entry // names of the open small objects, one after the other
	free    [32][][]uint32
	seed    maphash.Seed
	a, b    []byte
}

// entry is one name of a small object.
type entry struct {
	start, end uint32
	hash       uint64
}

// nameSet holds the names of one open object.
type nameSet struct {
	first int      // index in small
	count int      // names in table
	table []uint32 // nil while small; 0 is an empty slot
}

const (
	searched  = 16 // names up to which an object is searched one by one
	leastBits = 6  // a table starts with 64 slots
)

func (n *nameSets) reset(message []byte) {
	n.message = message
	n.open = n.open[:0]
	n.small = n.small[:0]
	if n.seed == (maphash.Seed{}) {
		n.seed = maphash.MakeSeed()
	}
}

func (n *nameSets) release() {
	n.message = nil
	n.free = [32][][]uint32{}
	if cap(n.open) > 64 {
		n.open = nil
	}
	if cap(n.small) > 1024 {
		n.small = nil
	}
	clear(n.open[:cap(n.open)])
}

func (n *nameSets) push() {
	n.open = append(n.open, nameSet{first: len(n.small)})
}

func (n *nameSets) pop() {
	last := len(n.open) - 1
	if last < 0 {
		return // an end without a beginning: the decoder refuses it
	}
	set := &n.open[last]
	if set.table != nil {
		n.giveBack(set.table)
		set.table = nil
	}
	n.small = n.small[:set.first]
	n.open = n.open[:last]
}

// add remembers the name whose literal is message[start:end], and reports false
// when the innermost open object has it already.
func (n *nameSets) add(start, end int) bool {
	set := &n.open[len(n.open)-1]
	if set.table != nil {
		if !n.insert(set.table, end) {
			return false
		}
		set.count++
		if set.count > len(set.table)/4*3 {
			n.grow(set)
		}
		return true
	}
	hash := maphash.Bytes(n.seed, n.contents(start, end, &n.a))
	names := n.small[set.first:]
	for _, other := range names {
		if other.hash == hash && n.equal(int(other.end), end) {
			return false
		}
	}
	n.small = append(n.small, entry{uint32(start), uint32(end), hash})
	if len(names) == searched {
		n.tabulate(set)
	}
	return true
}

// tabulate turns a small set into a table.
func (n *nameSets) tabulate(set *nameSet) {
	set.table = n.take(leastBits)
	for _, name := range n.small[set.first:] {
		n.insert(set.table, int(name.end))
		set.count++
	}
	n.small = n.small[:set.first]
}

func (n *nameSets) grow(set *nameSet) {
	larger := n.take(bitsOf(set.table) + 1)
	for _, end := range set.table {
		if end != 0 {
			n.insert(larger, int(end))
		}
	}
	n.giveBack(set.table)
	set.table = larger
}

func (n *nameSets) insert(table []uint32, end int) bool {
	mask := len(table) - 1
	for i := int(n.hash(end)) & mask; ; i = (i + 1) & mask {
		switch other := int(table[i]); {
		case other == 0:
			table[i] = uint32(end)
			return true
		case n.equal(other, end):
			return false
		}
	}
}

// take returns an empty table of 1<<bits slots.
func (n *nameSets) take(bits int) []uint32 {
	if bits < len(n.free) {
		if f := n.free[bits]; len(f) > 0 {
			table := f[len(f)-1]
			n.free[bits] = f[:len(f)-1]
			clear(table)
			return table
		}
	}
	return make([]uint32, 1<<bits)
}

func (n *nameSets) giveBack(table []uint32) {
	if bits := bitsOf(table); bits < len(n.free) {
		n.free[bits] = append(n.free[bits], table)
	}
}

func bitsOf(table []uint32) int {
	bits := 0
	for size := len(table); size > 1; size >>= 1 {
		bits++
	}
	return bits
}

func (n *nameSets) hash(end int) uint64 {
	name := n.name(end, &n.a)
	return maphash.Bytes(n.seed, name)
}

func (n *nameSets) equal(end1, end2 int) bool {
	return bytes.Equal(n.name(end1, &n.a), n.name(end2, &n.b))
}

// name returns the contents of the string literal that ends at offset end.
func (n *nameSets) name(end int, scratch *[]byte) []byte {
	return n.contents(n.start(end), end, scratch)
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

// start finds the quote that opens the literal which ends at offset end: the
// nearest one to the left that is not escaped.
func (n *nameSets) start(end int) int {
	for i := end - 2; i >= 0; i-- {
		if n.message[i] != '"' {
			continue
		}
		slashes := 0
		for j := i - 1; j >= 0 && n.message[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return 0
}

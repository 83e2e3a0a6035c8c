package wirejson

import (
	"bytes"
	"hash/maphash"
	"math/bits"

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
	free    [32][]table
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
	first int   // index in small
	count int   // names in table
	table table // without slots while small
}

// table is a hash table with open addressing.
type table struct {
	ends  []uint32 // 0 is an empty slot
	marks []uint8  // some bits of the hash, so that unequal names are rarely compared
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
	n.free = [32][]table{}
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
	if set.table.ends != nil {
		n.giveBack(set.table)
		set.table = table{}
	}
	n.small = n.small[:set.first]
	n.open = n.open[:last]
}

// add remembers the name whose literal is message[start:end], and reports false
// when the innermost open object has it already.
func (n *nameSets) add(start, end int) bool {
	set := &n.open[len(n.open)-1]
	hash := maphash.Bytes(n.seed, n.contents(start, end, &n.a))
	if set.table.ends != nil {
		if !n.insert(set.table, end, hash) {
			return false
		}
		set.count++
		if set.count > len(set.table.ends)/4*3 {
			n.grow(set)
		}
		return true
	}
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
		n.insert(set.table, int(name.end), name.hash)
		set.count++
	}
	n.small = n.small[:set.first]
}

func (n *nameSets) grow(set *nameSet) {
	larger := n.take(bitsOf(set.table) + 1)
	for _, end := range set.table.ends {
		if end != 0 {
			n.insert(larger, int(end), maphash.Bytes(n.seed, n.name(int(end), &n.a)))
		}
	}
	n.giveBack(set.table)
	set.table = larger
}

func (n *nameSets) insert(t table, end int, hash uint64) bool {
	mask, mark := len(t.ends)-1, uint8(hash>>56)
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		switch {
		case t.ends[i] == 0:
			t.ends[i], t.marks[i] = uint32(end), mark
			return true
		case t.marks[i] == mark && n.equal(int(t.ends[i]), end):
			return false
		}
	}
}

// take returns an empty table of 1<<bits slots.
func (n *nameSets) take(bits int) table {
	if f := n.free[bits]; len(f) > 0 {
		t := f[len(f)-1]
		n.free[bits] = f[:len(f)-1]
		clear(t.ends)
		return t
	}
	return table{make([]uint32, 1<<bits), make([]uint8, 1<<bits)}
}

func (n *nameSets) giveBack(t table) {
	bits := bitsOf(t)
	n.free[bits] = append(n.free[bits], t)
}

func bitsOf(t table) int { return bits.TrailingZeros(uint(len(t.ends))) }

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

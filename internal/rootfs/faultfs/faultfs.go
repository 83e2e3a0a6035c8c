// Package faultfs holds ready-made faults for tests: a disk that fills up at a
// byte, writes that come out short, a step that fails, and a look at the disk
// right before a step. It is never linked into a binary.
package faultfs

import (
	"strings"
	"sync"
	"syscall"

	"github.com/vancetope/transfer/internal/rootfs"
)

// Disk is a rootfs.Faults made of rules. The first rule that has something to
// say about a step decides.
type Disk struct {
	mu    sync.Mutex
	rules []*Rule
	seen  map[rootfs.Op]int
}

// Rule is one way in which a disk misbehaves.
type Rule struct {
	op    rootfs.Op
	name  string // "" for any
	left  int    // how often it still applies, -1 for ever
	err   error
	do    func(name string)
	write bool
	at    int64
}

// New returns a disk with the given rules. It can be given more later.
func New(rules ...*Rule) *Disk {
	return &Disk{rules: rules, seen: map[rootfs.Op]int{}}
}

// Fail makes every step of a kind fail.
func Fail(op rootfs.Op, err error) *Rule { return &Rule{op: op, left: -1, err: err} }

// FailTimes makes the next n steps of a kind fail, then no more.
func FailTimes(op rootfs.Op, n int, err error) *Rule { return &Rule{op: op, left: n, err: err} }

// Do calls a function before every step of a kind, with the component the step
// is about, and lets the step happen.
func Do(op rootfs.Op, f func(name string)) *Rule { return &Rule{op: op, left: -1, do: f} }

// FullAt is a disk that holds k bytes of each file.
func FullAt(k int64) *Rule { return WriteError(k, syscall.ENOSPC) }

// WriteError lets k bytes of each file be written and then fails.
func WriteError(k int64, err error) *Rule { return &Rule{write: true, left: -1, at: k, err: err} }

// ShortWrite cuts the write that passes byte k, and reports no error for it.
func ShortWrite(k int64) *Rule { return &Rule{write: true, left: 1, at: k} }

// Named limits a rule to one component, or to all that begin alike when the name
// ends in "*".
func (r *Rule) Named(name string) *Rule {
	r.name = name
	return r
}

// Add gives the disk another rule.
func (d *Disk) Add(r *Rule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rules = append(d.rules, r)
}

// Clear makes the disk well.
func (d *Disk) Clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rules = nil
}

// Count returns how many steps of a kind were begun.
func (d *Disk) Count(op rootfs.Op) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[op]
}

// Total returns how many steps of all kinds were begun, writes apart.
func (d *Disk) Total() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	total := 0
	for _, n := range d.seen {
		total += n
	}
	return total
}

// Before implements rootfs.Faults.
func (d *Disk) Before(op rootfs.Op, name string) error {
	rule := d.match(op, name)
	switch {
	case rule == nil:
		return nil
	case rule.do != nil:
		rule.do(name)
		return nil
	}
	return rule.err
}

func (d *Disk) match(op rootfs.Op, name string) *Rule {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[op]++
	for _, r := range d.rules {
		if !r.write && r.op == op && r.names(name) && r.left != 0 {
			r.use()
			return r
		}
	}
	return nil
}

// Write implements rootfs.Faults.
func (d *Disk) Write(name string, offset int64, size int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.rules {
		if r.write && r.names(name) && r.left != 0 && offset+int64(size) > r.at {
			r.use()
			return int(max(r.at-offset, 0)), r.err
		}
	}
	return size, nil
}

func (r *Rule) names(name string) bool {
	if prefix, ok := strings.CutSuffix(r.name, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return r.name == "" || r.name == name
}

func (r *Rule) use() {
	if r.left > 0 {
		r.left--
	}
}

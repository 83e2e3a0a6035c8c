//go:build !race

package difftest

// Thinned is how many instances stand for one: every instance is tried.
const Thinned = 1

//go:build race

package difftest

// Thinned is how many instances stand for one in a test with the race detector,
// which makes them sixteen times as slow and can find nothing in code that
// shares nothing.
const Thinned = 16

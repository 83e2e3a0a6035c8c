//go:build !unix || darwin

package infile

// nonBlocking is left out where pipes have no names, and on macOS, where the
// runtime cannot wait for one and would report that nothing has come yet.
const nonBlocking = 0

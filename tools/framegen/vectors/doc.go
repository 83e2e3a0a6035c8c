// Package vectors holds schema/vectors to the schemas: each frame and each side
// of a tool must have a file, and the file an invalid message for every rule at
// every place, and valid ones that use every member. It also drafts what is
// missing.
//
// What a vector must say is derived from the schemas alone, never from the
// generated decoders: those are what the vectors judge. So this package imports
// nothing of gen/.
package vectors

// Package spec reads schema/: the files as they stand (Node), the lint that
// holds them to the part of JSON Schema for which the generator knows exact
// code (Lint), and the model that every stage of the generator works on (Model).
//
// It refuses what it does not know. A keyword that the lint passes over would be
// missing from the generated code, so there is no such keyword.
package spec

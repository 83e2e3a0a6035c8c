// Package difftest compares the generated decoders and checks with the schemas
// themselves, message by message, with santhosh-tekuri/jsonschema as the oracle.
//
// It owns the instances (what to try at each place of a schema), the subjects
// (every generated type with its decoder) and the verdicts. It allows exactly one
// difference, the rule on the spelling of numbers that README.md states.
package difftest

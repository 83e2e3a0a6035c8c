// Command mutate asks whether the tests of the generated code would notice if it
// were wrong. It builds the generated packages once with every mutant in them,
// each behind a switch (see switches.go.txt), and lets trial judge them one by one
// in one process; what that lets live is run against the package's other tests.
//
// It refuses a survivor that MUTANTS.md does not explain, and an explanation of a
// mutant that is killed or gone. It writes nothing into the repository.
package main

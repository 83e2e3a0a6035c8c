// Command schemadiff says what the schemas of today break for peers that were
// built from schema/baseline.json.
//
// A breaking change is allowed when schema/BREAKING.md has an entry for it, and
// an entry is allowed only as long as there is such a change. What counts as
// breaking depends on who may be the older end: see kinds.go. It refuses to make
// a new baseline out of changes that nobody has written down.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/vancetope/transfer/schema"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

const (
	baselineFile = "baseline.json"
	recordFile   = "BREAKING.md"
)

func main() {
	folder := flag.String("schema", "schema", "folder of baseline.json and BREAKING.md")
	renew := flag.Bool("baseline", false, "write baseline.json from the schemas of today")
	name := flag.String("name", "", "with -baseline: under which heading the entries of BREAKING.md are kept, for example a version")
	flag.Parse()
	m, err := spec.Load(schema.Files())
	if err == nil && *renew {
		err = writeBaseline(os.Stdout, m, *folder, *name)
	} else if err == nil {
		err = report(os.Stdout, m, *folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "schemadiff:", err)
		os.Exit(1)
	}
}

// result is a comparison with the baseline.
type result struct {
	now        *spec.Node
	changes    []Change
	entries    []entry
	record     string
	complaints []string
}

func check(m *spec.Model, folder string) (*result, error) {
	text, err := os.ReadFile(filepath.Join(folder, baselineFile))
	if err != nil {
		return nil, err
	}
	old, err := spec.Parse(baselineFile, text)
	if err != nil {
		return nil, err
	}
	record, err := os.ReadFile(filepath.Join(folder, recordFile))
	if err != nil {
		return nil, err
	}
	r := &result{record: string(record)}
	if r.entries, err = readRecord(r.record); err != nil {
		return nil, err
	}
	if r.now, err = bundle(m); err != nil {
		return nil, err
	}
	r.changes = compare(old, r.now)
	r.complaints = judge(r.changes, r.entries)
	return r, nil
}

// report prints every breaking change and fails when one is not written down.
func report(out io.Writer, m *spec.Model, folder string) error {
	r, err := check(m, folder)
	if err != nil {
		return err
	}
	if len(r.complaints) > 0 {
		return fmt.Errorf("the schemas and the baseline do not go together:\n%s", strings.Join(r.complaints, "\n"))
	}
	for _, c := range r.changes {
		fmt.Fprintf(out, "breaking, and written down: %s; %s\n", c.Line(), c.Consequence())
	}
	if len(r.changes) == 0 {
		fmt.Fprintln(out, "nothing breaks peers of the baseline")
	}
	return nil
}

// writeBaseline makes the schemas of today the baseline.
func writeBaseline(out io.Writer, m *spec.Model, folder, name string) error {
	file := filepath.Join(folder, baselineFile)
	_, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) { // the first one has nothing to be compared with
		now, err := bundle(m)
		if err != nil {
			return err
		}
		return writeBundle(out, file, now)
	}
	r, err := check(m, folder)
	switch {
	case err != nil:
		return err
	case len(r.complaints) > 0:
		return fmt.Errorf("no new baseline before this is settled:\n%s", strings.Join(r.complaints, "\n"))
	case len(r.entries) > 0 && name == "":
		return errors.New("schema/BREAKING.md has entries: say with -name (make schema-baseline NAME=0.2.0) under which heading to keep them")
	}
	if len(r.entries) > 0 {
		if err := os.WriteFile(filepath.Join(folder, recordFile), []byte(closeRecord(r.record, name)), 0o644); err != nil {
			return err
		}
	}
	return writeBundle(out, file, r.now)
}

func writeBundle(out io.Writer, file string, now *spec.Node) error {
	text, err := indented(now)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %s\n", file)
	return nil
}

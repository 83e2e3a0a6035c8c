package spec

import (
	"bytes"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vancetope/transfer/schema"
)

// hasExample checks that a frame shows what it looks like: the documents print
// its first example.
func (l *linter) hasExample(f *Node) {
	examples := f.Get("examples")
	if examples == nil || examples.Kind != '[' || len(examples.Items) == 0 {
		l.report(f, "has no example", "add \"examples\": [{...}] with a message as it is really sent; the documents print it")
	}
}

// validExamples holds the examples of all files to the schema they stand in.
func validExamples(set *schema.Set, files []*Node) error {
	var problems Problems
	for _, f := range files {
		examples := f.Get("examples")
		if examples == nil {
			continue
		}
		compiled, err := set.Lookup(f.File)
		if err != nil {
			return err
		}
		for _, example := range examples.Items {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(example.AppendJSON(nil)))
			if err == nil {
				err = compiled.Validate(value)
			}
			if err != nil {
				problems = append(problems, &Problem{example.File, example.Pointer,
					fmt.Sprintf("the example is not valid: %v", err), "correct the example or the schema"})
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

package e2etest

import (
	"strings"
	"sync"

	"github.com/vancetope/transfer/schema"
)

var compiled = sync.OnceValues(schema.Compile)

// invalidOutput says what is wrong with a tool's structured output, "" when
// nothing is.
func invalidOutput(tool string, raw []byte) string {
	return invalid("tools/"+tool+".output", raw)
}

// invalidFrame says what is wrong with a frame.
func invalidFrame(frameType string, raw []byte) string {
	return invalid("frames/"+strings.ReplaceAll(frameType, ".", "_"), raw)
}

// invalid checks JSON against the file schema/<name>.schema.json with the
// schema compiler, the oracle that the generated code is measured by.
func invalid(name string, raw []byte) string {
	set, err := compiled()
	if err != nil {
		return err.Error()
	}
	if err := set.Check(name, raw); err != nil {
		return err.Error()
	}
	return ""
}

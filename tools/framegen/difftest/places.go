package difftest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

// misplaced says how a refusal names another place than the schemas, which refuse
// the text too; "" if it names one of those where they find something wrong. A
// text that is not I-JSON, and a number that is not looked at, have no place there.
func misplaced(refusal, want error) string {
	var schemas *jsonschema.ValidationError
	if !errors.As(want, &schemas) {
		return ""
	}
	place, rule := placeOf(refusal)
	if rule == "numberForm" {
		return ""
	}
	found := places(schemas)
	if slices.Contains(found, place) && rule != "syntax" {
		return ""
	}
	return fmt.Sprintf("refused at %q for its %s, where the schemas find something wrong at %q", place, rule, found)
}

func placeOf(refusal error) (place, rule string) {
	var ofFrame *frames.DecodeError
	var ofTool *common.DecodeError
	switch {
	case errors.As(refusal, &ofFrame):
		return ofFrame.Place, ofFrame.Rule
	case errors.As(refusal, &ofTool):
		return ofTool.Place, ofTool.Rule
	}
	return "", ""
}

// places are the JSON pointers of everything that the schemas find wrong; of a
// member that is missing or unknown it is the member's own.
func places(e *jsonschema.ValidationError) []string {
	if len(e.Causes) > 0 {
		var below []string
		for _, cause := range e.Causes {
			below = append(below, places(cause)...)
		}
		return below
	}
	var members []string
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		members = k.Missing
	case *kind.AdditionalProperties:
		members = k.Properties
	default:
		return []string{pointer(e.InstanceLocation)}
	}
	var out []string
	for _, member := range members {
		out = append(out, pointer(append(slices.Clone(e.InstanceLocation), member)))
	}
	return out
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// pointer writes names as refusals do, with everything escaped that is not ASCII.
func pointer(tokens []string) string {
	var out strings.Builder
	for _, token := range tokens {
		quoted := strconv.QuoteToASCII(token)
		out.WriteString("/" + escape.Replace(quoted[1:len(quoted)-1]))
	}
	return out.String()
}

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
	"github.com/vancetope/transfer/schema"
)

// misplaced says how a refusal names another place or rule than the schemas, which
// refuse the text too, or another code than they give to the rule; "" if it names
// one of those that they find broken. A text that is not I-JSON, and a number that is not looked at, have no place there.
func (o *Oracle) misplaced(refusal, want error) string {
	var schemas *jsonschema.ValidationError
	if !errors.As(want, &schemas) {
		return ""
	}
	place, rule, code := placeOf(refusal)
	if rule == "numberForm" {
		return ""
	}
	found := places(schemas)
	if slices.Contains(found, fault{place, rule}) {
		file, _, _ := strings.Cut(strings.TrimPrefix(schemas.SchemaURL, schema.Base), "#")
		return o.files.miscoded(file, place, rule, code)
	}
	return fmt.Sprintf("refused at %q for its %s, where the schemas find %q", place, rule, found)
}

func placeOf(refusal error) (place, rule, code string) {
	var ofFrame *frames.DecodeError
	var ofTool *common.DecodeError
	switch {
	case errors.As(refusal, &ofFrame):
		return ofFrame.Place, ofFrame.Rule, string(ofFrame.Code)
	case errors.As(refusal, &ofTool):
		return ofTool.Place, ofTool.Rule, string(ofTool.Code)
	}
	return "", "", ""
}

// fault is a place and the keyword that is broken there.
type fault struct{ Place, Rule string }

// places are everything that the schemas find wrong; of a member that is missing
// or unknown the place is the member's own.
func places(e *jsonschema.ValidationError) []fault {
	at := pointer(e.InstanceLocation)
	var found []fault
	for _, cause := range e.Causes {
		found = append(found, places(cause)...)
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, member := range k.Missing {
			found = append(found, fault{at + pointer([]string{member}), "required"})
		}
	case *kind.AdditionalProperties:
		for _, member := range k.Properties {
			found = append(found, fault{at + pointer([]string{member}), "unknown"})
		}
	case *kind.Type:
		found = append(found, fault{at, "type"}, fault{at, "null"})
	case *kind.Not:
		found = append(found, fault{at, "not"})
	case *kind.AnyOf:
		found = append(found, fault{at, "anyOf"})
	case *kind.Pattern: // three patterns pin formats, which the reader parses
		found = append(found, fault{at, "pattern"}, fault{at, "format"}, fault{at, "contentEncoding"})
	default:
		if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
			found = append(found, fault{at, path[0]})
		}
	}
	return found
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// pointer writes names as refusals do: 64 bytes of them, with everything escaped
// that is not ASCII.
func pointer(tokens []string) string {
	const longest = 64
	var out strings.Builder
	for _, token := range tokens {
		cut := ""
		if len(token) > longest {
			token, cut = token[:longest], "..."
		}
		quoted := strconv.QuoteToASCII(token)
		out.WriteString("/" + escape.Replace(quoted[1:len(quoted)-1]) + cut)
	}
	return out.String()
}

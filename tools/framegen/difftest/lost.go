package difftest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// lost says where a message and what it was decoded to and encoded again differ
// in a member that the schema has, "" if nowhere.
func (o *Oracle) lost(s Subject, text, encoded []byte) string {
	in, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err.Error()
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		return err.Error()
	}
	t := s.Type
	if object, ok := in.(map[string]any); ok && s.Type.Package == "frames" {
		tag, _ := object["type"].(string) // accepted as a frame, so it is one
		t = o.types[tag]
	}
	if place := differs(t, in, out); place != "" {
		return fmt.Sprintf("encodes to %.200s, which differs at %s", encoded, place)
	}
	return ""
}

func differs(t *spec.Type, in, out any) string {
	if in == nil || out == nil {
		return where(in == nil && out == nil)
	}
	switch t.Kind {
	case spec.Object:
		return differsBelow(t, in.(map[string]any), out.(map[string]any))
	case spec.Array:
		a, b := in.([]any), out.([]any)
		if len(a) != len(b) {
			return "/"
		}
		for i := range a {
			if place := differs(t.Items, a[i], b[i]); place != "" {
				return fmt.Sprintf("/%d%s", i, place)
			}
		}
		return ""
	case spec.Integer:
		return where(sameNumber(in.(json.Number), out.(json.Number)))
	case spec.String:
		if t.Format == "date-time" {
			return where(sameMoment(in.(string), out.(string)))
		}
	}
	return where(in == out)
}

// differsBelow compares the members that the schema has. Absent and null are the
// same where the schema says so.
func differsBelow(t *spec.Type, in, out map[string]any) string {
	for _, f := range t.Fields {
		a, there := in[f.Name]
		b, still := out[f.Name]
		if there != still && (!f.EmitNull && !f.Type.Nullable || a != nil || b != nil) {
			return "/" + f.Name
		}
		if place := differs(f.Type, a, b); place != "" {
			return "/" + f.Name + place
		}
	}
	for name := range out {
		if !has(t, name) {
			return "/" + name
		}
	}
	return ""
}

func has(t *spec.Type, name string) bool {
	for _, f := range t.Fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

func where(same bool) string {
	if same {
		return ""
	}
	return "/"
}

func sameNumber(a, b json.Number) bool {
	x, ok := new(big.Rat).SetString(a.String())
	y, fine := new(big.Rat).SetString(b.String())
	return ok && fine && x.Cmp(y) == 0
}

func sameMoment(a, b string) bool {
	x, err := time.Parse(time.RFC3339Nano, a)
	y, broken := time.Parse(time.RFC3339Nano, b)
	return err == nil && broken == nil && x.Equal(y)
}

package difftest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vancetope/transfer/schema"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

// Oracle says what the schemas say.
type Oracle struct {
	set    *schema.Set
	frames map[string]string // tag to file
	types  map[string]*spec.Type
	files  schemaFiles
	asked  map[question]error
}

// question is a text that was judged already.
type question struct {
	file string
	text uint64
}

var seed = maphash.MakeSeed()

// Remember lets the oracle answer the same question only once: for those that put
// it very often, and one at a time.
func (o *Oracle) Remember() { o.asked = map[question]error{} }

// NewOracle compiles the schemas.
func NewOracle(m *spec.Model) (*Oracle, error) {
	set, err := schema.Compile()
	if err != nil {
		return nil, err
	}
	o := &Oracle{set: set, frames: map[string]string{}, types: map[string]*spec.Type{}, files: filesOf(m)}
	for _, f := range m.Frames {
		o.frames[f.Tag], o.types[f.Tag] = f.Type.Node.File, f.Type
	}
	return o, nil
}

// Accepts reports whether a text is valid for a schema file. A text that is no
// I-JSON has no instance. A frame is judged by the schema of the type it names.
func (o *Oracle) Accepts(file string, text []byte) error {
	if o.asked == nil {
		return o.judge(file, text)
	}
	q := question{file, maphash.Bytes(seed, text)}
	err, known := o.asked[q]
	if !known {
		err = o.judge(file, text)
		o.asked[q] = err
	}
	return err
}

func (o *Oracle) judge(file string, text []byte) error {
	if !jsontext.Value(text).IsValid() {
		return errors.New("not I-JSON")
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if strings.HasPrefix(file, "frames/") {
		object, ok := instance.(map[string]any)
		if !ok {
			return errors.New("not an object")
		}
		tag, ok := object["type"].(string)
		if file = o.frames[tag]; !ok || file == "" {
			return fmt.Errorf("no frame %q", tag)
		}
	}
	compiled, err := o.set.Lookup(file)
	if err != nil {
		return err
	}
	return compiled.Validate(instance)
}

// Costly reports whether a text has a number that would cost the oracle seconds.
func Costly(text []byte) bool {
	digits, exponent := 0, 0
	inExponent := false
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			digits++
			if inExponent {
				exponent++
			}
		case c == 'e' || c == 'E':
			inExponent = digits > 0
		case c == '+' || c == '-' || c == '.':
		default:
			digits, exponent, inExponent = 0, 0, false
		}
		if exponent > 4 {
			return true
		}
	}
	return false
}

// Verdict is how the comparison of one text ended.
type Verdict struct {
	Accepted bool
	// NumberForm marks the one difference that is allowed: the decoder does not
	// look at a number that is spelt very long.
	NumberForm bool
	// Difference says how the decoder and the schemas disagree, "" if they agree.
	Difference string
}

// Compare decodes a text and asks the oracle. A refusal must name a place where
// the schemas find something wrong too. What is accepted must encode to something
// that the schemas accept and that says the same, and decode to the same again.
func (o *Oracle) Compare(s Subject, text []byte) Verdict {
	m, err := s.Decode(text)
	want := o.Accepts(s.File, text)
	if err != nil {
		if want == nil {
			if isNumberForm(err) {
				return Verdict{NumberForm: true}
			}
			return Verdict{Difference: fmt.Sprintf("too strict: %v", err)}
		}
		return Verdict{Difference: o.misplaced(err, want)}
	}
	if want != nil {
		return Verdict{Accepted: true, Difference: fmt.Sprintf("too lax: the schema says %v", want)}
	}
	return Verdict{Accepted: true, Difference: o.roundTrip(s, text, m)}
}

func isNumberForm(err error) bool {
	return strings.HasSuffix(err.Error(), "must be spelt in at most 64 bytes") ||
		strings.HasSuffix(err.Error(), "must have an exponent within 100")
}

func (o *Oracle) roundTrip(s Subject, text []byte, m Message) string {
	if err := m.Validate(); err != nil {
		return fmt.Sprintf("accepted, but does not validate: %v", err)
	}
	first, err := m.AppendJSON(nil)
	if err != nil {
		return fmt.Sprintf("accepted, but does not encode: %v", err)
	}
	if err := o.Accepts(s.File, first); err != nil {
		return fmt.Sprintf("encodes to %.200s, which the schema refuses: %v", first, err)
	}
	again, err := s.Decode(first)
	if err != nil {
		return fmt.Sprintf("encodes to %.200s, which is not decoded: %v", first, err)
	}
	if lost := o.lost(s, text, first); lost != "" {
		return lost
	}
	second, err := again.AppendJSON([]byte("prefix"))
	if err != nil || string(second) != "prefix"+string(first) {
		return fmt.Sprintf("encodes to %.200s, and then to %.200s", first, second)
	}
	return ""
}

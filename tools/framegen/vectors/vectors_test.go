package vectors_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/schema"
	"github.com/vancetope/transfer/schema/vectors"
	"github.com/vancetope/transfer/tools/framegen/difftest"
)

// refusal is what an invalid vector says.
type refusal struct{ Place, Rule, Code string }

// decoded is how a decoder of ours took a message.
type decoded struct {
	message difftest.Message
	refusal *refusal
}

type world struct {
	files    []*vectors.File
	schemas  *schema.Set
	subjects map[string]difftest.Subject
}

func load(t *testing.T) world {
	t.Helper()
	files, err := vectors.Load(vectors.Files())
	if err != nil {
		t.Fatal(err)
	}
	set, err := schema.Compile()
	if err != nil {
		t.Fatal(err)
	}
	m := model(t)
	w := world{files, set, map[string]difftest.Subject{}}
	subjects, _ := difftest.Subjects(m)
	for _, s := range subjects {
		w.subjects[s.File] = s
	}
	return w
}

// receivers are the ways to receive the messages of a file: as a role, or as the
// one reader that a tool's message has.
func receivers(f *vectors.File) []string {
	switch {
	case f.Schema == "":
		return vectors.Roles
	case len(f.To) > 0:
		return f.To
	}
	return []string{""}
}

func (w world) decode(t *testing.T, f *vectors.File, v vectors.Vector, role string) decoded {
	t.Helper()
	d := frames.Decoder{Features: frames.ParseFeatures(v.Features)}
	var message difftest.Message
	var err error
	switch role {
	case "brain":
		message, err = d.DecodeForBrain(v.Bytes())
	case "foot":
		message, err = d.DecodeForFoot(v.Bytes())
	default:
		subject, known := w.subjects[f.Schema]
		if !known {
			t.Fatalf("schema/%s has no decoder in difftest/subjects.go; add it to its table", f.Schema)
		}
		message, err = subject.Decode(v.Bytes())
	}
	if err == nil {
		return decoded{message: message}
	}
	var ofFrame *frames.DecodeError
	var ofTool *common.DecodeError
	switch {
	case errors.As(err, &ofFrame):
		return decoded{refusal: &refusal{ofFrame.Place, ofFrame.Rule, string(ofFrame.Code)}}
	case errors.As(err, &ofTool):
		return decoded{refusal: &refusal{ofTool.Place, ofTool.Rule, string(ofTool.Code)}}
	}
	t.Fatalf("refused without a place: %v", err)
	return decoded{}
}

// byTheSchema is what the schema library says of a message. It has no schema for
// messages that are no frame.
func (w world) byTheSchema(t *testing.T, f *vectors.File, v vectors.Vector) error {
	t.Helper()
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(v.Bytes()))
	if err != nil {
		return err
	}
	compiled, err := w.schemas.Lookup(f.Schema)
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(instance)
}

func TestEveryValidVectorIsAcceptedAndComesBackTheSame(t *testing.T) {
	w := load(t)
	n := 0
	for _, f := range w.files {
		for _, v := range f.Valid {
			n++
			for i, role := range receivers(f) {
				got := w.decode(t, f, v, role)
				if got.refusal != nil {
					t.Errorf("%s, %q, to %q: refused: %+v", f.Name, v.Name, role, *got.refusal)
				} else if i == 0 { // the message is the same for both
					w.comesBack(t, f, v, role, got.message)
				}
			}
			if err := w.byTheSchema(t, f, v); err != nil {
				t.Errorf("%s, %q: the schema says %v", f.Name, v.Name, err)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d valid vectors were tried", n)
	}
}

func (w world) comesBack(t *testing.T, f *vectors.File, v vectors.Vector, role string, message difftest.Message) {
	t.Helper()
	if err := message.Validate(); err != nil {
		t.Errorf("%s, %q: accepted, but does not validate: %v", f.Name, v.Name, err)
	}
	text, err := message.AppendJSON(nil)
	if err != nil {
		t.Errorf("%s, %q: accepted, but does not encode: %v", f.Name, v.Name, err)
		return
	}
	copied := v
	copied.Message, copied.Text = text, nil
	if err := w.byTheSchema(t, f, copied); err != nil {
		t.Errorf("%s, %q: encodes to %s: the schema says %v", f.Name, v.Name, text, err)
	}
	again := w.decode(t, f, copied, role)
	if !reflect.DeepEqual(message, again.message) {
		t.Errorf("%s, %q: comes back as %+v, was %+v", f.Name, v.Name, again.message, message)
	}
}

func TestEveryInvalidVectorIsRefusedWithItsPlaceRuleAndCode(t *testing.T) {
	w := load(t)
	n := 0
	for _, f := range w.files {
		for _, v := range f.Invalid {
			n++
			want := refusal{*v.Place, v.Rule, v.Code}
			for _, role := range receivers(f) {
				got := w.decode(t, f, v, role)
				if got.refusal == nil {
					t.Errorf("%s, %q, to %q: accepted", f.Name, v.Name, role)
				} else if *got.refusal != want {
					t.Errorf("%s, %q, to %q: refused as %+v, want %+v", f.Name, v.Name, role, *got.refusal, want)
				}
			}
			if f.Schema == "" {
				continue
			}
			err := w.byTheSchema(t, f, v)
			if err == nil && v.Stricter == "" {
				t.Errorf("%s, %q: the schema accepts it; say why in stricter, or correct the vector", f.Name, v.Name)
			}
			if err != nil && v.Stricter != "" {
				t.Errorf("%s, %q: the schema refuses it as well (%v); remove stricter", f.Name, v.Name, err)
			}
		}
	}
	if n < 400 {
		t.Errorf("only %d invalid vectors were tried", n)
	}
}

// TestAVectorGoesToItsRolesOnly sends every valid frame the wrong way.
func TestAVectorGoesToItsRolesOnly(t *testing.T) {
	w := load(t)
	n := 0
	for _, f := range w.files {
		for _, role := range vectors.Roles {
			if len(f.To) == 0 || strings.Contains(strings.Join(f.To, " "), role) {
				continue
			}
			for _, v := range f.Valid {
				n++
				got := w.decode(t, f, v, role)
				if want := (refusal{"/type", "type", "unexpected_frame"}); got.refusal == nil || *got.refusal != want {
					t.Errorf("%s, %q, to %s: got %+v, want %+v", f.Name, v.Name, role, got.refusal, want)
				}
			}
		}
	}
	if n == 0 {
		t.Error("no frame goes one way only")
	}
}

// TestAFrameOfAFeatureNeedsIt takes the features away from every valid frame of
// an extension.
func TestAFrameOfAFeatureNeedsIt(t *testing.T) {
	w := load(t)
	m := model(t)
	extension := map[string]bool{}
	for _, f := range m.Frames {
		extension[f.Type.Node.File] = f.Feature != ""
	}
	for _, f := range w.files {
		if !extension[f.Schema] {
			continue
		}
		for _, v := range f.Valid {
			v.Features = nil
			for _, role := range f.To {
				got := w.decode(t, f, v, role)
				if want := (refusal{"/type", "type", "unexpected_frame"}); got.refusal == nil || *got.refusal != want {
					t.Errorf("%s, %q, to %s: got %+v, want %+v", f.Name, v.Name, role, got.refusal, want)
				}
			}
		}
	}
}

package main

import (
	"fmt"
	"slices"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// payloadOf returns the one base64 member of an object, nil if it has none or
// several.
func payloadOf(t *spec.Type) *spec.Field {
	var payload *spec.Field
	for _, f := range t.Fields {
		if !f.Type.Base64 {
			continue
		}
		if payload != nil {
			return nil
		}
		payload = f
	}
	return payload
}

// spliceable reports whether a frame gets a fast path: it has a payload, every
// member is always there, and each is of a kind that Splice reads.
func spliceable(t *spec.Type) bool {
	return payloadOf(t) != nil && !slices.ContainsFunc(t.Fields, func(f *spec.Field) bool {
		return !f.Required || f.Feature != "" || f.NullFeature != "" || f.Type.Nullable || splicedRead(f.Type) == ""
	})
}

// splicedRead is the call that reads a value of a type, "" if there is none.
func splicedRead(t *spec.Type) string {
	switch {
	case t.Const != "":
		return "const" // part of the fixed text
	case t.Kind == spec.Integer && t.Min >= 0:
		return "s.Int()"
	case t.Kind == spec.Boolean:
		return "s.Bool()"
	case t.Format == "uuid":
		return "s.UUID()"
	case t.Base64:
		return "s.Text()"
	}
	return ""
}

// splice writes readSpliced, the mirror image of AppendJSON. The payload is
// decoded last, when the rest of the message is known to be right.
func (c *codec) splice(t *spec.Type) {
	if c.pkg != "frames" || !spliceable(t) {
		return
	}
	payload := payloadOf(t)
	c.line("// readSpliced reads what AppendJSON writes, and nothing else.")
	c.line("func (v *%s) readSpliced(message []byte, buffer func(n int) []byte) bool {", t.Name)
	c.line("s := wirejson.NewSplice(message)")
	fixed := "{"
	for i, f := range t.Fields {
		if i > 0 {
			fixed += ","
		}
		fixed += fmt.Sprintf("%q:", f.Name)
		if f.Type.Const != "" {
			fixed += fmt.Sprintf("%q", f.Type.Const)
			continue
		}
		c.line("s.Fixed(%s)", goString(fixed))
		fixed = ""
		if f == payload {
			c.line("text := s.Text()")
		} else {
			c.line("v.%s = %s", goName(f.Name), splicedRead(f.Type))
		}
	}
	c.line("s.Fixed(%s)", goString(fixed+"}"))
	c.line("if !s.Whole() {\nreturn false\n}")
	for _, f := range t.Fields {
		if f.Type.Const != "" {
			c.line("v.%s = FrameType%s", goName(f.Name), varName(f.Type.Const))
		}
	}
	c.line("var ok bool\nv.%s, ok = wirejson.Payload(text, %d, buffer)", goName(payload.Name), payload.Type.MaxLength)
	c.line("return ok && v.checkOwn() == nil\n}\n")
}

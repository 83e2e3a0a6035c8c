package main

import (
	"fmt"
	"strings"

	"github.com/vancetope/transfer/tools/framegen/spec"
)

// featureName returns the Go constant of a feature: trailing-hash is
// FeatureTrailingHash.
func featureName(feature string) string { return "Feature" + varName(feature) }

// generateRoles returns roles.go of gen/frames: who may receive what, through
// which lane, under which feature; and the handlers.
func generateRoles(m *spec.Model) ([]byte, error) {
	c := &codec{pkg: "frames"}
	c.features(m)
	c.lanes(m)
	c.transfers(m)
	for _, f := range m.Frames {
		c.line("// FrameType is the tag of the frame.\nfunc (*%s) FrameType() FrameType { return FrameType%s }\n", f.Type.Name, varName(f.Tag))
	}
	c.kinds(m)
	c.handler(m, "Brain", (*spec.Frame).ToBrain)
	c.handler(m, "Foot", (*spec.Frame).ToFoot)
	var out strings.Builder
	out.WriteString(codeHeader + "package frames\n\n")
	body := c.String()
	writeImports(&out, body, "frames", false)
	out.WriteString(body)
	return formatGo("frames/roles.go", out.String())
}

func (c *codec) features(m *spec.Model) {
	c.line("// FeatureSet is the set of extensions in force on a connection.\ntype FeatureSet uint64\n")
	if len(m.Features) > 0 {
		c.line("// The extensions that the schemas speak of.\nconst (")
		for i, f := range m.Features {
			c.line("%s FeatureSet = 1 << %d // %s", featureName(f), i, f)
		}
		c.line(")\n")
	}
	c.line("var featureNames = [...]string{")
	for _, f := range m.Features {
		c.line("%q,", f)
	}
	c.line("}\n")
}

func (c *codec) lanes(m *spec.Model) {
	var data []string
	for _, f := range m.Frames {
		if f.Lane == "data" {
			data = append(data, "FrameType"+varName(f.Tag))
		}
	}
	c.line("// LaneOf returns the lane of a frame type.\nfunc LaneOf(t FrameType) Lane {\nswitch t {")
	if len(data) > 0 {
		c.line("case %s:\nreturn LaneData", strings.Join(data, ", "))
	}
	c.line("}\nreturn LaneControl\n}\n")
}

// transferMember is the member by which a frame belongs to a transfer.
const transferMember = "transferId"

func (c *codec) transfers(m *spec.Model) {
	c.line("// TransferOf returns the id of the transfer that a frame belongs to.\nfunc TransferOf(f Frame) (id common.TransferID, ok bool) {\nswitch f := f.(type) {")
	for _, f := range m.Frames {
		for _, field := range f.Type.Fields {
			switch {
			case field.Name != transferMember:
			case isPointer(field):
				c.line("case *%s:\nif f.TransferID != nil {\nreturn *f.TransferID, true\n}", f.Type.Name)
			default:
				c.line("case *%s:\nreturn f.TransferID, true", f.Type.Name)
			}
		}
	}
	c.line("}\nreturn id, false\n}\n")
}

func (c *codec) kinds(m *spec.Model) {
	c.line("// kinds is every frame by its tag.\nvar kinds = map[FrameType]kind{")
	for _, f := range m.Frames {
		feature := "0"
		if f.Feature != "" {
			feature = featureName(f.Feature)
		}
		c.line("FrameType%s: {func() strictFrame { return new(%s) }, %v, %v, %s},", varName(f.Tag), f.Type.Name, f.ToBrain(), f.ToFoot(), feature)
	}
	c.line("}\n")
}

func (c *codec) handler(m *spec.Model, role string, receives func(*spec.Frame) bool) {
	c.line("// %sHandler takes each frame that a %s can receive.\ntype %sHandler interface {", role, role, role)
	for _, f := range m.Frames {
		if receives(f) {
			c.line("Handle%s(f *%s) error", f.Type.Name, f.Type.Name)
		}
	}
	c.line("}\n")
	c.line("// DispatchTo%s calls the one method of h that takes f.\nfunc DispatchTo%s(h %sHandler, f Frame) error {\nswitch f := f.(type) {", role, role, role)
	for _, f := range m.Frames {
		if receives(f) {
			c.line("case *%s:\nreturn h.Handle%s(f)", f.Type.Name, f.Type.Name)
		}
	}
	c.line("}\nreturn errors.New(%q)\n}\n", fmt.Sprintf("frame of the wrong direction for a %s", role))
}

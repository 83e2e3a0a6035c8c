package main

import "fmt"

// Kind is a kind of change that breaks somebody.
type Kind string

// The kinds. Each has a test that makes such a change and names it.
const (
	FrameRemoved      Kind = "frame-removed"
	FrameForced       Kind = "frame-forced" // new, without an extension: older peers are sent it
	FrameDirection    Kind = "frame-direction"
	FrameLane         Kind = "frame-lane"
	FrameFeature      Kind = "frame-feature"
	ToolRemoved       Kind = "tool-removed"
	OperationRemoved  Kind = "operation-removed"
	OperationMoved    Kind = "operation-moved"
	ParameterRemoved  Kind = "parameter-removed"
	ParameterRequired Kind = "parameter-required"
	ParameterMoved    Kind = "parameter-moved"

	PropertyRemoved  Kind = "property-removed"
	PropertyRequired Kind = "property-required"
	PropertyOptional Kind = "property-optional"
	PropertyUnknown  Kind = "property-unknown" // new, in an object that refuses what it does not know
	PropertyFeature  Kind = "property-feature"
	ObjectClosed     Kind = "object-closed"
	ObjectOpened     Kind = "object-opened"
	ConditionMore    Kind = "condition-more"
	ConditionLess    Kind = "condition-less"

	TypeChanged     Kind = "type-changed"
	NullRefused     Kind = "null-refused"
	NullAllowed     Kind = "null-allowed"
	NullUnsent      Kind = "null-unsent" // x-emit-null taken away: absent where null was promised
	ConstChanged    Kind = "const-changed"
	EnumShortened   Kind = "enum-shortened"
	EnumLengthened  Kind = "enum-lengthened"
	BoundNarrowed   Kind = "bound-narrowed"
	BoundWidened    Kind = "bound-widened"
	PatternChanged  Kind = "pattern-changed"
	FormatChanged   Kind = "format-changed"
	EncodingChanged Kind = "encoding-changed"
	ExcludedMore    Kind = "excluded-more"
	ExcludedLess    Kind = "excluded-less"
	ErrorCodeMoved  Kind = "error-code-changed"
)

// effect says whom a change hurts.
type effect int

const (
	// refuses: what peers of the baseline send is not taken any more.
	refuses effect = iota
	// surprises: peers of the baseline are sent what they do not take.
	surprises
	// both of these, or a promise of another sort.
	either
)

// role is what we do with a message while the other end is of the baseline.
type role struct {
	reads, writes bool
}

// Either end of the WebSocket may be the newer one, so each frame is read from
// and written to a peer of the baseline. Only we answer tools and HTTP: arguments
// are read and results written, never the other way round.
var (
	frameRole  = role{reads: true, writes: true}
	inputRole  = role{reads: true}
	outputRole = role{writes: true}
)

func (r role) suffers(e effect) bool {
	return e == either || e == refuses && r.reads || e == surprises && r.writes
}

// Change is one breaking change.
type Change struct {
	Kind   Kind
	Place  string // JSON pointer in baseline.json
	What   string // before → after
	effect effect
}

// Line is the change as an entry of BREAKING.md begins.
func (c Change) Line() string { return fmt.Sprintf("`%s` `%s` `%s`", c.Kind, c.Place, c.What) }

// Consequence says what that means for peers of the baseline.
func (c Change) Consequence() string {
	switch c.effect {
	case refuses:
		return "what older peers send is refused"
	case surprises:
		return "older peers get what they refuse or do not expect"
	}
	return "older and newer peers do not mean the same"
}

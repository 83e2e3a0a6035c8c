package wirejson

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads one message, member by member. Every method that fails returns a
// *Fault; after a fault the reader is of no more use.
type Reader struct {
	// Features in force, as the generated code numbers them.
	Features uint64
	// Buffer, if set, provides the memory of a base64 payload: len n, any
	// contents.
	Buffer func(n int) []byte

	message []byte
	source  bytes.Buffer
	decoder jsontext.Decoder
	names   nameSets
	scratch []byte
	nameLen int // length of the literal of the name that was read last
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// Acquire returns a reader of message. Release gives it back.
func Acquire(message []byte) *Reader {
	r := readers.Get().(*Reader)
	r.message = message
	return r
}

// Begin stands the reader at the beginning of the message. A message that is
// refused is read again, with the memory of the first time.
func (r *Reader) Begin() {
	r.source = *bytes.NewBuffer(r.message)
	// Names are compared here (see nameSets), at a quarter of the memory.
	r.decoder.Reset(&r.source, jsontext.AllowDuplicateNames(true))
	r.names.reset(r.message)
}

// Release gives the reader back; no slice it returned may be used any more.
func (r *Reader) Release() {
	const kept = 4 << 10
	r.Features, r.Buffer, r.message = 0, nil, nil
	r.source = bytes.Buffer{}
	if cap(r.scratch) > kept {
		r.scratch = nil
	}
	r.names.release()
	readers.Put(r)
}

// End checks that nothing follows the value that was read.
func (r *Reader) End() *Fault {
	if _, err := r.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return New(RuleSyntax, "something follows the JSON value")
	}
	return nil
}

// BeginObject enters an object.
func (r *Reader) BeginObject() *Fault {
	if f := r.expect('{', "must be an object"); f != nil {
		return f
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return syntax(err)
	}
	r.names.push()
	return nil
}

// Member reads the next member's name, or reports the end of the object. The
// name is good until the next read.
func (r *Reader) Member() (name []byte, more bool, f *Fault) {
	if r.decoder.PeekKind() == '}' {
		if _, err := r.decoder.ReadToken(); err != nil {
			return nil, false, syntax(err)
		}
		r.names.pop()
		return nil, false, nil
	}
	raw, err := r.decoder.ReadValue()
	if err != nil {
		return nil, false, syntax(err)
	}
	if raw[0] != '"' {
		return nil, false, New(RuleSyntax, "is not valid JSON (I-JSON)")
	}
	r.nameLen = len(raw)
	name, err = r.unquote(raw)
	if err != nil {
		return nil, false, syntax(err)
	}
	return name, true, nil
}

// Duplicate is the fault of a member that stands twice.
func (r *Reader) Duplicate(name string) *Fault {
	return New(RuleDuplicate, "stands twice").At(name)
}

// Unknown is the fault of a member that a closed object does not have.
func (r *Reader) Unknown(name []byte) *Fault {
	return New(RuleUnknown, "is not a known member").At(string(name))
}

// SkipMember passes over the value of the member whose name was read last, which
// the object does not have. It must be I-JSON all the same.
func (r *Reader) SkipMember() *Fault {
	end := int(r.decoder.InputOffset())
	if !r.names.add(end-r.nameLen, end) {
		return New(RuleDuplicate, "a member stands twice")
	}
	return r.skip()
}

// skip passes over one value of any depth, looking for duplicates. jsontext
// checks the grammar in one go; what is left is to walk over names.
func (r *Reader) skip() *Fault {
	raw, err := r.decoder.ReadValue()
	if err != nil {
		return syntax(err)
	}
	if bytes.IndexByte(raw, '{') < 0 {
		return nil
	}
	end := int(r.decoder.InputOffset())
	if !r.names.walk(end-len(raw), end) {
		return New(RuleDuplicate, "a member stands twice")
	}
	return nil
}

// BeginArray enters an array.
func (r *Reader) BeginArray() *Fault {
	if f := r.expect('[', "must be an array"); f != nil {
		return f
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return syntax(err)
	}
	return nil
}

// Item reports whether another item follows; at the end it leaves the array.
func (r *Reader) Item() (more bool, f *Fault) {
	if r.decoder.PeekKind() != ']' {
		return true, nil
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return false, syntax(err)
	}
	return false, nil
}

// Null reads null if that is what comes next.
func (r *Reader) Null() (bool, *Fault) {
	if r.decoder.PeekKind() != 'n' {
		return false, nil
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return false, syntax(err)
	}
	return true, nil
}

// expect checks the kind of the next value.
func (r *Reader) expect(kind jsontext.Kind, reason string) *Fault {
	switch got := r.decoder.PeekKind(); got {
	case kind:
		return nil
	case jsontext.KindInvalid, '}', ']':
		_, err := r.decoder.ReadToken()
		return syntax(err)
	default:
		return New("type", reason)
	}
}

// unquote returns the contents of a string literal, the literal's own bytes
// where nothing in it is escaped.
func (r *Reader) unquote(raw []byte) ([]byte, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	var err error
	r.scratch, err = jsontext.AppendUnquote(r.scratch[:0], raw)
	return r.scratch, err
}

// syntax hides the text of jsontext, which quotes the peer's bytes.
func syntax(err error) *Fault {
	var s *jsontext.SyntacticError
	if errors.As(err, &s) && s.Err != nil {
		return New(RuleSyntax, "is not valid JSON (I-JSON)")
	}
	return New(RuleSyntax, "ends too early")
}

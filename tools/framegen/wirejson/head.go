package wirejson

import "bytes"

// Tag finds the value of the first member if that is "type", written as every
// encoder writes it. It looks at nothing else, so a message it finds a tag in
// may still be anything.
func Tag(message []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(message, []byte(`{"type":"`))
	if !ok {
		return nil, false
	}
	if len(rest) > 64 {
		rest = rest[:64]
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return nil, false
	}
	return rest[:end], true
}

// Member is a string member of the outermost object, as Survey finds it.
type Member struct {
	Name  string
	Value string
	There bool // the object has it
	Found bool // it is there and is a string
}

// Survey reads the whole message, knowing no schema: it fails where the message
// is no I-JSON object, and fills in the members asked for.
func (r *Reader) Survey(members ...*Member) *Fault {
	r.Begin()
	if r.decoder.PeekKind() != '{' {
		if f := r.survey(nil); f != nil {
			return f
		}
		return New("type", "must be an object")
	}
	return r.survey(members)
}

func (r *Reader) survey(members []*Member) *Fault {
	if members == nil {
		if f := r.skip(); f != nil {
			return f
		}
		return r.End()
	}
	if f := r.BeginObject(); f != nil {
		return f
	}
	for {
		name, more, f := r.Member()
		if f != nil {
			return f
		}
		if !more {
			return r.End()
		}
		if f := r.surveyMember(name, members); f != nil {
			return f
		}
	}
}

func (r *Reader) surveyMember(name []byte, members []*Member) *Fault {
	var wanted *Member
	for _, m := range members {
		if m.Name == string(name) {
			wanted = m
		}
	}
	// Even a wanted member is remembered, so that its double is found.
	end := int(r.decoder.InputOffset())
	if !r.names.add(end-r.nameLen, end) {
		return New(RuleDuplicate, "a member stands twice")
	}
	if wanted != nil {
		wanted.There = true
	}
	if wanted == nil || r.decoder.PeekKind() != '"' {
		return r.skip()
	}
	contents, f := r.stringContents()
	if f != nil {
		return f
	}
	const enough = 65 // longer than any tag and any id
	wanted.Value, wanted.Found = string(contents[:min(len(contents), enough)]), true
	return nil
}

// ParseUUID reads a UUID in lower-case 8-4-4-4-12.
func ParseUUID(s string) (id [16]byte, ok bool) { return parseUUID([]byte(s)) }

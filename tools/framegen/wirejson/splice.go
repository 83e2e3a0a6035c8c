package wirejson

import "bytes"

// Splice reads a message of one exact shape, the one that AppendValue writes:
// members in the order of the schema, no white space, nothing escaped. It looks
// at every byte, but only once, and takes nothing that a Reader refuses. A false
// result says nothing about the message but that a Reader has to look at it.
type Splice struct {
	rest   []byte
	failed bool
}

// NewSplice begins to read message.
func NewSplice(message []byte) Splice { return Splice{rest: message} }

// Fixed passes over text that is the same in every message.
func (s *Splice) Fixed(text string) {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		s.failed = true
		return
	}
	s.rest = s.rest[len(text):]
}

// UUID reads a UUID.
func (s *Splice) UUID() [16]byte {
	const length = len(`"00000000-0000-0000-0000-000000000000"`)
	if s.failed || len(s.rest) < length || s.rest[0] != '"' || s.rest[length-1] != '"' {
		s.failed = true
		return [16]byte{}
	}
	id, ok := parseUUID(s.rest[1 : length-1])
	s.failed = !ok
	s.rest = s.rest[length:]
	return id
}

// Int reads digits without a sign, a fraction or an exponent.
func (s *Splice) Int() (n int64) {
	at := 0
	for ; at < len(s.rest) && at <= digitsKept && '0' <= s.rest[at] && s.rest[at] <= '9'; at++ {
		n = n*10 + int64(s.rest[at]-'0')
	}
	if s.failed || at == 0 || at > digitsKept || at > 1 && s.rest[0] == '0' {
		s.failed = true
		return 0
	}
	s.rest = s.rest[at:]
	return n
}

// Bool reads true or false.
func (s *Splice) Bool() bool {
	if bytes.HasPrefix(s.rest, []byte("true")) {
		s.rest = s.rest[len("true"):]
		return true
	}
	s.Fixed("false")
	return false
}

// Text passes over a string and returns what stands between the quotes, which
// nobody has looked at yet.
func (s *Splice) Text() []byte {
	if s.failed || len(s.rest) == 0 || s.rest[0] != '"' {
		s.failed = true
		return nil
	}
	end := bytes.IndexByte(s.rest[1:], '"')
	if end < 0 {
		s.failed = true
		return nil
	}
	text := s.rest[1 : 1+end]
	s.rest = s.rest[end+2:]
	return text
}

// Whole reports whether everything had its shape and nothing is left.
func (s *Splice) Whole() bool { return !s.failed && len(s.rest) == 0 }

// Payload decodes base64 of at most longest characters, as Reader.Base64 does.
func Payload(text []byte, longest int, buffer func(int) []byte) (payload []byte, ok bool) {
	size, ok := decodedSize(text)
	if !ok || len(text) > longest {
		return nil, false
	}
	payload = newPayload(size, buffer)
	return payload, decodeBase64(payload, text)
}

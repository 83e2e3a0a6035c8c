package wirejson

import "bytes"

// walk looks for doubles in message[at:end], which is valid JSON. It need not
// understand values: a string is a name exactly if a colon follows.
func (n *nameSets) walk(at, end int) bool {
	for at < end {
		switch n.message[at] {
		case '{':
			n.push()
		case '}':
			n.pop()
		case '"':
			start := at
			at = endOfString(n.message, at)
			if n.message[afterSpace(n.message, at, end)] == ':' && !n.add(start, at) {
				return false
			}
			continue
		}
		at++
	}
	return true
}

// endOfString returns the offset behind the literal that begins at offset at.
func endOfString(message []byte, at int) int {
	at++
	quote := bytes.IndexByte(message[at:], '"')
	if bytes.IndexByte(message[at:at+quote], '\\') < 0 {
		return at + quote + 1
	}
	for ; message[at] != '"'; at++ {
		if message[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// afterSpace returns the offset of the next byte that is no white space, the
// last one of the value if there is none.
func afterSpace(message []byte, at, end int) int {
	for ; at < end; at++ {
		switch message[at] {
		case ' ', '\t', '\r', '\n':
		default:
			return at
		}
	}
	return end - 1
}

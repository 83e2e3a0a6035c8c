package spec

import "github.com/go-json-experiment/json/jsontext"

// AppendJSON writes the value again, its members in their order.
func (n *Node) AppendJSON(dst []byte) []byte {
	switch n.Kind {
	case '{':
		dst = append(dst, '{')
		for i, key := range n.Keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, key), ':')
			dst = n.Members[key].AppendJSON(dst)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendJSON(dst)
		}
		return append(dst, ']')
	case '"':
		return appendQuoted(dst, n.Text)
	case 't':
		return append(dst, "true"...)
	case 'f':
		return append(dst, "false"...)
	case 'n':
		return append(dst, "null"...)
	}
	return append(dst, n.Text...)
}

func appendQuoted(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		panic("spec: invalid UTF-8 in a file that was read") // Parse refuses it
	}
	return out
}

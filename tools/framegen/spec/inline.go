package spec

// Inliner replaces references by what they refer to.
type Inliner struct {
	files map[string]*Node
}

// NewInliner returns an inliner for the files of a model.
func NewInliner(m *Model) *Inliner {
	in := &Inliner{files: map[string]*Node{}}
	for _, f := range m.Files {
		in.files[f.File] = f
	}
	return in
}

// Inline returns n without references. What stands beside a reference wins over
// the definition. The definitions form no circle: the model would be endless.
func (in *Inliner) Inline(n *Node) *Node {
	if n.Kind == '{' && n.Str("$ref") != "" {
		target := in.Inline(resolve(in.files, n.File, n.Str("$ref")))
		merged := &Node{File: target.File, Pointer: target.Pointer, Kind: '{', Keys: target.Keys, Members: map[string]*Node{}}
		for key, member := range target.Members {
			merged.Members[key] = member
		}
		for _, key := range n.Keys {
			if key == "$ref" {
				continue
			}
			if merged.Members[key] == nil {
				merged.Keys = append(merged.Keys[:len(merged.Keys):len(merged.Keys)], key)
			}
			merged.Members[key] = n.Members[key]
		}
		return merged
	}
	out := &Node{File: n.File, Pointer: n.Pointer, Kind: n.Kind, Keys: n.Keys, Text: n.Text}
	if n.Members != nil {
		out.Members = map[string]*Node{}
	}
	for key, member := range n.Members {
		if key == "$defs" {
			member = &Node{Kind: '{'}
		}
		out.Members[key] = in.Inline(member)
	}
	for _, item := range n.Items {
		out.Items = append(out.Items, in.Inline(item))
	}
	return out
}

package difftest

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

// schemaFiles are the schemas as they are written, which is where the codes of
// errors stand: the compiled ones know nothing of them.
type schemaFiles map[string]*spec.Node

func filesOf(m *spec.Model) schemaFiles {
	files := schemaFiles{}
	for _, n := range m.Files {
		files[n.File] = n
	}
	return files
}

// miscoded says that a refusal has another code than the schema gives to the rule
// at the place, or than its kind of message has where the schema gives none.
func (files schemaFiles) miscoded(file, place, rule, got string) string {
	want := files.codeOf(file, place, rule)
	if want == "" {
		want = string(common.ErrorCodeInvalidRequest)
		if strings.HasPrefix(file, "frames/") {
			want = string(common.ErrorCodeInvalidFrame)
		}
	}
	if got == want {
		return ""
	}
	return fmt.Sprintf("refused at %q for its %s with the code %q, where the schema says %q", place, rule, got, want)
}

// codeOf looks up x-error-code: what stands beside a reference goes before what it
// refers to, a rule's code before that of all rules.
func (files schemaFiles) codeOf(file, place, rule string) string {
	at := files[file]
	for token := range strings.SplitSeq(strings.TrimPrefix(place, "/"), "/") {
		if place == "" {
			break
		}
		at = files.resolve(at)
		if _, err := strconv.Atoi(token); err == nil && at.Get("items") != nil {
			at = at.Get("items")
			continue
		}
		at = at.Get("properties").Get(token)
	}
	own, referred := at.Get("x-error-code"), files.resolve(at).Get("x-error-code")
	for _, codes := range []*spec.Node{own, referred} {
		if code := codes.Str(rule); code != "" {
			return code
		}
	}
	for _, codes := range []*spec.Node{own, referred} {
		if codes != nil && codes.Kind == '"' {
			return codes.Text
		}
	}
	return ""
}

func (files schemaFiles) resolve(n *spec.Node) *spec.Node {
	for ref := n.Str("$ref"); ref != ""; ref = n.Str("$ref") {
		file, pointer, _ := strings.Cut(ref, "#")
		if file == "" {
			file = n.File
		} else {
			file = path.Join(path.Dir(n.File), file)
		}
		n = files[file]
		for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			if pointer != "" {
				n = n.Get(token)
			}
		}
	}
	return n
}

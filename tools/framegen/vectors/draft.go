package vectors

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/vancetope/transfer/schema/vectors"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

// Draft adds to a folder what Lint misses there, and returns the files it wrote.
// What is there already stays as it is; with again, vectors that bear the name of
// a draft are drafted anew, since a changed schema can make all of them stale.
func Draft(m *spec.Model, folder string, again bool) ([]string, error) {
	var written []string
	for _, s := range subjects(m) {
		f, err := existing(folder, s)
		if err != nil {
			return written, err
		}
		if again {
			f = s.redraft(f)
		} else if !s.complete(f) {
			continue
		}
		path := filepath.Join(folder, filepath.FromSlash(s.file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return written, err
		}
		text, err := Format(f)
		if err != nil {
			return written, fmt.Errorf("%s: %w", s.file, err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return written, err
		}
		written = append(written, s.file)
	}
	return written, nil
}

func existing(folder string, s subject) (*vectors.File, error) {
	f := &vectors.File{Name: s.file, Schema: s.t.Node.File, To: s.to()}
	text, err := fs.ReadFile(os.DirFS(folder), s.file)
	if os.IsNotExist(err) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	return f, json.Unmarshal(text, f, json.RejectUnknownMembers(true))
}

// redraft returns new drafts, and behind them what else f has.
func (s subject) redraft(f *vectors.File) *vectors.File {
	drafted := &vectors.File{Name: f.Name, Schema: s.t.Node.File, To: s.to()}
	s.complete(drafted)
	names := map[string]bool{}
	for _, v := range slices.Concat(drafted.Valid, drafted.Invalid) {
		names[v.Name] = true
	}
	isDraft := func(v vectors.Vector) bool { return names[v.Name] }
	drafted.Valid = append(drafted.Valid, slices.DeleteFunc(f.Valid, isDraft)...)
	drafted.Invalid = append(drafted.Invalid, slices.DeleteFunc(f.Invalid, isDraft)...)
	s.complete(drafted)
	return drafted
}

// complete adds what is missing and reports whether anything was.
func (s subject) complete(f *vectors.File) bool {
	before := len(f.Valid) + len(f.Invalid)
	if len(f.Valid) == 0 {
		s.addValid(f, "only what is required", (&renderer{}).render(s.t, "", ""))
	}
	if used := members(f); !used.all(s.t) {
		s.addValid(f, "every member", (&renderer{whole: true}).render(s.t, "", ""))
	}
	if s.t.Open && before == 0 {
		message := strings.TrimSuffix((&renderer{}).render(s.t, "", ""), "}") + `, "unheardOf": {"of": ["newer", "peers"]}}`
		s.addValid(f, "a member that nobody knows is ignored", message)
	}
	unbroken := slices.DeleteFunc(s.breaches(), func(b breach) bool { return breaks(f, b) })
	for _, b := range unbroken {
		s.addInvalid(f, b)
	}
	return len(f.Valid)+len(f.Invalid) > before
}

func (s subject) addValid(f *vectors.File, name, message string) {
	f.Valid = append(f.Valid, vectors.Vector{Name: free(f, name), Features: s.features(message), Message: jsontext.Value(message)})
}

func (s subject) addInvalid(f *vectors.File, b breach) {
	message := (&renderer{whole: b.whole, breach: &b}).render(s.t, "", "")
	name := strings.TrimPrefix(b.place, "/") + " " + b.what
	if b.rule == "unknown" {
		name = b.what
		if at := strings.TrimSuffix(b.place, "/unknown"); at != "" {
			name += " in " + at[1:]
		}
	}
	v := vectors.Vector{Name: free(f, name), Features: s.features(message), Place: &b.place, Rule: b.rule, Code: b.code, Stricter: b.stricter}
	if jsontext.Value(message).IsValid() {
		v.Message = jsontext.Value(message)
	} else { // a repetition of items is JSON only once it is written out
		v.Text = &message
	}
	f.Invalid = append(f.Invalid, v)
}

// free is a name that no vector of f has.
func free(f *vectors.File, name string) string {
	taken := func(name string) bool {
		same := func(v vectors.Vector) bool { return v.Name == name }
		return slices.ContainsFunc(f.Valid, same) || slices.ContainsFunc(f.Invalid, same)
	}
	for again := name; ; again += " (2)" {
		if !taken(again) {
			return again
		}
	}
}

// Format writes a file with one vector a line.
func Format(f *vectors.File) ([]byte, error) {
	var out strings.Builder
	out.WriteString("{\n")
	if f.Schema != "" {
		fmt.Fprintf(&out, "  \"schema\": %q,\n", f.Schema)
	}
	if len(f.To) > 0 {
		fmt.Fprintf(&out, "  \"to\": [\"%s\"],\n", strings.Join(f.To, `", "`))
	}
	for _, list := range []struct {
		name    string
		vectors []vectors.Vector
		end     string
	}{{"valid", f.Valid, "],\n"}, {"invalid", f.Invalid, "]\n"}} {
		if len(list.vectors) == 0 {
			continue
		}
		fmt.Fprintf(&out, "  %q: [\n", list.name)
		for i, v := range list.vectors {
			line, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			text := jsontext.Value(line)
			if err := text.Format(jsontext.Multiline(false), jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)); err != nil {
				return nil, err
			}
			comma := ","
			if i == len(list.vectors)-1 {
				comma = ""
			}
			fmt.Fprintf(&out, "    %s%s\n", text, comma)
		}
		out.WriteString("  " + list.end)
	}
	out.WriteString("}\n")
	return []byte(out.String()), nil
}

package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vancetope/transfer/internal/infile"
)

// given is one value as somebody wrote it, and where.
type given struct {
	text  string
	where string
}

// layer is all that one origin says.
type layer struct {
	origin Origin
	given  map[string]given
}

// collect reads the four origins, weakest first.
func collect(o Options) ([]layer, []error) {
	file, fileProblems := readFile(o)
	env, envProblems := readEnv(o.Environ)
	flags, flagProblems := readFlags(o.Flags)
	layers := []layer{
		{FromDefault, defaults()},
		{FromFile, file},
		{FromEnv, env},
		{FromFlag, flags},
	}
	return layers, append(append(fileProblems, envProblems...), flagProblems...)
}

func defaults() map[string]given {
	m := make(map[string]given, len(table))
	for i := range table {
		m[table[i].Name] = given{table[i].Default, "the default"}
	}
	return m
}

// EnvName is the environment variable of a setting.
func EnvName(name string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(name))
}

// envPrefix marks the variables that are ours, so that a misspelt one is found.
const envPrefix = "VANCE_"

// otherVariables begin with the prefix too, but give the commands' flags, not
// settings.
var otherVariables = map[string]bool{"VANCE_URL": true, "VANCE_TOKEN_FILE": true, "VANCE_CA_FILE": true}

func readEnv(environ []string) (map[string]given, []error) {
	known := make(map[string]string, len(table))
	for i := range table {
		known[EnvName(table[i].Name)] = table[i].Name
	}
	m := map[string]given{}
	var problems []error
	for _, pair := range environ {
		variable, text, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(variable, envPrefix) || otherVariables[variable] {
			continue
		}
		name, ok := known[variable]
		if !ok {
			problems = append(problems, unknownVariable(variable, known))
			continue
		}
		m[name] = given{text, "the environment variable " + variable}
	}
	return m, problems
}

func readFlags(flags map[string]string) (map[string]given, []error) {
	m := map[string]given{}
	var problems []error
	for name, text := range flags {
		d := declared(name)
		if d == nil {
			problems = append(problems, unknownName(name, "the command line"))
			continue
		}
		m[name] = given{text, "the flag " + d.Flag}
	}
	return m, problems
}

// readFile reads the file that was named or the default one.
func readFile(o Options) (map[string]given, []error) {
	name := o.File
	if name == "" {
		if name = defaultFile(o.Program); name == "" {
			return nil, nil
		}
	}
	text, err := infile.ReadFile(name, maxFile)
	if err != nil {
		return nil, []error{fmt.Errorf("the settings file cannot be read: %w", err)}
	}
	return parseFile(name, bytes.NewReader(text))
}

// maxFile is more than a file of settings takes, all explained at length.
const maxFile = 1 << 20

func parseFile(name string, r io.Reader) (map[string]given, []error) {
	dec := yaml.NewDecoder(r)
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil // an empty file says nothing
	} else if err != nil {
		return nil, []error{fmt.Errorf("%s is not YAML: %w", name, err)}
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, []error{fmt.Errorf("%s holds more than one YAML document: keep one", name)}
	}
	w := &walker{file: name, given: map[string]given{}}
	w.walk("", doc.Content[0])
	return w.given, w.problems
}

// walker flattens the tree of a file: nested and dotted keys mean the same.
type walker struct {
	file     string
	given    map[string]given
	problems []error
}

func (w *walker) walk(name string, n *yaml.Node) {
	where := fmt.Sprintf("%s:%d", w.file, n.Line)
	switch {
	case n.Kind == yaml.MappingNode:
		w.children(name, n)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null" && isGroup(name):
		// a heading whose settings are all commented out
	case name == "":
		w.problems = append(w.problems, fmt.Errorf("%s: a settings file is a mapping of names to values", where))
	case declared(name) == nil:
		w.problems = append(w.problems, unknownName(name, where))
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
		w.problems = append(w.problems, badValue(declared(name), given{n.Value, where}, errors.New("is not a single value")))
	default:
		w.keep(name, given{n.Value, where})
	}
}

func (w *walker) children(name string, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if name != "" {
			key = name + "." + key
		}
		w.walk(key, n.Content[i+1])
	}
}

func (w *walker) keep(name string, g given) {
	if first, ok := w.given[name]; ok {
		w.problems = append(w.problems, &Error{Name: name, Value: g.text, Where: g.where,
			Reason: "is the second value given", Remedy: "remove it or the one at " + first.where})
		return
	}
	w.given[name] = g
}

// isGroup reports whether some setting's name goes on below name.
func isGroup(name string) bool {
	if name == "" {
		return true
	}
	for i := range table {
		if strings.HasPrefix(table[i].Name, name+".") {
			return true
		}
	}
	return false
}

func names() []string {
	list := make([]string, len(table))
	for i := range table {
		list[i] = table[i].Name
	}
	sort.Strings(list)
	return list
}

// Package settings owns every setting of both programs: its name, unit, default,
// range and the place in Settings where its value ends up are declared once, in
// table.go. Values come from the default, a YAML file, the environment and the
// command line, the later one winning, and each keeps the origin it came from.
//
// What it refuses: a name nobody declared, a value outside its range, a setting
// given twice in one file, and combinations that cannot work together. Every
// refusal names the setting, the value, what is allowed and what to do.
//
// A setting that only the other program uses is legal in the file and in the
// environment, so that one file or one shell profile can serve both; its value
// is checked all the same, but it is not applied.
package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/vancetope/transfer/gen/common"
)

// Settings are the values in force. A program reads the fields of its own
// settings only; those of the other program stay zero.
type Settings struct {
	Transfer  Transfer
	Foot      Foot
	Brain     Brain
	MCP       MCP
	Workspace Workspace
	Receipts  Receipts

	program Program
	values  map[string]Value
}

// Transfer holds vance.transfer.*.
type Transfer struct {
	ChunkSize       int64
	PhaseTimeout    time.Duration
	CleanupInterval time.Duration
	MaxUploadSize   int64
	MaxDownloadSize int64
	BrainModeMask   fs.FileMode
	FootModeMask    fs.FileMode
	MaxFrameSize    int64
	PingInterval    time.Duration
	MaxConcurrent   int
}

// Foot holds vance.foot.*.
type Foot struct {
	WorkspaceRoot  string
	AllowGitWrites bool
	State          string // empty: the default folder, which is named after the project
	Access         common.Access
	Confirm        Confirm
	ConfirmTimeout time.Duration // how long a person may take; each side goes by its own
	ReconnectMin   time.Duration
	ReconnectMax   time.Duration
}

// Confirm says which transfers a person is asked about.
type Confirm string

const (
	ConfirmNever  Confirm = "never"
	ConfirmWrites Confirm = "writes" // what Brain wants to write to this machine
	ConfirmAll    Confirm = "all"
)

// Brain holds vance.brain.*.
type Brain struct {
	Listen        string
	Data          string
	PublicURL     string // empty: what it listens on
	MetricsListen string // empty: no metrics are served
}

// MCP holds vance.mcp.*, the Brain's side.
type MCP struct {
	SessionTimeout time.Duration
}

// Workspace holds vance.workspace.*, the Brain's side.
type Workspace struct {
	Root         string
	MaxBytes     int64         // of the files of one project
	EphemeralTTL time.Duration // how long a RootDir lives without use
}

// Receipts holds vance.receipts.*, the Brain's side.
type Receipts struct {
	TTL time.Duration
}

// Program is one of the two binaries.
type Program uint8

const (
	ForBrain Program = 1 << iota
	ForFoot
	both = ForBrain | ForFoot
)

// String is the name of the binary, which is also the name of its default file.
func (p Program) String() string {
	switch p {
	case ForBrain:
		return "brain"
	case ForFoot:
		return "foot"
	}
	return "brain and foot"
}

// Origin says where a value came from.
type Origin string

const (
	FromDefault Origin = "default"
	FromFile    Origin = "file"
	FromEnv     Origin = "env"
	FromFlag    Origin = "flag"
)

// Value is a setting in force, as `config` lists it.
type Value struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin Origin `json:"origin"`
}

// Options say where Load looks.
type Options struct {
	Program Program

	// File is the file the user named; it must exist. Empty means
	// ~/.vancetope/<program>.yaml when there is one.
	File string

	// Environ is the environment as os.Environ gives it.
	Environ []string

	// Flags maps names of settings to what the command line said about them.
	Flags map[string]string
}

// Load reads the settings of one program. All that is wrong is reported at
// once, as joined *Error values.
func Load(o Options) (*Settings, error) {
	s := &Settings{program: o.Program, values: map[string]Value{}}
	other := &Settings{} // what only the other program uses
	layers, problems := collect(o)
	for i := range table {
		problems = append(problems, s.apply(&table[i], layers, other)...)
	}
	if len(problems) == 0 {
		s.derive()
		problems = s.crossCheck(other)
	}
	listOnce(problems)
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return s, nil
}

// derive sets the defaults that follow from other settings.
func (s *Settings) derive() {
	if v, ok := s.values[workspaceRoot]; ok && v.Origin == FromDefault {
		s.Workspace.Root = filepath.Join(s.Brain.Data, "workspaces")
		v.Value = s.Workspace.Root
		s.values[workspaceRoot] = v
	}
}

// apply checks every value given for a setting, also those that a later layer
// hides, and keeps the last one; that of the other program only to be checked.
func (s *Settings) apply(d *Setting, layers []layer, other *Settings) []error {
	var problems []error
	for _, l := range layers {
		g, ok := l.given[d.Name]
		if !ok {
			continue
		}
		into := other
		if d.Program&s.program != 0 {
			into = s
		}
		text, err := d.kind.assign(into, g.text)
		if err != nil {
			problems = append(problems, badValue(d, g, err))
			continue
		}
		if into == s {
			s.values[d.Name] = Value{Name: d.Name, Value: text, Origin: l.origin}
		}
	}
	return problems
}

// Values lists the settings of this program in the order of the table.
func (s *Settings) Values() []Value {
	list := make([]Value, 0, len(s.values))
	for i := range table {
		if v, ok := s.values[table[i].Name]; ok {
			list = append(list, v)
		}
	}
	return list
}

// Origin tells where the value of a setting came from; it is empty for a
// setting this program does not use.
func (s *Settings) Origin(name string) Origin { return s.values[name].Origin }

// defaultFile returns ~/.vancetope/<program>.yaml if there is such a file, and
// nothing when there is no home directory to look in.
func defaultFile(p Program) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	name := filepath.Join(home, ".vancetope", p.String()+".yaml")
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return name
}

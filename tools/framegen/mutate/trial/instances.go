package main

import (
	"errors"
	"fmt"
	"hash/maphash"
	"reflect"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/schema/vectors"
	"github.com/vancetope/transfer/tools/framegen/difftest"
)

// instance is one attempt to tell a mutant from the schemas.
type instance struct {
	name string
	try  func() (difference string)
}

// collector puts instances together, each text once.
type collector struct {
	oracle *difftest.Oracle
	seed   maphash.Seed
	seen   map[uint64]bool
	all    []instance
}

func (c *collector) inbound(s difftest.Subject, text string) {
	key := maphash.String(c.seed, s.File+"\x00"+text)
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	c.all = append(c.all, instance{fmt.Sprintf("%s %.120s", s.File, text), func() string {
		return c.oracle.Compare(s, []byte(text)).Difference
	}})
}

// outbound is one attempt for all values of a type.
func (c *collector) outbound(s difftest.Subject, full bool) {
	sample := []byte(difftest.Sample(s.Type, full).String())
	c.all = append(c.all, instance{"values of " + s.File, func() (first string) {
		m, err := s.Decode(sample)
		if err != nil {
			return err.Error()
		}
		difftest.Outbound(reflect.ValueOf(m), func(place string) {
			if first != "" {
				return
			}
			if _, difference := c.oracle.CompareOutbound(s, m); difference != "" {
				first = place + ": " + difference
			}
		})
		return first
	}})
}

// instances are all there are: the vectors, which are few and telling, then what
// difftest tries.
func instances(edits int) ([]instance, error) {
	m, err := difftest.LoadModel()
	if err != nil {
		return nil, err
	}
	oracle, err := difftest.NewOracle(m)
	if err != nil {
		return nil, err
	}
	oracle.Remember()
	subjects, forgotten := difftest.Subjects(m)
	if len(forgotten) > 0 {
		return nil, fmt.Errorf("no decoder for %v", forgotten)
	}
	c := &collector{oracle: oracle, seed: maphash.MakeSeed(), seen: map[uint64]bool{}}
	if err := c.vectors(subjects); err != nil {
		return nil, err
	}
	for _, s := range subjects {
		for _, full := range []bool{true, false} {
			difftest.Instances(s.Type, difftest.Sample(s.Type, full), func(text string) { c.inbound(s, text) })
			c.outbound(s, full)
		}
	}
	mutator := difftest.NewMutator(1)
	for i := range edits {
		s := subjects[i%len(subjects)]
		c.inbound(s, mutator.Next(s.Type))
	}
	return c.all, nil
}

func (c *collector) vectors(subjects []difftest.Subject) error {
	files, err := vectors.Load(vectors.Files())
	if err != nil {
		return err
	}
	decoders := map[string]difftest.Subject{}
	for _, s := range subjects {
		decoders[s.File] = s
	}
	for _, f := range files {
		roles := f.To
		if f.Schema == "" {
			roles = vectors.Roles
		} else if len(roles) == 0 {
			roles = []string{""}
		}
		for _, role := range roles {
			for _, v := range f.Valid {
				c.vector(f, v, role, decoders, "")
			}
			for _, v := range f.Invalid {
				c.vector(f, v, role, decoders, *v.Place+" "+v.Rule+" "+v.Code)
			}
		}
	}
	return nil
}

func (c *collector) vector(f *vectors.File, v vectors.Vector, role string, decoders map[string]difftest.Subject, want string) {
	text := v.Bytes()
	d := frames.Decoder{Features: frames.ParseFeatures(v.Features)}
	decode := map[string]func() error{
		"brain": func() error { _, err := d.DecodeForBrain(text); return err },
		"foot":  func() error { _, err := d.DecodeForFoot(text); return err },
		"":      func() error { _, err := decoders[f.Schema].Decode(text); return err },
	}[role]
	c.all = append(c.all, instance{"vector " + f.Name + " " + v.Name, func() string {
		if got := refusal(decode()); got != want {
			return fmt.Sprintf("refused for %q, not for %q", got, want)
		}
		return ""
	}})
}

// refusal is the place, the rule and the code of an error.
func refusal(err error) string {
	var ofFrame *frames.DecodeError
	var ofTool *common.DecodeError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &ofFrame):
		return ofFrame.Place + " " + ofFrame.Rule + " " + string(ofFrame.Code)
	case errors.As(err, &ofTool):
		return ofTool.Place + " " + ofTool.Rule + " " + string(ofTool.Code)
	}
	return err.Error()
}

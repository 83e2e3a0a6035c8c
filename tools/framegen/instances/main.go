// Command instances writes the messages that the comparison of the decoders with
// the schemas tries, and what the Go decoders say of each, as JSON lines: the
// tests of web-types hold the TypeScript reader and ajv against them.
//
// Its first line tells the features that are in force. Messages that are not
// valid UTF-8 are left out, since no string of JavaScript holds them.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/framegen/difftest"
	"github.com/vancetope/transfer/tools/framegen/spec"
)

func main() {
	edits := flag.Int("edits", 10_000, "how many messages with random edits follow the ones at every limit")
	every := flag.Int("every", 1, "write only one in so many")
	flag.Parse()
	if *every < 1 || *edits < 0 {
		fmt.Fprintln(os.Stderr, "instances: -every must be at least 1 and -edits at least 0")
		os.Exit(2)
	}
	if err := run(*edits, *every); err != nil {
		fmt.Fprintln(os.Stderr, "instances:", err)
		os.Exit(1)
	}
}

// line is a message and its verdict.
type line struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"` // frame, input, output or body
	Name   string `json:"name"` // of the tool or the body's type
	Text   string `json:"text"` // repetitions as in schema/vectors

	OK     bool   `json:"ok"`
	Out    string `json:"out,omitempty"` // what an accepted message encodes to
	Code   string `json:"code,omitempty"`
	Place  string `json:"place"`
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
	Type   string `json:"type,omitempty"`
	ID     string `json:"id,omitempty"`
}

type writer struct {
	out   *json.Encoder
	every int
	tried int
	err   error
}

func run(edits, every int) error {
	m, err := difftest.LoadModel()
	if err != nil {
		return err
	}
	subjects, forgotten := difftest.Subjects(m)
	if len(forgotten) > 0 {
		return fmt.Errorf("no decoder for %s", strings.Join(forgotten, ", "))
	}
	buffered := bufio.NewWriterSize(os.Stdout, 1<<20)
	w := &writer{out: json.NewEncoder(buffered), every: every}
	w.out.SetEscapeHTML(false)
	w.write(map[string][]string{"features": m.Features})
	for _, s := range subjects {
		try := func(text string) { w.message(s, text) }
		difftest.Instances(s.Type, difftest.Sample(s.Type, true), try)
		difftest.Instances(s.Type, difftest.Sample(s.Type, false), try)
	}
	mutator := difftest.NewMutator(1)
	for i := range edits {
		s := subjects[i%len(subjects)]
		w.message(s, mutator.Next(s.Type))
	}
	if w.err != nil {
		return w.err
	}
	return buffered.Flush()
}

func (w *writer) write(value any) {
	if w.err == nil {
		w.err = w.out.Encode(value)
	}
}

func (w *writer) message(s difftest.Subject, text string) {
	w.tried++
	if w.tried%w.every != 0 || !utf8.ValidString(text) {
		return
	}
	l := line{Schema: s.File, Text: shorten(text)}
	l.Kind, l.Name = kindOf(s.Type)
	if text == "" && l.Kind != "frame" {
		return // stands for {} in Go, where a client may send no arguments at all
	}
	message, err := s.Decode([]byte(text))
	if err == nil {
		out, err := message.AppendJSON(nil)
		if err != nil {
			w.err = fmt.Errorf("%s: accepted, but does not encode: %w", text, err)
			return
		}
		l.OK, l.Out = true, shorten(string(out))
		w.write(l)
		return
	}
	var ofFrame *frames.DecodeError
	var ofRest *common.DecodeError
	switch {
	case errors.As(err, &ofFrame):
		l.Code, l.Place, l.Rule, l.Reason, l.Type = string(ofFrame.Code), ofFrame.Place, ofFrame.Rule, ofFrame.Reason, string(ofFrame.Type)
		if ofFrame.TransferID != nil {
			l.ID = ofFrame.TransferID.String()
		}
	case errors.As(err, &ofRest):
		l.Code, l.Place, l.Rule, l.Reason = string(ofRest.Code), ofRest.Place, ofRest.Rule, ofRest.Reason
	}
	w.write(l)
}

func kindOf(t *spec.Type) (kind, name string) {
	switch t.Package {
	case "frames":
		return "frame", t.Name
	case "tools":
		tool, side, _ := strings.Cut(t.Key, ".")
		return side, tool
	}
	return "body", t.Name
}

// shorten writes long runs of one character as schema/vectors does.
func shorten(text string) string {
	const worth = 64
	if len(text) < worth {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		end := i + size
		for strings.HasPrefix(text[end:], text[i:i+size]) {
			end += size
		}
		if n := (end - i) / size; n >= worth && r != '<' {
			fmt.Fprintf(&out, "<<%c*%d>>", r, n)
		} else {
			out.WriteString(text[i:end])
		}
		i = end
	}
	return out.String()
}

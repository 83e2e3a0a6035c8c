// Package report tells how the rules ended: to people line by line, to programs as
// JSON, and to build servers as JUnit's XML.
package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/tools/conformance/suite"
)

// Counts are how many rules ended in which way.
type Counts struct {
	Rules   int `json:"rules"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Count counts results.
func Count(results []suite.Result) Counts {
	n := Counts{Rules: len(results)}
	for _, r := range results {
		switch r.Outcome {
		case suite.Passed:
			n.Passed++
		case suite.Failed:
			n.Failed++
		case suite.Skipped:
			n.Skipped++
		}
	}
	return n
}

func (n Counts) String() string {
	return fmt.Sprintf("%d rules: %d passed, %d failed, %d skipped", n.Rules, n.Passed, n.Failed, n.Skipped)
}

// Line tells one result to a person: what failed with its rule and source, what was
// skipped with the reason, and what passed by its name.
func Line(r suite.Result) string {
	detail := safetext.Escape(r.Detail) // it quotes the peer
	switch r.Outcome {
	case suite.Failed:
		return fmt.Sprintf("FAIL  %s\n      %s (%s)\n      %s\n", r.Rule.Name, r.Rule.Says, r.Rule.Source, detail)
	case suite.Skipped:
		return fmt.Sprintf("skip  %s: %s\n", r.Rule.Name, detail)
	}
	return fmt.Sprintf("ok    %s\n", r.Rule.Name)
}

// entry is one rule in the JSON.
type entry struct {
	Rule    string        `json:"rule"`
	Source  string        `json:"source"`
	Says    string        `json:"says"`
	Outcome suite.Outcome `json:"outcome"`
	Detail  string        `json:"detail,omitempty"`
	Seconds float64       `json:"seconds"`
}

// JSON writes all results as one object.
func JSON(w io.Writer, role suite.Role, results []suite.Result) error {
	var all struct {
		Peer    string  `json:"peer"`
		Counts  Counts  `json:"counts"`
		Results []entry `json:"results"`
	}
	all.Peer, all.Counts, all.Results = role.String(), Count(results), []entry{}
	for _, r := range results {
		all.Results = append(all.Results, entry{r.Rule.Name, r.Rule.Source, r.Rule.Says, r.Outcome, r.Detail, seconds(r.Took)})
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(all)
}

func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// The elements of JUnit's XML, as build servers read it.
type (
	xmlSuite struct {
		XMLName  xml.Name  `xml:"testsuite"`
		Name     string    `xml:"name,attr"`
		Tests    int       `xml:"tests,attr"`
		Failures int       `xml:"failures,attr"`
		Skipped  int       `xml:"skipped,attr"`
		Time     float64   `xml:"time,attr"`
		Cases    []xmlCase `xml:"testcase"`
	}
	xmlCase struct {
		Class   string  `xml:"classname,attr"`
		Name    string  `xml:"name,attr"`
		Time    float64 `xml:"time,attr"`
		Failure *xmlWhy `xml:"failure"`
		Skipped *xmlWhy `xml:"skipped"`
	}
	xmlWhy struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes all results as XML.
func JUnit(w io.Writer, role suite.Role, results []suite.Result) error {
	n := Count(results)
	all := xmlSuite{Name: "vancetope conformance of a " + role.String(), Tests: n.Rules, Failures: n.Failed, Skipped: n.Skipped}
	for _, r := range results {
		group, _, _ := strings.Cut(r.Rule.Name, "/")
		one := xmlCase{Class: "conformance." + role.String() + "." + group, Name: r.Rule.Name, Time: seconds(r.Took)}
		all.Time += one.Time
		detail := safetext.Escape(r.Detail)
		switch r.Outcome {
		case suite.Failed:
			one.Failure = &xmlWhy{Message: detail, Text: r.Rule.Says + " (" + r.Rule.Source + ")"}
		case suite.Skipped:
			one.Skipped = &xmlWhy{Message: detail}
		}
		all.Cases = append(all.Cases, one)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

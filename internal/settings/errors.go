package settings

import (
	"encoding/base64"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Error is one thing that is wrong with the settings.
type Error struct {
	Name   string // the setting, or the name nobody declared
	Value  string
	Where  string // file and line, variable or flag
	Reason string
	Remedy string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(printable(e.Name))
	if e.Value != "" {
		b.WriteString(": " + strconv.Quote(e.Value))
	} else {
		b.WriteString(": the value")
	}
	if e.Where != "" {
		b.WriteString(" from " + printable(e.Where))
	}
	fmt.Fprintf(&b, " %s: %s", e.Reason, e.Remedy)
	return b.String()
}

func badValue(d *Setting, g given, reason error) error {
	return &Error{Name: d.Name, Value: g.text, Where: g.where, Reason: reason.Error(), Remedy: "use " + d.Range()}
}

// unknown is the refusal of a name nobody declared.
type unknown struct{ name, where, nearest, all string }

func (e *unknown) Error() string {
	text := "unknown setting " + printable(e.name) + " from " + printable(e.where)
	if e.nearest != "" {
		return text + ": did you mean " + e.nearest + "? otherwise remove it"
	}
	if e.all == "" {
		return text + ": remove it"
	}
	return text + ": remove it; the settings are " + e.all
}

// listOnce leaves the list of what there is to the last of many unknown names of
// one kind: it is long.
func listOnce(problems []error) {
	listed := map[string]bool{}
	for _, problem := range slices.Backward(problems) {
		if e, ok := problem.(*unknown); ok && e.nearest == "" {
			if listed[e.all] {
				e.all = ""
			} else {
				listed[e.all] = true
			}
		}
	}
}

func unknownName(name, where string) error {
	all := names()
	return &unknown{name, where, nearest(name, all), strings.Join(all, ", ")}
}

func unknownVariable(variable string, known map[string]string) error {
	all := make([]string, 0, len(known))
	for v := range known {
		all = append(all, v)
	}
	sort.Strings(all)
	return &unknown{variable, "the environment", nearest(variable, all), strings.Join(all, ", ")}
}

// printable escapes what could disturb a terminal or a log line.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\\`, `\`)
}

// nearest returns the candidate that differs from name by the fewest edits, if
// those are few enough for a slip.
func nearest(name string, candidates []string) string {
	best, distance := "", 5
	for _, c := range candidates {
		if d := edits(name, c); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// edits counts the insertions, deletions and replacements between a and b.
func edits(a, b string) int {
	if len(a) > 4*len(b)+16 { // a hopeless pair needs no table
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// crossCheck refuses values that are legal alone but not together.
func (s *Settings) crossCheck(other *Settings) []error {
	var problems []error
	need := int64(base64.StdEncoding.EncodedLen(int(s.Transfer.ChunkSize))) + frameSlack
	if s.Transfer.MaxFrameSize < need {
		problems = append(problems, &Error{
			Name: "vance.transfer.max-frame-size", Value: s.values["vance.transfer.max-frame-size"].Value,
			Reason: fmt.Sprintf("cannot hold one chunk of %s as base64 and 1KiB beside it", FormatSize(s.Transfer.ChunkSize)),
			Remedy: fmt.Sprintf("use at least %s, or a smaller vance.transfer.chunk-size", FormatSize(need)),
		})
	}
	foot := s.Foot
	if s.program&ForFoot == 0 {
		foot = other.Foot
	}
	if foot.ReconnectMin > foot.ReconnectMax {
		problems = append(problems, &Error{
			Name: "vance.foot.reconnect-min", Value: foot.ReconnectMin.String(),
			Reason: fmt.Sprintf("is above vance.foot.reconnect-max, which is %s", foot.ReconnectMax),
			Remedy: "use at most that, or raise vance.foot.reconnect-max",
		})
	}
	return problems
}

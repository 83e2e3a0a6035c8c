package ui

import (
	"fmt"
	"strings"
	"time"

	"github.com/vancetope/transfer/foot/approval"
	"github.com/vancetope/transfer/internal/safetext"
)

// Bytes is a number of bytes for people.
func Bytes(n int64) string { return size(n) }

// Doing is a direction as what this Foot does.
func Doing(d Direction) string { return verb(d) }

// Took is a span of time for people.
func Took(d time.Duration) string { return seconds(d) }

// The sentences for people, one function each, without the line's end. All of
// them escape what came from outside.

func connectingLine(url string) string {
	return "connecting to " + safetext.Escape(url)
}

func connectedLines(c Connected) []string {
	return []string{
		fmt.Sprintf("connected to %s/%s as %s", safetext.Escape(c.Tenant), safetext.Escape(c.ProjectID), safetext.Escape(c.FootID)),
		"files go to and come from " + safetext.Escape(c.Root),
		"waiting for transfers",
	}
}

func disconnectedLine(reason string) string {
	return "disconnected: " + safetext.Escape(reason)
}

func reconnectingLine(after time.Duration, reason string) string {
	return fmt.Sprintf("reconnecting in %s: %s", seconds(after), safetext.Escape(reason))
}

func refusedLines(reason, remedy string) []string {
	lines := []string{"refused: " + safetext.Escape(reason)}
	if remedy != "" {
		lines = append(lines, safetext.Escape(remedy))
	}
	return lines
}

func stoppingLine(running int) string {
	switch running {
	case 0:
		return "stopping"
	case 1:
		return "stopping: waiting for 1 transfer"
	}
	return fmt.Sprintf("stopping: waiting for %d transfers", running)
}

// transferLine says where a transfer stands. took is the time since it was
// first shown, 0 if that is not known.
func transferLine(t Transfer, took time.Duration) string {
	name := safetext.Escape(t.Path)
	switch t.State {
	case Queued:
		return fmt.Sprintf("%s %s: waiting for its turn", verb(t.Direction), name)
	case WaitingForApproval:
		return fmt.Sprintf("%s %s: waiting for your approval", verb(t.Direction), name)
	case Hashing:
		if t.Direction == Download { // the sender read it; here its place is made
			return fmt.Sprintf("receiving %s: making room", name)
		}
		return fmt.Sprintf("%s %s: reading it for its digest", verb(t.Direction), name)
	case Streaming:
		return fmt.Sprintf("%s %s (%s)", verb(t.Direction), name, size(t.TotalBytes))
	case Verifying:
		return fmt.Sprintf("%s %s: verifying", verb(t.Direction), name)
	case Suspended:
		return fmt.Sprintf("%s %s: suspended at %s of %s", verb(t.Direction), name, size(t.Bytes), size(t.TotalBytes))
	case Complete:
		return fmt.Sprintf("%s %s (%s%s)", pastVerb(t.Direction), name, size(t.Bytes), inTime(took))
	}
	return fmt.Sprintf("%s %s: %s%s", verb(t.Direction), t.State, name, because(t))
}

// questionLines ask a person about a transfer.
func questionLines(q approval.Question) []string {
	what, path := "read", safetext.Escape(q.Path)
	if q.Write {
		what = "write"
	}
	first := fmt.Sprintf("may the Brain %s %s (%s)?", what, path, size(q.Bytes))
	if q.Replaces {
		first += " It replaces the file that is there."
	}
	return []string{first,
		fmt.Sprintf("  y = yes, n = no (as after %s), a = always %s; or in another terminal: foot approve %s",
			seconds(q.Within), folderWords(q), q.ID)}
}

func folderWords(q approval.Question) string {
	if folder := q.Folder(); folder != "" {
		return fmt.Sprintf("in %s/ and below it", safetext.Escape(folder))
	}
	return "in the whole folder of this project"
}

// closedLine says that a question that was shown needs no answer any more.
func closedLine(q approval.Question, how approval.Outcome) string {
	words := map[approval.Outcome]string{
		approval.Approved:   "approved",
		approval.Declined:   "declined",
		approval.Unanswered: "declined, as nobody answered in time",
		approval.Withdrawn:  "no longer asked, as the transfer has ended",
	}
	return safetext.Escape(q.Path) + ": " + words[how]
}

func because(t Transfer) string {
	if t.Fault == nil {
		return ""
	}
	return ": " + safetext.Escape(t.Fault.Text)
}

func verb(d Direction) string {
	if d == Upload {
		return "sending"
	}
	return "receiving"
}

func pastVerb(d Direction) string {
	if d == Upload {
		return "sent"
	}
	return "received"
}

func inTime(took time.Duration) string {
	if took <= 0 {
		return ""
	}
	return " in " + seconds(took)
}

// seconds writes a duration with the precision that a reader cares for.
func seconds(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// size writes a number of bytes in the largest binary unit that leaves a
// number of at least one.
func size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	const units = "KMGTPE"
	value, unit := float64(n)/(1<<10), 0
	for value >= 1<<10 && unit < len(units)-1 {
		value /= 1 << 10
		unit++
	}
	text := fmt.Sprintf("%.1f", value)
	if text == "1024.0" && unit < len(units)-1 { // rounding reached the next unit
		text, unit = "1.0", unit+1
	}
	return fmt.Sprintf("%s %ciB", strings.TrimSuffix(text, ".0"), units[unit])
}

// shorten cuts the front of a name that is longer than width runes: the end
// tells more.
func shorten(name string, width int) string {
	runes := []rune(name)
	if len(runes) <= width {
		return name
	}
	return "…" + string(runes[len(runes)-width+1:])
}

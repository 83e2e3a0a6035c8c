package ui

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/foot/approval"
)

// desk is a Prompter's counterpart: it keeps the answers and closes what was
// answered, as the real one does.
type desk struct {
	*Prompter
	out     lockedBuffer
	keys    *os.File
	answers chan string
	asked   map[uuid.UUID]approval.Question
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{keys: keys, answers: make(chan string, 9), asked: map[uuid.UUID]approval.Question{}}
	d.Prompter = NewPrompter(&d.out, in, func(id uuid.UUID, a approval.Answer) error {
		d.answers <- d.asked[id].Path + " " + [...]string{"no", "yes", "always"}[a]
		d.Closed(d.asked[id], approval.Approved)
		return nil
	})
	t.Cleanup(func() {
		d.Close()
		if err := keys.Close(); err != nil { // ends the read that hangs
			t.Error(err)
		}
	})
	return d
}

// ask opens questions; their fields are not touched later.
func (d *desk) ask(qs ...approval.Question) {
	for _, q := range qs {
		d.asked[q.ID] = q
	}
	for _, q := range qs {
		d.Opened(q)
	}
}

func (d *desk) kinds(t *testing.T, line string) {
	t.Helper()
	if _, err := d.keys.WriteString(line + "\n"); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) await(t *testing.T, text string) {
	t.Helper()
	for range 2000 {
		if strings.Contains(d.out.String(), text) {
			return
		}
		time.Sleep(5 * time.Millisecond) // polling, bounded
	}
	t.Fatalf("no %q in %q", text, d.out.String())
}

func (d *desk) want(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-d.answers:
		if got != want {
			t.Errorf("answered %q, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("no answer; on the terminal: %q", d.out.String())
	}
}

func TestEachQuestionIsAskedByItselfWithABell(t *testing.T) {
	d := newDesk(t)
	d.ask(
		approval.Question{ID: one, Write: true, Path: "reports/q2.pdf", Bytes: 3 << 20, Replaces: true, Within: 5 * time.Minute},
		approval.Question{ID: two, Path: "notes.txt", Bytes: 10},
	)
	d.await(t, "\amay the Brain write reports/q2.pdf (3 MiB)? It replaces the file that is there.\n"+
		"  y = yes, n = no (as after 5m0s), a = always in reports/ and below it; or in another terminal: foot approve "+one.String()+"\n")
	if strings.Contains(d.out.String(), "notes.txt") {
		t.Error("two questions at once")
	}
	for i, line := range []string{"", "yep", "yy"} {
		d.kinds(t, line)
		d.await(t, strings.Repeat("  please type y, n or a, then Enter\n", i+1))
	}
	d.kinds(t, " Y ")
	d.want(t, "reports/q2.pdf yes")
	d.await(t, "reports/q2.pdf: approved\n\amay the Brain read notes.txt (10 B)?\n  y = yes, n = no (as after 0s), a = always in the whole folder of this project;")
	d.kinds(t, "always")
	d.want(t, "notes.txt always")
}

func TestAnAnswerElsewhereTakesTheQuestionAway(t *testing.T) {
	d := newDesk(t)
	first, second, third := approval.Question{ID: one, Path: "a"}, approval.Question{ID: two, Path: "b"}, approval.Question{ID: uuid.New(), Path: "c"}
	d.ask(first, second, third)
	d.await(t, "read a ")
	d.Closed(second, approval.Declined) // never shown
	d.Closed(first, approval.Unanswered)
	d.await(t, "a: declined, as nobody answered in time\n\amay the Brain read c ")
	if strings.Contains(d.out.String(), "read b ") {
		t.Error("a question that was over is asked")
	}
	d.kinds(t, "n")
	d.want(t, "c no")
}

func TestWhatIsTypedWhileNothingIsAskedAnswersNothing(t *testing.T) {
	d := newDesk(t)
	d.ask(approval.Question{ID: one, Path: "a"})
	d.await(t, "read a ")
	d.Closed(d.asked[one], approval.Withdrawn)
	d.await(t, "a: no longer asked")
	d.kinds(t, "y")
	// The line is taken before the next question, as nothing else can take it.
	for len(d.typed) > 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case got := <-d.answers:
		t.Errorf("answered %q", got)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestAQuestionCarriesNoControlCharacterOfAPeer(t *testing.T) {
	const evil = "x\x1b]0;owned\a\n\u202e\u009b31m/\xff"
	d := newDesk(t)
	d.ask(approval.Question{ID: one, Path: evil})
	d.await(t, "foot approve")
	d.kinds(t, "n")
	d.await(t, ": approved\n")
	for _, r := range strings.TrimPrefix(d.out.String(), "\a") {
		if !unicode.IsPrint(r) && r != '\n' {
			t.Fatalf("%U in %q", r, d.out.String())
		}
	}
	if got := strings.Count(d.out.String(), "\n"); got != 3 {
		t.Errorf("%d lines: %q", got, d.out.String())
	}
}

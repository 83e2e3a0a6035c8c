package approval

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/settings"
)

var (
	one = uuid.MustParse("018f0000-0000-7000-8000-00000000aaaa")
	two = uuid.MustParse("018f0000-0000-7000-8000-00000000bbbb")
)

// log is a watcher that keeps what it was told.
type log []string

func (l *log) Opened(q Question) { *l = append(*l, "opened "+q.Path) }
func (l *log) Closed(q Question, how Outcome) {
	*l = append(*l, "closed "+q.Path+" "+[...]string{"approved", "declined", "unanswered", "withdrawn"}[how])
}

func (l *log) want(t *testing.T, want ...string) {
	t.Helper()
	if got, want := strings.Join(*l, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("the watcher hears\n%s\nwant\n%s", got, want)
	}
}

func desk(l *log) *Desk {
	return New(Options{Policy: settings.ConfirmAll, Timeout: 5 * time.Minute, Watchers: []Watcher{l}})
}

// ask asks on a goroutine of its own.
func ask(ctx context.Context, d *Desk, q Question, limit time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() { done <- d.Ask(ctx, q, limit, func() {}) }()
	synctest.Wait()
	return done
}

func write(id uuid.UUID, path string) Question {
	return Question{ID: id, Write: true, Project: "acme/p", Path: path}
}

func needed(t *testing.T, d *Desk, q Question) bool {
	t.Helper()
	yes, err := d.Needed(q)
	if err != nil {
		t.Error(err)
	}
	return yes
}

func wantCode(t *testing.T, err error, code common.ErrorCode) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Errorf("the end is %q (%v), want %q", got, err, code)
	}
}

func TestThePolicySaysWhatIsAskedAbout(t *testing.T) {
	for _, row := range []struct {
		policy       settings.Confirm
		writes, read bool
	}{
		{settings.ConfirmNever, false, false},
		{settings.ConfirmWrites, true, false},
		{settings.ConfirmAll, true, true},
		{"", false, false},
	} {
		d := New(Options{Policy: row.policy})
		if w, r := needed(t, d, Question{Write: true}), needed(t, d, Question{}); w != row.writes || r != row.read {
			t.Errorf("%q asks about writing: %t, reading: %t", row.policy, w, r)
		}
	}
}

func TestAnAnswerEndsTheQuestion(t *testing.T) {
	for name, row := range map[string]struct {
		answer Answer
		code   common.ErrorCode
		told   string
	}{
		"yes":    {Yes, "", "approved"},
		"no":     {No, common.ErrorCodeDeclined, "declined"},
		"always": {Always, "", "approved"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l log
				d := desk(&l)
				done := ask(t.Context(), d, write(one, "a/f"), 0)
				if open := d.Open(); len(open) != 1 || open[0].ID != one {
					t.Fatalf("open: %+v", open)
				}
				if err := d.Answer(one, row.answer); err != nil {
					t.Fatal(err)
				}
				wantCode(t, <-done, row.code)
				l.want(t, "opened a/f", "closed a/f "+row.told)
				if err := d.Answer(one, Yes); !errors.Is(err, ErrNoQuestion) {
					t.Errorf("a second answer: %v", err)
				}
			})
		})
	}
}

func TestSilenceIsDeclinedWhenTheTimeIsOver(t *testing.T) {
	for name, row := range map[string]struct {
		limit, want time.Duration
	}{
		"the confirm timeout":             {0, 5 * time.Minute},
		"a limit that is longer":          {time.Hour, 5 * time.Minute},
		"a Brain that waits only a while": {30 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l log
				d, began := desk(&l), time.Now()
				err := d.Ask(t.Context(), write(one, "f"), row.limit, func() {})
				wantCode(t, err, common.ErrorCodeDeclined)
				if took := time.Since(began); took != row.want {
					t.Errorf("it took %v, want %v", took, row.want)
				}
				if !strings.Contains(err.Error(), "nobody answered") {
					t.Errorf("the text is %q", err)
				}
				l.want(t, "opened f", "closed f unanswered")
			})
		})
	}
}

func TestAQuestionIsWithdrawnWithItsTransferOrItsFoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		d := desk(&l)
		ctx, cancel := context.WithCancel(t.Context())
		first := ask(ctx, d, write(one, "f"), 0)
		second := ask(t.Context(), d, write(two, "g"), 0)
		cancel()
		wantCode(t, <-first, common.ErrorCodeCancelled)
		d.Close()
		wantCode(t, <-second, common.ErrorCodeCancelled)
		wantCode(t, d.Ask(t.Context(), write(one, "h"), 0, func() {}), common.ErrorCodeCancelled)
		l.want(t, "opened f", "opened g", "closed f withdrawn", "closed g withdrawn")
	})
}

func TestWhereNobodyCanBeAskedItIsDeclinedAtOnce(t *testing.T) {
	var l log
	d := New(Options{Policy: settings.ConfirmAll, Timeout: time.Hour, Nobody: "there is no terminal", Watchers: []Watcher{&l}})
	_, err := d.Needed(write(one, "f"))
	wantCode(t, err, common.ErrorCodeDeclined)
	if !strings.Contains(err.Error(), "there is no terminal") {
		t.Errorf("the text is %q", err)
	}
	l.want(t)
}

func TestAlwaysCountsForTheFolderAndBelowInOneDirection(t *testing.T) {
	for _, row := range []struct {
		always, path string
		covered      bool
	}{
		{"a/f", "a/g", true},
		{"a/f", "a/b/c/g", true},
		{"a/f", "ab/g", false},
		{"a/f", "b/a/g", false},
		{"a/f", "g", false},
		{"a/f", "A/g", false}, // it may be another folder
		{"f", "g", true},
		{"f", "a/g", true},
		{"f", "@music/g", false},
		{"f", "./@g", true},
		{"./@f", "a", true},
		{"./@a/f", "./@a/g", true},
		{"./@a/f", "@a/g", false},
		{"@a/f", "./@a/g", false},
		{"@a/f", "@a/g", true},
		{"@a/f", "@a/b/g", true},
		{"@a/f", "@ab/g", false},
		{"@a/b/f", "@a/g", false},
		{"@a/f", "g", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l log
			d := desk(&l)
			done := ask(t.Context(), d, write(one, row.always), 0)
			if err := d.Answer(one, Always); err != nil {
				t.Fatal(err)
			}
			<-done
			if got := !needed(t, d, write(two, row.path)); got != row.covered {
				t.Errorf("always for %s covers %s: %t, want %t", row.always, row.path, got, row.covered)
			}
			reading, elsewhere := write(two, row.path), write(two, row.path)
			reading.Write, elsewhere.Project = false, "acme/q"
			if !needed(t, d, reading) || !needed(t, d, elsewhere) {
				t.Errorf("always for writing %s also counts for reading or for another project", row.always)
			}
		})
	}
}

func TestAlwaysAnswersTheOtherQuestionsAboutTheFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		d := desk(&l)
		first, second := ask(t.Context(), d, write(one, "a/f"), 0), ask(t.Context(), d, write(two, "a/g"), 0)
		if err := d.Answer(one, Always); err != nil {
			t.Fatal(err)
		}
		wantCode(t, <-first, "")
		wantCode(t, <-second, "")
		wantCode(t, d.Ask(t.Context(), write(two, "a/h"), 0, func() {}), "")
		l.want(t, "opened a/f", "opened a/g", "closed a/f approved", "closed a/g approved")
	})
}

func TestAQuestionIsFoundByAPartOfItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		d := desk(&l)
		first, second := ask(t.Context(), d, write(one, "f"), 0), ask(t.Context(), d, write(two, "g"), 0)
		for text, want := range map[string]error{"018f": ErrAmbiguous, "": ErrNoQuestion, "aaa": ErrNoQuestion, "cccc": ErrNoQuestion, "0000-7000": ErrNoQuestion} {
			if _, err := d.AnswerTo(text, Yes); !errors.Is(err, want) {
				t.Errorf("%q: %v, want %v", text, err, want)
			}
		}
		if q, err := d.AnswerTo("AAAA", Yes); err != nil || q.Path != "f" {
			t.Errorf("%+v, %v", q, err)
		}
		if q, err := d.AnswerTo(two.String(), No); err != nil || q.Path != "g" {
			t.Errorf("%+v, %v", q, err)
		}
		wantCode(t, <-first, "")
		wantCode(t, <-second, common.ErrorCodeDeclined)
	})
}

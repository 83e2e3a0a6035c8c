package suite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

// Outcome is how one rule ended.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Result is what came of one rule.
type Result struct {
	Rule    *Rule
	Outcome Outcome
	Detail  string // why it failed or was skipped
	Took    time.Duration
}

// ErrUnreachable ends a run: the peer is not there.
var ErrUnreachable = errors.New("the peer cannot be reached")

// firstPatience is how long the first handshake may take, however short the patience
// is: without it nothing can be tried.
const firstPatience = 10 * time.Second

// Run tries the rules one after the other and hands over each result. It fails when
// the peer cannot be reached at all.
func Run(ctx context.Context, o Options, rules []*Rule, report func(Result)) error {
	s := &subject{Options: o, ctx: ctx}
	defer s.finish()
	if err := s.prepare(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	s.Patience = max(o.Patience, firstPatience)
	if err := s.connect(nil, usualTerms()); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	s.Patience = o.Patience
	for _, r := range rules {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		began := time.Now()
		result := s.try(r)
		result.Rule, result.Took = r, time.Since(began)
		report(result)
	}
	return nil
}

// Check is one rule being tried.
type Check struct {
	*subject
	features []string
	rule     *Rule
	// loose: frames that nobody awaited are no fault of the peer.
	loose bool
}

// verdict ends a rule.
type verdict struct {
	outcome Outcome
	detail  string
}

func (s *subject) try(r *Rule) (result Result) {
	if s.BaseOnly && !r.Base() {
		return Result{Outcome: Skipped, Detail: "not of the base protocol"}
	}
	c := &Check{subject: s, rule: r, features: r.Features.Names()}
	result.Outcome = Passed
	defer func() {
		switch v := recover().(type) {
		case nil:
		case verdict:
			result.Outcome, result.Detail = v.outcome, v.detail
		default:
			result.Outcome, result.Detail = Failed, fmt.Sprintf("a fault of this checker: %v\n%s", v, debug.Stack())
		}
		if result.Outcome == Failed {
			s.disconnect() // the next rule meets no leftovers
		}
	}()
	if r.Features != 0 {
		c.features = known // one connection for all extensions
	}
	c.connect(usualTerms())
	s.conn.Untaken()
	s.conn.Violations()
	r.run(c)
	c.settle()
	return result
}

// connect makes sure of a connection with the rule's extensions in force.
func (c *Check) connect(t terms) {
	err := c.subject.connect(c.features, t)
	var missing *missingFeaturesError
	if errors.As(err, &missing) {
		c.disconnect()
		c.skip("%v", missing)
	}
	if err != nil {
		c.disconnect()
		c.failf("no connection: %v", err)
	}
}

// fresh makes a connection of the rule's own, and connect another one later.
func (c *Check) fresh(t terms) {
	c.disconnect()
	c.connect(t)
}

// settle fails the rule for what the peer sent beside what it should.
func (c *Check) settle() {
	if c.conn == nil || !c.conn.Alive() {
		return
	}
	if err := c.conn.Barrier(c.Patience); err != nil {
		c.failf("no pong: %v", err)
	}
	if found := c.conn.Violations(); len(found) > 0 {
		c.failf("the peer %s", strings.Join(found, "; the peer "))
	}
	if left := c.conn.Untaken(); len(left) > 0 && !c.loose {
		c.failf("the peer sent what nothing asked for: %s", peer.Brief(left[0].Raw))
	}
}

func (c *Check) failf(format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	if c.conn != nil {
		for _, v := range c.conn.Violations() {
			detail += "; the peer " + v
		}
	}
	panic(verdict{Failed, detail})
}

func (c *Check) skip(format string, args ...any) {
	panic(verdict{Skipped, fmt.Sprintf(format, args...)})
}

// must fails the rule for an error of sending or calling.
func (c *Check) must(err error, doing string) {
	if err != nil {
		c.failf("%s: %v", doing, err)
	}
}

// send sends a frame, valid or not.
func (c *Check) send(f frames.Frame) { c.must(c.conn.Send(f), "sending "+string(f.FrameType())) }

// text sends a message as it is.
func (c *Check) text(message string) {
	c.must(c.conn.SendText([]byte(message)), "sending a message")
}

// await takes the next message that match accepts.
func (c *Check) await(what string, match func(*peer.Message) bool) *peer.Message {
	return c.awaitFor(c.Patience, what, match)
}

func (c *Check) awaitFor(limit time.Duration, what string, match func(*peer.Message) bool) *peer.Message {
	m, err := c.conn.Await(limit, match)
	if errors.Is(err, peer.ErrNone) {
		text := "none"
		if left := c.conn.Untaken(); len(left) > 0 {
			text = "got " + peer.Brief(left[0].Raw)
		}
		c.failf("expected %s within %v: %s", what, limit, text)
	}
	c.must(err, "awaiting "+what)
	return m
}

// awaitError takes the next error frame, which must have this code.
func (c *Check) awaitError(code common.ErrorCode) *frames.ErrorFrame {
	c.pace.wait(c.ctx)
	m := c.await("an error frame "+string(code), peer.Any[*frames.ErrorFrame])
	f := m.Frame.(*frames.ErrorFrame)
	if f.Code != code {
		c.failf("the error frame has code %s, want %s: %s", f.Code, code, peer.Brief(m.Raw))
	}
	return f
}

// expect takes the next frame of a type and transfer.
func expect[F frames.Frame](c *Check, id common.TransferID) F {
	var zero F
	return c.await(fmt.Sprintf("%s of this transfer", zero.FrameType()), peer.Of[F](id)).Frame.(F)
}

// silent fails the rule when a frame of these transfers comes within the time that
// the peer needs to answer a ping.
func (c *Check) silent(id common.TransferID, what string) {
	c.must(c.conn.Barrier(c.Patience), "awaiting a pong")
	m, err := c.conn.Await(0, func(m *peer.Message) bool {
		of, ok := frames.TransferOf(m.Frame)
		_, news := m.Frame.(*frames.TransferProgress)
		return ok && of == id && !news
	})
	if err == nil {
		c.failf("%s was answered with %s", what, peer.Brief(m.Raw))
	}
}

// within is the rule's context, ended after the patience.
func (c *Check) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, c.Patience)
}

// failure checks that a failing frame says why, with a code and its text.
func (c *Check) failure(of string, gotCode *common.ErrorCode, gotText *string, code common.ErrorCode, text string) {
	switch {
	case !c.isCode(derefCode(gotCode), code):
		c.failf("%s fails with the code %q (%s), want %s", of, derefCode(gotCode), deref(gotText), code)
	case gotText == nil || *gotText == "":
		c.failf("%s fails without a text", of)
	case !strings.HasPrefix(*gotText, text):
		c.failf("%s says %q, want a text that begins with %q", of, *gotText, text)
	}
}

// isCode compares a code with those that will do. The base protocol has texts only:
// a peer that knows nothing else may leave the code out.
func (c *Check) isCode(got common.ErrorCode, want ...common.ErrorCode) bool {
	return got == "" && c.BaseOnly || slices.Contains(want, got)
}

func deref(s *string) string {
	if s == nil {
		return "no text"
	}
	return *s
}

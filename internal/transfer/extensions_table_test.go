package transfer

import (
	"testing"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// The extensions over the pure steps. With none of them in force the tables of
// table_test.go hold.

var (
	all = terms{cancel: true, path: true, people: true}

	eHashing     = progressAt("hashing", 3, 10)
	eApproval    = progressAt("waiting_for_approval", 0, 10)
	eVerifying   = progressAt("verifying", 10, 10)
	eEnough      = frameEvent(&frames.TransferCancel{TransferID: someID, Reason: "enough"})
	eBadProgress = broken(frames.FrameTypeTransferProgress)
	eBadCancel   = broken(frames.FrameTypeTransferCancel)
)

func progressAt(state frames.ProgressState, bytes, total int64) event {
	return frameEvent(&frames.TransferProgress{TransferID: someID, State: state, Bytes: bytes, TotalBytes: total})
}

func askedOf(t terms) func() machine {
	return func() machine { return newReceiver(someID, 100, request, t) }
}

func unaskedOf(t terms) func() machine {
	return func() machine { return newReceiver(someID, 100, nil, t) }
}

func sending(requested bool, t terms) func() machine {
	return func() machine { return newSender(someID, 100, requested, t) }
}

func TestProgressAndCancelAtEveryPosition(t *testing.T) {
	const cancelled = "send:transfer_cancel resolve forget"
	receiving, sent := []event{eInit, eOpened}, []event{eBegin, eOpened, eHashed, eOK, eSending, eSent}
	full := append(receiving[:2:2], eChunk0, eChunk1, eWritten)
	last := append(sent[:6:6], eSendLast, eSentLast)
	for _, p := range []struct {
		position
		want map[string]string // progress, peer cancels, bad progress, bad cancel, own cancel
	}{
		{position{"receiver/new", unaskedOf(all), nil}, map[string]string{
			"hashing": "reject", "approval": "reject", "enough": "reject", "bad progress": "reject", "bad cancel": "reject", "cancel": "resolve forget"}},
		{position{"receiver/requested", askedOf(all), []event{eBegin}}, map[string]string{
			"hashing": "arm", "approval": "confirm", "enough": "resolve forget", "bad progress": cancelled, "bad cancel": cancelled,
			"cancel": cancelled, "timeout": cancelled}},
		{position{"receiver/refusing", asked, []event{eBegin, eCancel}}, map[string]string{
			"hashing": "", "approval": "", "enough": "forget", "bad progress": "", "bad cancel": "", "cancel": ""}},
		{position{"receiver/opening", unaskedOf(all), []event{eInit}}, map[string]string{
			"hashing": "", "approval": "", "enough": stopEffects, "bad progress": stopEffects, "bad cancel": stopEffects, "cancel": stopEffects}},
		{position{"receiver/receiving", unaskedOf(all), receiving}, map[string]string{
			"hashing": "arm", "approval": "", "enough": stopEffects, "bad progress": stopEffects, "bad cancel": stopEffects, "cancel": stopEffects}},
		{position{"receiver/waiting for its disk", unaskedOf(all), append(receiving[:2:2], eChunk0)}, map[string]string{
			"hashing": "", "approval": "", "enough": stopEffects, "bad progress": stopEffects, "bad cancel": stopEffects, "cancel": stopEffects}},
		{position{"receiver/finishing", unaskedOf(all), full}, map[string]string{
			"hashing": "", "approval": "", "enough": stopEffects, "bad progress": stopEffects, "bad cancel": stopEffects, "cancel": stopEffects}},
		{position{"receiver/closing", unaskedOf(all), append(receiving[:2:2], eBroke)}, map[string]string{
			"hashing": "", "approval": "", "enough": "", "bad progress": "", "bad cancel": "", "cancel": ""}},
		{position{"receiver/published", unaskedOf(all), append(full[:5:5], eWrittenEnd, ePublished)}, map[string]string{
			"hashing": "", "approval": "", "enough": "forget", "bad progress": "", "bad cancel": "", "cancel": ""}},
		{position{"receiver/ended", unaskedOf(all), append(full[:5:5], eWrittenEnd, ePublished, eFinishOK)}, map[string]string{
			"hashing": "", "approval": "", "enough": "", "bad progress": "", "bad cancel": "", "cancel": ""}},

		{position{"download/opening", sending(false, all), []event{eBegin}}, map[string]string{
			"hashing": "reject", "approval": "reject", "enough": "reject", "bad progress": "reject", "bad cancel": "reject", "cancel": stopEffects}},
		{position{"download/hashing", sending(false, all), []event{eBegin, eOpened}}, map[string]string{
			"hashing": "reject", "approval": "reject", "enough": "reject", "bad progress": "reject", "bad cancel": "reject", "cancel": stopEffects}},
		{position{"upload/opening", sending(true, all), []event{eBegin}}, map[string]string{
			"hashing": "", "approval": "", "enough": stopEffects, "bad progress": stopEffects, "bad cancel": stopEffects, "cancel": stopEffects}},
		{position{"upload/hashing", sending(true, all), []event{eBegin, eOpened}}, map[string]string{
			"hashing": "", "approval": "", "enough": stopEffects, "bad progress": stopEffects, "bad cancel": stopEffects, "cancel": stopEffects}},
		{position{"sender/offered", sending(false, all), sent[:3]}, map[string]string{
			"hashing": "arm", "approval": "confirm", "enough": stopEffects, "bad progress": stopEffects, "bad cancel": stopEffects, "cancel": stopEffects}},
		{position{"sender/streaming", sending(false, all), sent}, map[string]string{
			"hashing": "arm", "approval": "", "enough": stopEffects, "bad progress": stopEffects, "bad cancel": stopEffects, "cancel": stopEffects}},
		{position{"sender/verifying", sending(false, all), last}, map[string]string{
			"hashing": "arm", "approval": "", "enough": stopEffects, "bad progress": stopEffects, "bad cancel": stopEffects, "cancel": stopEffects}},
		{position{"sender/closing", sending(false, all), append(last[:8:8], eDone)}, map[string]string{
			"hashing": "", "approval": "", "enough": "", "bad progress": "", "bad cancel": "", "cancel": ""}},
		{position{"sender/ended", sending(false, all), append(last[:8:8], eDone, eStopped)}, map[string]string{
			"hashing": "", "approval": "", "enough": "", "bad progress": "", "bad cancel": "", "cancel": ""}},
	} {
		events := map[string]event{"hashing": eHashing, "approval": eApproval, "enough": eEnough,
			"bad progress": eBadProgress, "bad cancel": eBadCancel, "cancel": eCancel, "timeout": eTimeout}
		for name, want := range p.want {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				if got := fx(p.reach().step(events[name])); got != want {
					t.Errorf("the effects are %q, want %q", got, want)
				}
			})
		}
	}
}

func TestACancelEndsAsCancelledOnBothSides(t *testing.T) {
	receiving, sent := []event{eInit, eOpened, eChunk0}, []event{eBegin, eOpened, eHashed, eOK, eSending, eSent}
	refused := event{kind: evCancel, fault: fault.Newf(common.ErrorCodeAccessDenied, "token revoked")}
	for _, c := range []struct {
		rule   string
		make   func() machine
		events []event
		answer string
		text   string
	}{
		{"a receiver that cancels says transfer_cancel", unaskedOf(all), append(receiving[:3:3], eCancel), "send:transfer_cancel resolve forget", "cancelled"},
		{"also before its place is open", unaskedOf(all), []event{eInit, eCancel}, "send:transfer_cancel resolve forget", "cancelled"},
		{"a sender that cancels says transfer_cancel", sending(false, all), append(sent[:6:6], eCancel), "send:transfer_cancel resolve forget", "cancelled"},
		{"a requested sender also while it hashes", sending(true, all), []event{eBegin, eOpened, eCancel}, "send:transfer_cancel resolve forget", "cancelled"},
		{"a download nobody heard of says nothing", sending(false, all), []event{eBegin, eOpened, eCancel}, "resolve forget", "cancelled"},
		{"a receiver that is cancelled does not answer", unaskedOf(all), append(receiving[:3:3], eEnough), "resolve forget", "cancelled: enough"},
		{"a sender that is cancelled does not answer", sending(false, all), append(sent[:6:6], eEnough), "resolve forget", "cancelled: enough"},
		{"a sender that is cancelled while it hashes does not answer", sending(true, all), []event{eBegin, eOpened, eEnough}, "resolve forget", "cancelled: enough"},
		{"an end for another reason keeps its code and its frame", unaskedOf(all), append(receiving[:3:3], refused),
			"send:transfer_complete(access_denied) resolve forget", "access denied: token revoked"},

		{"without the feature a receiver says a failing complete", unasked, append(receiving[:3:3], eCancel), "send:transfer_complete(cancelled) resolve forget", "cancelled"},
		{"without the feature a sender says a failing finish", download, append(sent[:6:6], eCancel), "send:transfer_finish(cancelled) resolve forget", "cancelled"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			answer, why := ending(c.make(), c.events...)
			if answer != c.answer {
				t.Errorf("it ends with %q, want %q", answer, c.answer)
			}
			if why == nil || why.Text != c.text {
				t.Errorf("the failure is %v, want %q", why, c.text)
			}
		})
	}
}

func TestAReasonIsTheTextOfCancelled(t *testing.T) {
	for reason, want := range map[string]string{
		"": "cancelled", "cancelled": "cancelled", "cancelled: by the person": "cancelled: by the person",
		"by the person": "cancelled: by the person", "a\x1b[2J": `cancelled: a\x1b[2J`,
	} {
		f := cancelledByPeer(&frames.TransferCancel{Reason: reason})
		if f.Code != common.ErrorCodeCancelled || f.Text != want {
			t.Errorf("%q reads as %s %q, want %q", reason, f.Code, f.Text, want)
		}
	}
}

func TestOnlyWhatIsFurtherThanAllBeforeMovesOn(t *testing.T) {
	type step struct {
		state        string
		bytes, total int64
		moved        bool
	}
	for rule, steps := range map[string][]step{
		"a new state, more bytes": {{"queued", 0, 0, true}, {"waiting_for_approval", 0, 0, true}, {"hashing", 0, 10, true}, {"hashing", 5, 10, true}, {"streaming", 0, 10, true}, {"verifying", 10, 10, true}},
		"the same again":          {{"hashing", 5, 10, true}, {"hashing", 5, 10, false}, {"hashing", 5, 10, false}},
		"fewer bytes":             {{"hashing", 5, 10, true}, {"hashing", 4, 10, false}, {"hashing", 5, 10, false}, {"hashing", 6, 10, true}},
		"back and forth":          {{"hashing", 5, 10, true}, {"streaming", 0, 10, true}, {"hashing", 9, 10, false}, {"streaming", 0, 10, false}},
		"more than there is":      {{"hashing", 11, 10, false}, {"hashing", 10, 10, true}, {"hashing", 11, 11, false}},
		"a growing file":          {{"hashing", 1, 1, true}, {"hashing", 2, 2, false}, {"hashing", 3, 3, false}},
		"bytes while it waits":    {{"waiting_for_approval", 1, 10, true}, {"waiting_for_approval", 2, 10, false}, {"queued", 9, 10, false}},
		"suspended":               {{"suspended", 5, 10, false}, {"suspended", 6, 10, false}},
	} {
		t.Run(rule, func(t *testing.T) {
			var r reported
			for i, s := range steps {
				f := &frames.TransferProgress{TransferID: uuid.Nil, State: frames.ProgressState(s.state), Bytes: s.bytes, TotalBytes: s.total}
				if moved := r.moveOn(f); moved != s.moved {
					t.Errorf("step %d, %+v: moved %v", i+1, s, moved)
				}
			}
		})
	}
}

func TestTheReceiverTellsWhatItPublished(t *testing.T) {
	for name, c := range map[string]struct {
		terms terms
		path  string
		want  any
	}{
		"with on-existing":         {terms{path: true}, "a/f-1", "a/f-1"},
		"without it":               {terms{}, "a/f-1", nil},
		"a path no frame can hold": {terms{path: true}, string(make([]byte, maxPath+1)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := newReceiver(someID, 100, nil, c.terms)
			for _, ev := range []event{eInit, eOpened, eChunk0, eChunk1, eWritten, eWrittenEnd} {
				m.step(ev)
			}
			done := m.step(event{kind: evPublished, path: c.path})[0].frame.(*frames.TransferComplete)
			if deref(done.Path) != c.want {
				t.Errorf("it tells %v, want %v", deref(done.Path), c.want)
			}
			if result, why := m.outcome(); why != nil || result.Path != c.path {
				t.Errorf("the result is %+v, %v", result, why)
			}
		})
	}
}

func TestTheSenderGoesByWhatWasPublished(t *testing.T) {
	done := *eDone.frame.(*frames.TransferComplete)
	done.Path = ptr("a/f-1")
	for name, c := range map[string]struct {
		terms terms
		done  event
		want  string
	}{
		"with on-existing":          {terms{path: true}, frameEvent(&done), "a/f-1"},
		"a receiver that is silent": {terms{path: true}, eDone, "a/f"},
		"without it":                {terms{}, frameEvent(&done), "a/f"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSender(someID, 100, false, c.terms)
			for _, ev := range []event{eBegin, eOpened, eHashed, eOK, eSending, eSent, eSendLast, eSentLast, c.done, eStopped} {
				m.step(ev)
			}
			if result, why := m.outcome(); why != nil || result.Path != c.want {
				t.Errorf("the result is %+v, %v, want %s", result, why, c.want)
			}
		})
	}
}

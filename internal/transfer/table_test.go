package transfer

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

var (
	someID  = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	request = &frames.ClientFileUploadRequest{TransferID: someID, LocalPath: "l", DirName: "d", RemotePath: "a/f"}
)

// fx names the effects of a step, for tables.
func fx(effects []effect) string {
	out := ""
	for _, e := range effects {
		switch e.kind {
		case fxSend:
			out += "send:" + string(e.frame.FrameType())
			out += verdict(e.frame)
		case fxDo:
			out += [...]string{"open", "ask", "stage", "hash", "stream", "write", "publish"}[e.job]
		case fxStop:
			out += "stop"
		case fxArm:
			out += "arm"
		case fxConfirm:
			out += "confirm"
		case fxPause:
			out += "pause"
		case fxGrace:
			out += "grace"
		case fxReject:
			out += "reject"
		case fxResolve:
			out += "resolve"
		case fxForget:
			out += "forget"
		}
		out += " "
	}
	if out == "" {
		return ""
	}
	return out[:len(out)-1]
}

func verdict(f frames.Frame) string {
	ok, code := true, (*common.ErrorCode)(nil)
	switch f := f.(type) {
	case *frames.TransferInitResponse:
		ok, code = f.Ok, f.ErrorCode
	case *frames.TransferComplete:
		ok, code = f.Ok, f.ErrorCode
	case *frames.TransferFinish:
		ok, code = f.Ok, f.ErrorCode
	default:
		return ""
	}
	if ok {
		return "(ok)"
	}
	return fmt.Sprintf("(%s)", *code)
}

func frameEvent(f frames.Frame) event {
	kinds := map[frames.FrameType]eventKind{
		frames.FrameTypeTransferInit: evInit, frames.FrameTypeTransferInitResponse: evResponse,
		frames.FrameTypeTransferChunk: evChunk, frames.FrameTypeTransferComplete: evComplete,
		frames.FrameTypeTransferFinish: evFinish, frames.FrameTypeTransferProgress: evProgress,
		frames.FrameTypeTransferCancel: evPeerCancel,
	}
	return event{kind: kinds[f.FrameType()], frame: f}
}

func broken(t frames.FrameType) event {
	return event{kind: evInvalid, frameType: t, fault: fault.Newf(common.ErrorCodeInvalidFrame, "/seq: not a number")}
}

// The events of the tables. data is the file that travels: 10 bytes.
var (
	fileData = []byte("0123456789")
	fileHash = sumOf(fileData)
	dirName  = "d"

	theInit     = &frames.TransferInit{TransferID: someID, Target: "a/f", DirName: &dirName, TotalSize: 10, Hash: &fileHash}
	eInit       = frameEvent(theInit)
	eOK         = frameEvent(&frames.TransferInitResponse{TransferID: someID, Ok: true})
	eNo         = frameEvent(refuse(someID, fault.New(common.ErrorCodeSizeLimit)))
	eChunk0     = frameEvent(&frames.TransferChunk{TransferID: someID, Seq: 0, Bytes: fileData[:6]})
	eChunk1     = frameEvent(&frames.TransferChunk{TransferID: someID, Seq: 1, Bytes: fileData[6:], Last: true})
	eDone       = frameEvent(&frames.TransferComplete{TransferID: someID, Ok: true, BytesWritten: 10, HashCheck: ptr(frames.HashCheckOk)})
	eFailed     = frameEvent(failComplete(someID, fault.New(common.ErrorCodeDiskFull), 0, nil))
	eFinishOK   = frameEvent(&frames.TransferFinish{TransferID: someID, Ok: true})
	eFinishNo   = frameEvent(failFinish(someID, fault.New(common.ErrorCodeNotFound)))
	eBadInit    = broken(frames.FrameTypeTransferInit)
	eBadChunk   = broken(frames.FrameTypeTransferChunk)
	eBadAnswer  = broken(frames.FrameTypeTransferInitResponse)
	eBadFinish  = broken(frames.FrameTypeTransferFinish)
	eBegin      = event{kind: evBegin}
	eOpened     = event{kind: evOpened, n: 10, init: &frames.TransferInit{TransferID: someID, Target: "a/f", TotalSize: 10}}
	eAsk        = event{kind: evAsk, path: "a/f"}
	eApproved   = event{kind: evApproved}
	eOpenedAsks = event{kind: evOpened, n: 10, asks: true, init: &frames.TransferInit{TransferID: someID, Target: "a/f", TotalSize: 10}}
	eDeclined   = event{kind: evFailed, fault: fault.New(common.ErrorCodeDeclined)}
	eHashed     = event{kind: evHashed, hash: fileHash}
	eSending    = event{kind: evSending, n: 6}
	eSent       = event{kind: evSent, n: 6}
	eSendLast   = event{kind: evSending, n: 4, last: true}
	eSentLast   = event{kind: evSent, n: 4, last: true}
	eWritten    = event{kind: evWritten, n: 6}
	eWrittenEnd = event{kind: evWritten, n: 4, last: true, hash: fileHash}
	ePublished  = event{kind: evPublished, path: "a/f"}
	eBroke      = event{kind: evFailed, fault: fault.New(common.ErrorCodePermissionDenied)}
	eStopped    = event{kind: evStopped}
	eTimeout    = event{kind: evTimeout}
	eCancel     = event{kind: evCancel, fault: fault.New(common.ErrorCodeCancelled)}
	eLost       = event{kind: evLost, fault: fault.New(common.ErrorCodeConnectionLost)}
)

// A position is a machine in a state, reached by the events that lead there.
type position struct {
	name string
	make func() machine
	path []event
}

func (p position) reach() machine {
	m := p.make()
	for _, ev := range p.path {
		m.step(ev)
	}
	return m
}

func asked() machine    { return newReceiver(someID, 100, request, terms{}) }
func unasked() machine  { return newReceiver(someID, 100, nil, terms{}) }
func download() machine { return newSender(someID, 100, false, terms{}) }
func upload() machine   { return newSender(someID, 100, true, terms{}) }

// stopEffects is how every failure begins: the answer waits for the worker.
const stopEffects = "grace stop"

func TestEveryFrameAtEveryPositionOfTheReceiver(t *testing.T) {
	receiving := []event{eInit, eOpened}
	positions := []struct {
		position
		want map[string]string
	}{
		{position{"requested", asked, []event{eBegin}}, map[string]string{
			"init": "open arm", "ok": "reject", "chunk": "reject", "complete": "reject",
			"finish ok": "reject", "finish no": "resolve forget",
			"bad init": stopEffects, "bad chunk": "resolve arm", "bad answer": "reject", "bad finish": "resolve arm",
			"timeout": "resolve forget", "cancel": "resolve arm", "lost": "resolve forget",
		}},
		{position{"refusing", asked, []event{eBegin, eCancel}}, map[string]string{
			"init": "send:transfer_init_response(cancelled) forget", "ok": "reject", "chunk": "reject", "complete": "reject",
			"finish ok": "forget", "finish no": "forget",
			"bad init": "send:transfer_init_response(cancelled) forget", "bad chunk": "", "bad answer": "", "bad finish": "",
			"timeout": "forget", "cancel": "", "lost": "forget",
		}},
		{position{"opening", unasked, []event{eInit}}, map[string]string{
			"init": "send:transfer_init_response(duplicate_transfer)", "ok": "reject", "chunk": "reject", "complete": "reject",
			"finish ok": stopEffects, "finish no": stopEffects,
			"bad init": "send:transfer_init_response(invalid_frame)", "bad chunk": stopEffects, "bad answer": "reject", "bad finish": stopEffects,
			"timeout": stopEffects, "cancel": stopEffects, "lost": stopEffects,
		}},
		{position{"asking", unasked, []event{eInit, eAsk}}, map[string]string{
			"init": "send:transfer_init_response(duplicate_transfer)", "ok": "reject", "chunk": "reject", "complete": "reject",
			"finish ok": stopEffects, "finish no": stopEffects,
			"bad init": "send:transfer_init_response(invalid_frame)", "bad chunk": stopEffects, "bad answer": "reject", "bad finish": stopEffects,
			"timeout": "", "cancel": stopEffects, "lost": stopEffects,
		}},
		{position{"receiving", unasked, receiving}, map[string]string{
			"init": "send:transfer_init_response(duplicate_transfer)", "ok": "reject", "chunk": "write arm", "complete": "reject",
			"finish ok": stopEffects, "finish no": stopEffects,
			"bad init": "send:transfer_init_response(invalid_frame)", "bad chunk": stopEffects, "bad answer": "reject", "bad finish": stopEffects,
			"timeout": stopEffects, "cancel": stopEffects, "lost": stopEffects,
		}},
		{position{"finishing", unasked, append(receiving, eChunk0, eChunk1)}, map[string]string{
			"init": "send:transfer_init_response(duplicate_transfer)", "ok": "reject", "chunk": "reject", "complete": "reject",
			"finish ok": stopEffects, "finish no": stopEffects,
			"bad init": "send:transfer_init_response(invalid_frame)", "bad chunk": stopEffects, "bad answer": "reject", "bad finish": stopEffects,
			"timeout": stopEffects, "cancel": stopEffects, "lost": stopEffects,
		}},
		{position{"closing", unasked, append(receiving, eBroke)}, map[string]string{
			"init": "send:transfer_init_response(duplicate_transfer)", "ok": "", "chunk": "", "complete": "",
			"finish ok": "", "finish no": "",
			"bad init": "send:transfer_init_response(invalid_frame)", "bad chunk": "", "bad answer": "", "bad finish": "",
			"timeout": "send:transfer_complete(permission_denied) resolve forget", "cancel": "", "lost": "grace",
		}},
		{position{"published", unasked, append(receiving, eChunk0, eChunk1, eWritten, eWrittenEnd, ePublished)}, map[string]string{
			"init": "send:transfer_init_response(duplicate_transfer)", "ok": "", "chunk": "", "complete": "",
			"finish ok": "forget", "finish no": "forget",
			"bad init": "send:transfer_init_response(invalid_frame)", "bad chunk": "", "bad answer": "", "bad finish": "",
			"timeout": "forget", "cancel": "", "lost": "forget",
		}},
	}
	for _, p := range positions {
		runTable(t, p.position, p.want)
	}
}

func TestEveryFrameAtEveryPositionOfTheSender(t *testing.T) {
	offered := []event{eBegin, eOpened, eHashed}
	dup := "send:transfer_init_response(duplicate_transfer)"
	badInit := "send:transfer_init_response(invalid_frame)"
	positions := []struct {
		position
		want map[string]string
	}{
		{position{"hashing", upload, []event{eBegin, eOpened}}, map[string]string{
			"init": dup, "ok": "reject", "chunk": "reject", "complete": "reject", "finish ok": "reject", "finish no": "reject",
			"bad init": "reject", "bad chunk": "reject", "bad answer": "reject", "bad finish": "reject",
			"timeout": "", "cancel": stopEffects, "lost": stopEffects,
		}},
		{position{"asking", upload, []event{eBegin, eOpenedAsks}}, map[string]string{
			"init": dup, "ok": "reject", "chunk": "reject", "complete": "reject", "finish ok": "reject", "finish no": "reject",
			"bad init": "reject", "bad chunk": "reject", "bad answer": "reject", "bad finish": "reject",
			"timeout": "", "cancel": stopEffects, "lost": stopEffects,
		}},
		{position{"offered", download, offered}, map[string]string{
			"init": dup, "ok": "stream arm", "chunk": "reject", "complete": "reject", "finish ok": "reject", "finish no": "reject",
			"bad init": badInit, "bad chunk": "reject", "bad answer": stopEffects, "bad finish": "reject",
			"timeout": stopEffects, "cancel": stopEffects, "lost": stopEffects,
		}},
		{position{"streaming", download, append(offered, eOK)}, map[string]string{
			"init": dup, "ok": "reject", "chunk": "reject", "complete": stopEffects, "finish ok": "reject", "finish no": "reject",
			"bad init": badInit, "bad chunk": "reject", "bad answer": stopEffects, "bad finish": "reject",
			"timeout": stopEffects, "cancel": stopEffects, "lost": stopEffects,
		}},
		{position{"verifying", download, append(offered, eOK, eSending, eSent, eSendLast)}, map[string]string{
			"init": dup, "ok": "reject", "chunk": "reject", "complete": stopEffects, "finish ok": "reject", "finish no": "reject",
			"bad init": badInit, "bad chunk": "reject", "bad answer": stopEffects, "bad finish": "reject",
			"timeout": stopEffects, "cancel": stopEffects, "lost": stopEffects,
		}},
		{position{"closing", download, append(offered, eNo)}, map[string]string{
			"init": dup, "ok": "", "chunk": "", "complete": "", "finish ok": "", "finish no": "",
			"bad init": badInit, "bad chunk": "", "bad answer": "", "bad finish": "",
			"timeout": "send:transfer_finish(size_limit) resolve forget", "cancel": "", "lost": "grace",
		}},
	}
	for _, p := range positions {
		runTable(t, p.position, p.want)
	}
}

func runTable(t *testing.T, p position, want map[string]string) {
	t.Helper()
	events := map[string]event{
		"init": eInit, "ok": eOK, "chunk": eChunk0, "complete": eDone, "finish ok": eFinishOK, "finish no": eFinishNo,
		"bad init": eBadInit, "bad chunk": eBadChunk, "bad answer": eBadAnswer, "bad finish": eBadFinish,
		"timeout": eTimeout, "cancel": eCancel, "lost": eLost,
	}
	for name, ev := range events {
		t.Run(p.name+"/"+name, func(t *testing.T) {
			expected, listed := want[name]
			if !listed {
				t.Fatal("the table says nothing of it")
			}
			if got := fx(p.reach().step(ev)); got != expected {
				t.Errorf("the effects are %q, want %q", got, expected)
			}
		})
	}
}

// ending is the answer and the failure that a sequence of events leads to.
func ending(m machine, events ...event) (answer string, why *fault.Error) {
	for _, ev := range events {
		m.step(ev)
	}
	effects := m.step(eStopped)
	_, why = m.outcome()
	return fx(effects), why
}

func TestTheReceiverFailsWithItsNormalAnswer(t *testing.T) {
	chunkAt := func(seq int64, data string, last bool) event {
		return frameEvent(&frames.TransferChunk{TransferID: someID, Seq: seq, Bytes: []byte(data), Last: last})
	}
	withInit := func(change func(*frames.TransferInit)) event {
		f := *theInit
		change(&f)
		return frameEvent(&f)
	}
	cases := []struct {
		rule   string
		make   func() machine
		events []event
		answer string
		text   string
	}{
		{"a null hash is hash_required", unasked, []event{withInit(func(f *frames.TransferInit) { f.Hash = nil })},
			"send:transfer_init_response(hash_required) resolve forget", "hash required"},
		{"a size above the limit is refused", unasked, []event{withInit(func(f *frames.TransferInit) { f.TotalSize = 101 })},
			"send:transfer_init_response(size_limit) resolve forget", "exceeds size limit: the file has 101 bytes, at most 100 may be transferred (vance.transfer.max-download-size at the Foot)"},
		{"an init for another target is refused", asked, []event{eBegin, withInit(func(f *frames.TransferInit) { f.Target = "a/g" })},
			"send:transfer_init_response(invalid_request) resolve forget", ""},
		{"an init for another dirName is refused", asked, []event{eBegin, withInit(func(f *frames.TransferInit) { f.DirName = ptr("e") })},
			"send:transfer_init_response(invalid_request) resolve forget", ""},
		{"an init without dirName is refused at Brain", asked, []event{eBegin, withInit(func(f *frames.TransferInit) { f.DirName = nil })},
			"send:transfer_init_response(invalid_request) resolve forget", ""},
		{"a place that does not open refuses the init", unasked, []event{eInit, eBroke},
			"send:transfer_init_response(permission_denied) resolve forget", "permission denied"},
		{"a person who declines refuses the init", unasked, []event{eInit, eAsk, eDeclined},
			"send:transfer_init_response(declined) resolve forget", "declined"},
		{"a place that does not open after the approval refuses the init", unasked, []event{eInit, eAsk, eApproved, eBroke},
			"send:transfer_init_response(permission_denied) resolve forget", "permission denied"},
		{"a sender that gave up while a person was asked hears nothing", unasked, []event{eInit, eAsk, eFinishNo}, "resolve forget", "file not found"},
		{"a bad init is refused", asked, []event{eBegin, eBadInit},
			"send:transfer_init_response(invalid_frame) resolve forget", "invalid frame: /seq: not a number"},
		{"a gap is out of order", unasked, []event{eInit, eOpened, chunkAt(1, "x", false)},
			"send:transfer_complete(out_of_order) resolve forget", "out-of-order chunk: expected 0, got 1"},
		{"a repeat is out of order", unasked, []event{eInit, eOpened, eChunk0, eChunk0},
			"send:transfer_complete(out_of_order) resolve forget", "out-of-order chunk: expected 1, got 0"},
		{"a sum above totalSize fails", unasked, []event{eInit, eOpened, eChunk0, chunkAt(1, "67890", false)},
			"send:transfer_complete(size_exceeded) resolve forget", "exceeds declared totalSize"},
		{"a short last chunk fails", unasked, []event{eInit, eOpened, chunkAt(0, "x", true)},
			"send:transfer_complete(size_mismatch) resolve forget", "size mismatch"},
		{"another digest fails", unasked, []event{eInit, eOpened, eChunk0, eChunk1, eWritten, {kind: evWritten, n: 4, last: true, hash: "sha256:00"}},
			"send:transfer_complete(hash_mismatch) resolve forget", "hash mismatch"},
		{"no chunk in time fails", unasked, []event{eInit, eOpened, eTimeout},
			"send:transfer_complete(chunk_timeout) resolve forget", "chunk timeout"},
		{"a disk that takes nothing fails by the same time", unasked, []event{eInit, eOpened, eChunk0, eTimeout},
			"send:transfer_complete(chunk_timeout) resolve forget", "chunk timeout: the disk took too long, or this program stood still"},
		{"a disk that does not sync fails", unasked, []event{eInit, eOpened, eChunk0, eChunk1, eWritten, eWrittenEnd, eTimeout},
			"send:transfer_complete(complete_timeout) resolve forget", "complete timeout: the disk took too long, or this program stood still"},
		{"cancelling is a failing complete", unasked, []event{eInit, eOpened, eCancel},
			"send:transfer_complete(cancelled) resolve forget", "cancelled"},
		{"cancelling before the place is open refuses the init", unasked, []event{eInit, eCancel},
			"send:transfer_init_response(cancelled) resolve forget", "cancelled"},
		{"a sender that gave up hears nothing", unasked, []event{eInit, eOpened, eChunk0, eFinishNo}, "resolve forget", "file not found"},
		{"finish ok before the last chunk is no success", unasked, []event{eInit, eOpened, eChunk0, eFinishOK}, "resolve forget", ""},
		{"a lost connection hears nothing", unasked, []event{eInit, eOpened, eChunk0, eLost}, "resolve forget", "connection lost"},
		{"a connection lost while failing hears nothing", unasked, []event{eInit, eOpened, eBroke, eLost}, "resolve forget", "permission denied"},
		{"a sender that finished while it fails hears nothing", unasked, []event{eInit, eOpened, eBroke, eFinishNo}, "resolve forget", "permission denied"},
		{"a bad chunk fails its transfer", unasked, []event{eInit, eOpened, eBadChunk},
			"send:transfer_complete(invalid_frame) resolve forget", "invalid frame: /seq: not a number"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			answer, why := ending(c.make(), c.events...)
			if answer != c.answer {
				t.Errorf("it ends with %q, want %q", answer, c.answer)
			}
			if why == nil || c.text != "" && why.Text != c.text {
				t.Errorf("the failure is %v, want %q", why, c.text)
			}
		})
	}
}

func TestTheSenderFailsWithItsNormalAnswer(t *testing.T) {
	sent := []event{eBegin, eOpened, eHashed, eOK, eSending, eSent, eSendLast, eSentLast}
	complete := func(change func(*frames.TransferComplete)) event {
		f := *eDone.frame.(*frames.TransferComplete)
		change(&f)
		return frameEvent(&f)
	}
	cases := []struct {
		rule   string
		make   func() machine
		events []event
		answer string
		text   string
	}{
		{"a file that is too large is not hashed", upload, []event{eBegin, {kind: evOpened, n: 101}},
			"send:transfer_finish(size_limit) resolve forget", "exceeds size limit: the file has 101 bytes, at most 100 may be transferred (vance.transfer.max-upload-size, the smaller of the Foot's and the Brain's)"},
		{"nobody is asked about a file that is too large", upload, []event{eBegin, {kind: evOpened, n: 101, asks: true}},
			"send:transfer_finish(size_limit) resolve forget", "exceeds size limit: the file has 101 bytes, at most 100 may be transferred (vance.transfer.max-upload-size, the smaller of the Foot's and the Brain's)"},
		{"a person who declines an upload is a finish", upload, []event{eBegin, eOpenedAsks, eDeclined},
			"send:transfer_finish(declined) resolve forget", "declined"},
		{"a local failure on upload is a finish", upload, []event{eBegin, eBroke},
			"send:transfer_finish(permission_denied) resolve forget", "permission denied"},
		{"a local failure on download sends nothing", download, []event{eBegin, eBroke}, "resolve forget", "permission denied"},
		{"a source that changed while it was hashed sends no init", download, []event{eBegin, eOpened, {kind: evFailed, fault: fault.New(common.ErrorCodeSourceChanged)}},
			"resolve forget", "source changed during transfer"},
		{"no answer in time is init timeout", download, []event{eBegin, eOpened, eHashed, eTimeout},
			"send:transfer_finish(init_timeout) resolve forget", "init timeout"},
		{"a refusal is passed on", download, []event{eBegin, eOpened, eHashed, eNo},
			"send:transfer_finish(size_limit) resolve forget", "exceeds size limit"},
		{"a mid-stream failure ends it", download, append(sent[:6:6], eFailed),
			"send:transfer_finish(disk_full) resolve forget", "disk full"},
		{"success before the last chunk is none", download, append(sent[:6:6], eDone),
			"send:transfer_finish(size_mismatch) resolve forget", ""},
		{"success with other bytesWritten is none", download, append(sent[:8:8], complete(func(f *frames.TransferComplete) { f.BytesWritten = 9 })),
			"send:transfer_finish(size_mismatch) resolve forget", ""},
		{"success with a hash mismatch is none", download, append(sent[:8:8], complete(func(f *frames.TransferComplete) { f.HashCheck = ptr(frames.HashCheckMismatch) })),
			"send:transfer_finish(hash_mismatch) resolve forget", "hash mismatch"},
		{"no complete in time is complete timeout", download, append(sent[:8:8], eTimeout),
			"send:transfer_finish(complete_timeout) resolve forget", "complete timeout"},
		{"a peer that takes nothing is chunk timeout", download, append(sent[:6:6], eTimeout),
			"send:transfer_finish(chunk_timeout) resolve forget", "chunk timeout"},
		{"cancelling is a failing finish", download, append(sent[:6:6], eCancel),
			"send:transfer_finish(cancelled) resolve forget", "cancelled"},
		{"cancelling before the init sends nothing", download, []event{eBegin, eCancel}, "resolve forget", "cancelled"},
		{"cancelling a requested upload is a finish", upload, []event{eBegin, eCancel},
			"send:transfer_finish(cancelled) resolve forget", "cancelled"},
		{"a lost connection hears nothing", upload, append(sent[:6:6], eLost), "resolve forget", "connection lost"},
		{"a bad complete fails its transfer", download, append(sent[:8:8], broken(frames.FrameTypeTransferComplete)),
			"send:transfer_finish(invalid_frame) resolve forget", "invalid frame: /seq: not a number"},
		{"a source that changed while it was sent is a finish", download, append(sent[:6:6], event{kind: evFailed, fault: fault.New(common.ErrorCodeSourceChanged)}),
			"send:transfer_finish(source_changed) resolve forget", "source changed during transfer"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			answer, why := ending(c.make(), c.events...)
			if answer != c.answer {
				t.Errorf("it ends with %q, want %q", answer, c.answer)
			}
			if why == nil || c.text != "" && why.Text != c.text {
				t.Errorf("the failure is %v, want %q", why, c.text)
			}
		})
	}
}

func TestTheLastChunkIsKnownBeforeItIsHandedOver(t *testing.T) {
	m := download()
	for _, ev := range []event{eBegin, eOpened, eHashed, eOK, eSending, eSent, eSendLast} {
		m.step(ev)
	}
	// The receiver was quicker than the return from the link.
	m.step(eDone)
	m.step(eSentLast)
	if got := fx(m.step(eStopped)); got != "send:transfer_finish(ok) resolve forget" {
		t.Errorf("it ends with %q", got)
	}
}

func TestAPublicationThatWasUnderWayIsASuccess(t *testing.T) {
	full := []event{eInit, eOpened, eChunk0, eChunk1, eWritten, eWrittenEnd}
	for name, c := range map[string]struct {
		ev   event
		want string
	}{
		"cancelled":   {eCancel, "send:transfer_complete(ok) resolve arm"},
		"timed out":   {eTimeout, "send:transfer_complete(ok) resolve arm"},
		"sender left": {eFinishNo, "resolve forget"},
		"lost":        {eLost, "resolve forget"},
	} {
		t.Run(name, func(t *testing.T) {
			m := unasked()
			for _, ev := range append(full[:len(full):len(full)], c.ev) {
				m.step(ev)
			}
			if got := fx(m.step(ePublished)); got != c.want {
				t.Errorf("the effects are %q, want %q", got, c.want)
			}
			if _, why := m.outcome(); why != nil {
				t.Errorf("the outcome is %v", why)
			}
		})
	}
}

func TestAnEmptyChunkIsNoProgress(t *testing.T) {
	m := unasked()
	m.step(eInit)
	m.step(eOpened)
	empty := frameEvent(&frames.TransferChunk{TransferID: someID})
	if got := fx(m.step(empty)); got != "write" {
		t.Errorf("the effects are %q, want no new time", got)
	}
	if got := fx(m.step(event{kind: evWritten})); got != "" {
		t.Errorf("the effects are %q, want no new time", got)
	}
}

func TestOneMiBIsTheLargestChunk(t *testing.T) {
	m := newReceiver(someID, 4<<20, nil, terms{})
	f := *theInit
	f.TotalSize = 3 << 20
	m.step(frameEvent(&f))
	m.step(eOpened)
	if got := fx(m.step(frameEvent(&frames.TransferChunk{TransferID: someID, Bytes: make([]byte, 1<<20)}))); got != "write arm" {
		t.Errorf("1 MiB: %q", got)
	}
	m.step(frameEvent(&frames.TransferChunk{TransferID: someID, Seq: 1, Bytes: make([]byte, 1<<20+1)}))
	if _, why := m.outcome(); why == nil || why.Text != "chunk exceeds 1 MiB limit" {
		t.Errorf("1 MiB + 1: %v", why)
	}
}

func TestAttributesMergeFieldByField(t *testing.T) {
	tool := &common.FileAttrs{Mode: ptr("0600")}
	file := &common.FileAttrs{Mode: ptr("0755"), Mtime: ptr((&memSource{}).ModTime())}
	got := mergeAttrs(tool, file)
	if *got.Mode != "0600" || got.Mtime != file.Mtime {
		t.Errorf("mode %v, mtime %v", deref(got.Mode), deref(got.Mtime))
	}
	if mergeAttrs(nil, file) != file || *mergeAttrs(tool, nil).Mode != "0600" {
		t.Error("one side alone does not stand")
	}
}

// TestNoSequenceOfEventsBreaksTheReceiver feeds random events, in an order the
// worker keeps: it reports what it was asked to do, once, and nothing else.
func TestNoSequenceOfEventsBreaksTheReceiver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m machine
		agreed := anyTerms(t)
		if rapid.Bool().Draw(t, "asked") {
			m = newReceiver(someID, 100, request, agreed)
		} else {
			m = newReceiver(someID, 100, nil, agreed)
		}
		runRandom(t, m, []event{eBegin, eInit, eOK, eNo, eChunk0, eChunk1, eDone, eFailed, eFinishOK, eFinishNo,
			eBadInit, eBadChunk, eBadAnswer, eBadFinish, eTimeout, eCancel, eLost,
			eHashing, eApproval, eVerifying, eEnough, eBadProgress, eBadCancel,
			frameEvent(&frames.TransferChunk{TransferID: someID, Seq: 2, Last: true}),
			frameEvent(&frames.TransferChunk{TransferID: someID, Seq: 1, Bytes: fileData[6:]})})
	})
}

func TestNoSequenceOfEventsBreaksTheSender(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m machine = newSender(someID, 100, rapid.Bool().Draw(t, "requested"), anyTerms(t))
		runRandom(t, m, []event{eBegin, eInit, eOK, eNo, eChunk0, eDone, eFailed, eFinishOK, eFinishNo,
			eBadInit, eBadChunk, eBadAnswer, eBadFinish, eTimeout, eCancel, eLost,
			eHashing, eApproval, eVerifying, eEnough, eBadProgress, eBadCancel})
	})
}

func anyTerms(t *rapid.T) terms {
	return terms{cancel: rapid.Bool().Draw(t, "cancel"), path: rapid.Bool().Draw(t, "path"), people: rapid.Bool().Draw(t, "people")}
}

// runRandom drives a machine with outside events and a model of the worker, and
// checks that it publishes at most once, resolves and forgets exactly once,
// says nothing after a lost connection, and ends.
func runRandom(t *rapid.T, m machine, outside []event) {
	var todo []event // what the worker will report, in order
	var published, resolved, forgotten, finals int
	stopped, lost, stopAsked := false, false, false
	apply := func(ev event) {
		for _, e := range m.step(ev) {
			switch e.kind {
			case fxSend:
				if lost {
					t.Fatalf("a %s after the connection was lost", e.frame.FrameType())
				}
				switch e.frame.(type) {
				case *frames.TransferComplete, *frames.TransferFinish, *frames.TransferCancel:
					finals++
				}
			case fxDo:
				if stopAsked {
					t.Fatalf("job %d for a worker that was stopped", e.job)
				}
				todo = append(todo, workerReport(e, rapid.IntRange(0, 2).Draw(t, "asks") == 0)...)
				if e.job == jobPublish {
					published++
				}
			case fxStop:
				stopAsked = true
				todo = []event{eStopped}
				if rapid.IntRange(0, 4).Draw(t, "the rename was quicker") == 0 && published == 1 {
					todo = []event{ePublished, eStopped}
				}
			case fxResolve:
				resolved++
			case fxForget:
				forgotten++
			}
		}
		if resolved > 1 || forgotten > 1 || published > 1 || finals > 1 {
			t.Fatalf("resolved %d, forgotten %d, published %d, final frames %d times", resolved, forgotten, published, finals)
		}
		if forgotten == 1 && resolved != 1 {
			t.Fatal("forgotten without an outcome")
		}
	}
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		if len(todo) > 0 && rapid.Bool().Draw(t, "worker") {
			ev := todo[0]
			todo = todo[1:]
			if !stopAsked && rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
				ev, todo = eBroke, nil
			}
			apply(ev)
			continue
		}
		ev := rapid.SampledFrom(outside).Draw(t, "event")
		if lost && ev.kind <= evInvalid {
			continue // no frame comes from a connection that is gone
		}
		apply(ev)
		lost = lost || ev.kind == evLost
	}
	// Whatever happened, a lost connection and an obedient worker end it.
	apply(eLost)
	lost = true
	for range 10 {
		if len(todo) > 0 {
			ev := todo[0]
			todo = todo[1:]
			apply(ev)
			continue
		}
		if !stopped {
			apply(eTimeout)
			stopped = true
		}
	}
	if !neverBegun(m) && (resolved != 1 || forgotten != 1) {
		t.Fatalf("it does not end: resolved %d, forgotten %d", resolved, forgotten)
	}
}

func neverBegun(m machine) bool {
	switch m := m.(type) {
	case *sender:
		return m.state == sendNew
	case *receiver:
		return m.state == recvNew
	}
	return false
}

// workerReport is what a worker says when a job went well.
func workerReport(e effect, asks bool) []event {
	switch e.job {
	case jobOpen:
		switch {
		case asks && e.init != nil:
			return []event{eAsk}
		case asks:
			return []event{eOpenedAsks}
		}
		return []event{eOpened}
	case jobAsk:
		return []event{eApproved}
	case jobStage:
		return []event{eOpened}
	case jobHash:
		return []event{eHashed}
	case jobStream:
		return []event{eSending, eSent, eSendLast, eSentLast}
	case jobWrite:
		return []event{{kind: evWritten, n: 5, last: e.last, hash: fileHash}}
	}
	return []event{ePublished}
}

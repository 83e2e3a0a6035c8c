package e2etest

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// besieged is a Brain with two scripted Feet, each with a witness under way.
type besieged struct {
	*World
	foot, other *line
	dir         string
	witnesses   []*witness
	results     []chan Result
}

func newBesieged(t *testing.T, phase time.Duration) *besieged {
	t.Helper()
	w := NewWorld(t, WorldOptions{NoFoot: true, BrainSettings: map[string]string{
		"vance.transfer.phase-timeout": phase.String(), "vance.transfer.max-upload-size": "4MiB"}})
	b := &besieged{World: w, dir: w.NewDir(t)}
	b.foot = newLine(DialAsFoot(t, w.Brain.URL, w.Tenant, w.FootFile))
	b.other = newLine(DialAsFoot(t, w.Brain.URL, w.Tenant, w.Brain.Token(t, w.Tenant, w.Project, "foot", "desktop")))
	b.begin(t, b.foot, "laptop")
	b.begin(t, b.other, "desktop")
	return b
}

// call calls a tool of the hostile Foot.
func (b *besieged) call(t *testing.T, tool string, args map[string]any) chan Result {
	results := make(chan Result, 1)
	go func() { results <- b.Agent.Call(t, tool, args) }()
	return results
}

func (b *besieged) begin(t *testing.T, l *line, foot string) {
	t.Helper()
	content := witnessContent(foot)
	b.results = append(b.results, b.call(t, "client_file_upload", map[string]any{
		"foot": foot, "localPath": "w", "dirName": b.dir, "remotePath": "witness of " + foot}))
	request := await(t, l.rest, "upload request", typed("client.file.upload.request"))
	id := request.Str("transferId")
	frames := l.watch(id)
	l.say(t, offer(request, content))
	if answer := await(t, frames, "answer to the witness", func(Message) bool { return true }); answer["ok"] != true {
		t.Fatalf("the witness is refused: %v", answer)
	}
	b.witnesses = append(b.witnesses, trickle(t, l, id, content, frames))
}

func (b *besieged) ids() []string { return []string{b.witnesses[0].id, b.witnesses[1].id} }

// running lists the transfers that Brain says it still has.
func running(t testing.TB, c Caller) map[string]bool {
	t.Helper()
	var status struct {
		Transfers []struct{ TransferID, State string }
	}
	if err := json.Unmarshal(c.Call(t, "transfer_status", map[string]any{}).Raw, &status); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, transfer := range status.Transfers {
		switch transfer.State {
		case "complete", "failed", "cancelled":
		default:
			ids[transfer.TransferID] = true
		}
	}
	return ids
}

// run plays one row and judges what is left of it.
func (b *besieged) run(t *testing.T, r row, tool string, first string) {
	l := b.foot
	l.t = t
	l.drain()
	old := b.AtBrain(b.dir, "old")
	WriteFile(t, old, downloadSize, 0o600, anHourAgo)
	before := Snapshot(t, b.AtBrain(b.dir, ""))["old"]
	answered, ended := b.call(t, tool, map[string]any{
		"foot": "laptop", "localPath": "file", "dirName": b.dir, "remotePath": "old"}), make(chan struct{})
	var got Result
	go func() {
		got = <-answered
		close(ended)
	}()
	l.play(t, r.script(await(t, l.rest, first, typed(first))), ended)
	select {
	case <-ended:
	case <-time.After(Patience):
		t.Fatal("the call is not answered")
	}
	l.settle(t)
	if got.OK != (r.want == "ok") || !got.OK && got.ErrorCode != r.want {
		t.Errorf("the call ends with %s, want %s", got, r.want)
	}
	b.holds(t, got.OK && tool == "client_file_upload", before)
}

// holds checks what no fault may change.
func (b *besieged) holds(t *testing.T, replaced bool, before string) {
	t.Helper()
	onlyStaging(t, b.AtBrain(b.dir, ""), b.ids()...)
	after := Snapshot(t, b.AtBrain(b.dir, ""))["old"]
	if !replaced && after != before {
		t.Errorf("the old file changed (-before +after):\n%s", cmp.Diff(before, after))
	}
	if hash := HashFile(t, b.AtBrain(b.dir, "old")); replaced && hash != hashOf(hostileContent) {
		t.Errorf("the new file is %s", hash)
	}
	want := map[string]bool{b.ids()[0]: true, b.ids()[1]: true}
	Eventually(t, func() string { return cmp.Diff(want, running(t, b.Agent)) })
	for _, w := range b.witnesses {
		w.unharmed(t)
	}
}

// end brings the witnesses home.
func (b *besieged) end(t *testing.T) {
	t.Helper()
	for i, w := range b.witnesses {
		w.finish(t)
		select {
		case got := <-b.results[i]:
			if !got.OK || *got.Hash != hashOf(w.content) {
				t.Errorf("the witness's call ends with %s", got)
			}
		case <-time.After(Patience):
			t.Error("the witness's call is not answered")
		}
	}
	onlyStaging(t, b.AtBrain(b.dir, ""))
	if left := running(t, b.Agent); len(left) != 0 {
		t.Errorf("transfers still run: %v", left)
	}
}

// hostileContent travels in three chunks.
const hostileContent = "first, second, third"

// sendScript is how a sender of hostileContent behaves: the frames after the
// one that asked for it.
func sendScript(init func(first Message) Message) func(Message) []step {
	return func(first Message) []step {
		id := first.Str("transferId")
		return []step{
			{name: "init", msg: init(first), waitFor: []string{"transfer_init_response"}},
			{name: "first chunk", msg: chunk(id, 0, hostileContent[:7], false)},
			{name: "middle chunk", msg: chunk(id, 1, hostileContent[7:15], false)},
			{name: "last chunk", msg: chunk(id, 2, hostileContent[15:], true), waitFor: []string{"transfer_complete"}},
			{name: "finish", msg: Message{"type": "transfer_finish", "transferId": id, "ok": true}},
		}
	}
}

func TestEveryFaultOfEveryFrameOfAHostileSender(t *testing.T) {
	t.Parallel()
	upload := sendScript(func(request Message) Message { return offer(request, hostileContent) })
	atBothPaces(t, func(t *testing.T, pace pace) {
		b := newBesieged(t, pace.phase)
		rows := cells(t, upload, frameFaults(b.witnesses[1].id), senderFaults(true))
		for _, r := range pace.of(append(rows, senderRows(upload)...)) {
			t.Run(r.name, func(t *testing.T) { b.run(t, r, "client_file_upload", "client.file.upload.request") })
		}
		b.end(t)
	})
}

// senderFaults says how a receiver ends by every fault of its sender's frames.
func senderFaults(foreign bool) map[string][]string {
	want := map[string][]string{
		"drop":            {"init_timeout", "out_of_order", "out_of_order", "size_mismatch", "ok"},
		"duplicate":       {"ok", "out_of_order", "out_of_order", "ok", "ok"},
		"reorder":         {"out_of_order", "out_of_order", "out_of_order", "size_mismatch"},
		"delay":           {"init_timeout", "chunk_timeout", "chunk_timeout", "chunk_timeout", "ok"},
		"unknown field":   {"ok", "ok", "ok", "ok", "ok"},
		"wrong JSON type": {"invalid_frame", "invalid_frame", "invalid_frame", "invalid_frame", "ok"},
	}
	return withCopies(want, 5, foreign)
}

// withCopies adds that a bad copy of a frame changes nothing.
func withCopies(want map[string][]string, positions int, foreign bool) map[string][]string {
	copies := []string{"truncated", "as a binary message", "of unknown type", "of unknown id", "without id", "with a member twice"}
	if foreign {
		copies = append(copies, "of another Foot's id")
	}
	for _, name := range copies {
		want["a copy "+name] = slices.Repeat([]string{"ok"}, positions)
	}
	return want
}

// senderRows are the faults that only a sender can make, against either end.
func senderRows(script func(Message) []step) []row {
	chunkWith := func(alter func(Message)) func(Message) []step {
		return func(first Message) []step {
			m := chunk(first.Str("transferId"), 1, hostileContent[7:15], false)
			alter(m)
			return []step{{name: "chunk", msg: m}}
		}
	}
	at := func(i int, with func(Message) []step) func(Message) []step { return replaced(script, i, with) }
	encoded := func(bytes string) func(Message) []step {
		return chunkWith(func(m Message) { m["bytes"] = bytes })
	}
	seq := func(n any) func(Message) []step { return chunkWith(func(m Message) { m["seq"] = n }) }
	frame := func(m Message) func(Message) []step {
		return func(first Message) []step {
			m["transferId"] = first["transferId"]
			return []step{{name: m.Str("type"), msg: m}}
		}
	}
	// refused is a frame that is answered by an error and has no effect.
	refused := func(m Message) func(Message) []step {
		return func(first Message) []step {
			only := frame(m)(first)
			only[0].settle = true
			return only
		}
	}
	// then goes on with the rest of the good script after extra steps at i.
	then := func(i int, with func(Message) []step) func(Message) []step {
		return func(first Message) []step {
			good := script(first)
			return append(append(good[:i:i], with(first)...), good[i:]...)
		}
	}
	finish := func(ok bool) Message {
		m := Message{"type": "transfer_finish", "ok": ok}
		if !ok {
			m["error"], m["errorCode"] = "source changed during transfer", "source_changed"
		}
		return m
	}
	complete := Message{"type": "transfer_complete", "ok": true, "error": nil, "bytesWritten": 20, "hashCheck": "ok"}
	accept := Message{"type": "transfer_init_response", "ok": true, "error": nil}
	again := func(first Message) []step {
		return []step{{name: "second init", msg: script(first)[0].msg, settle: true}}
	}
	return []row{
		{"nothing wrong", script, "ok"},
		{"a gap in seq", at(2, seq(2)), "out_of_order"},
		{"seq again", at(2, seq(0)), "out_of_order"},
		{"a negative seq", at(2, seq(-1)), "invalid_frame"},
		{"seq 2^53", at(2, seq(json.Number("9007199254740992"))), "invalid_frame"},
		{"seq 2^63", at(2, seq(json.Number("9223372036854775808"))), "invalid_frame"},
		{"a fractional seq", at(2, seq(1.5)), "invalid_frame"},
		{"bytes that are no base64", at(2, encoded("not base64!")), "malformed_chunk"},
		{"base64 with a newline", at(2, encoded("c2Vjb25k\nLCA=")), "malformed_chunk"},
		{"base64 of the URL alphabet", at(2, encoded("-_-_")), "malformed_chunk"},
		{"base64 without its padding", at(2, encoded("c2Vjb25kLCA")), "malformed_chunk"},
		{"base64 with stray bits", at(2, encoded("c2Vjb25kLCB=")), "malformed_chunk"},
		{"a chunk above 1 MiB", at(2, encoded(base64.StdEncoding.EncodeToString(make([]byte, 1<<20+1)))), "chunk_too_large"},
		{"bytes above totalSize", at(2, encoded(base64.StdEncoding.EncodeToString(make([]byte, 100)))), "size_exceeded"},
		{"bytes below totalSize", at(2, chunkWith(func(m Message) { m["last"] = true })), "size_mismatch"},
		{"other bytes of the right number", at(1, func(first Message) []step {
			return []step{{name: "chunk", msg: chunk(first.Str("transferId"), 0, strings.ToUpper(hostileContent), true)}}
		}), "hash_mismatch"},
		{"a chunk after the end", then(5, seq(3)), "ok"},
		{"a chunk between the end and the finish", then(4, seq(3)), "ok"},
		{"a second init while streaming", then(2, again), "ok"},
		{"a second init after the end", then(4, again), "ok"},
		{"a second init after the finish", then(5, again), "ok"},
		{"success before the end", at(2, frame(finish(true))), "size_mismatch"},
		{"giving up before the end", at(2, frame(finish(false))), "source_changed"},
		{"a finish that fails after the end", at(4, frame(finish(false))), "ok"},
		{"complete in the middle by the sender", then(2, refused(complete)), "ok"},
		{"an answer to its own init by the sender", then(2, refused(accept)), "ok"},
		{"a cancel without the feature", then(2, refused(Message{"type": "transfer_cancel", "reason": "x"})), "ok"},
		{"the frame of a feature to come", then(2, refused(Message{"type": "transfer_ack", "seq": 1, "bytes": 7, "limit": 99})), "ok"},
		{"a second hello", then(2, func(Message) []step {
			return []step{{name: "hello", settle: true, msg: Message{"type": "hello", "protocolVersion": 1, "footId": "", "clientVersion": "x",
				"os": "linux", "access": "edit", "grants": []any{}, "features": []any{}}}}
		}), "ok"},
		{"progress for ever without moving", at(2, func(first Message) []step {
			progress := step{name: "progress", msg: Message{"type": "transfer_progress", "transferId": first["transferId"],
				"state": "streaming", "bytes": 7, "totalBytes": 20}}
			return []step{progress, progress, progress}
		}), "chunk_timeout"},
		{"empty chunks for ever", at(2, func(first Message) []step {
			var empty []step
			for i := range 1000 {
				empty = append(empty, step{name: "empty chunk", msg: chunk(first.Str("transferId"), 1+i, "", false)})
			}
			return empty
		}), "chunk_timeout"},
	}
}

// downloadSize is that of the file which a hostile receiver is offered.
const downloadSize = 2*65536 + 7

// receiveScript is how a receiver behaves: the frames after the init.
func receiveScript(first Message) []step {
	id := first.Str("transferId")
	return []step{
		{name: "answer", msg: Message{"type": "transfer_init_response", "transferId": id, "ok": true, "error": nil},
			waitFor: []string{"transfer_chunk", "transfer_finish"}},
		{name: "complete", msg: Message{"type": "transfer_complete", "transferId": id, "ok": true, "error": nil,
			"bytesWritten": downloadSize, "hashCheck": "ok"}},
	}
}

// receiverFaults says how a sender ends by every fault of its receiver's frames.
// A complete that nobody accepted the file before has no effect.
func receiverFaults(foreign bool) map[string][]string {
	want := map[string][]string{
		"drop":            {"init_timeout", "complete_timeout"},
		"duplicate":       {"ok", "ok"},
		"reorder":         {"complete_timeout"},
		"delay":           {"init_timeout", "complete_timeout"},
		"unknown field":   {"ok", "ok"},
		"wrong JSON type": {"invalid_frame", "invalid_frame"},
	}
	return withCopies(want, 2, foreign)
}

// receiverRows are the faults that only a receiver can make, against either end.
func receiverRows() []row {
	with := func(steps func(id string) []step) func(Message) []step {
		return func(first Message) []step { return steps(first.Str("transferId")) }
	}
	accepted := func(first Message) []step { return receiveScript(first)[:1] }
	done := func(alter func(Message)) func(Message) []step {
		return func(first Message) []step {
			script := receiveScript(first)
			alter(script[1].msg)
			return script
		}
	}
	before := func(m Message) func(Message) []step {
		return func(first Message) []step {
			m["transferId"] = first["transferId"]
			return append([]step{{name: m.Str("type"), msg: m, settle: true}}, receiveScript(first)...)
		}
	}
	return []row{
		{"nothing wrong", receiveScript, "ok"},
		{"silence", with(func(string) []step { return nil }), "init_timeout"},
		{"silence after the last chunk", accepted, "complete_timeout"},
		{"a refusal", with(func(id string) []step {
			return []step{{name: "no", msg: Message{"type": "transfer_init_response", "transferId": id, "ok": false, "error": "quota", "errorCode": "quota"}}}
		}), "quota"},
		{"a refusal after the acceptance", with(func(id string) []step {
			return append(accepted(Message{"transferId": id}), step{name: "no", msg: Message{"type": "transfer_init_response", "transferId": id,
				"ok": false, "error": "quota", "errorCode": "quota"}})
		}), "complete_timeout"},
		{"success with fewer bytes", done(func(m Message) { m["bytesWritten"] = downloadSize - 1 }), "size_mismatch"},
		{"success with more bytes", done(func(m Message) { m["bytesWritten"] = downloadSize + 1 }), "size_mismatch"},
		{"success with negative bytes", done(func(m Message) { m["bytesWritten"] = -1 }), "invalid_frame"},
		{"a failure after all bytes came", done(func(m Message) {
			m["ok"], m["error"], m["errorCode"], m["hashCheck"] = false, "hash mismatch", "hash_mismatch", "mismatch"
		}), "hash_mismatch"},
		{"a finish by the receiver", before(Message{"type": "transfer_finish", "ok": true}), "ok"},
		{"a chunk by the receiver", before(Message{"type": "transfer_chunk", "seq": 0, "bytes": "", "last": true}), "ok"},
		{"an init of the same id by the receiver", before(Message{"type": "transfer_init", "target": "elsewhere", "totalSize": 1, "hash": hashOf("x")}), "ok"},
		{"progress without the feature", before(Message{"type": "transfer_progress", "state": "streaming", "bytes": 1, "totalBytes": 2}), "ok"},
	}
}

func TestEveryFaultOfEveryFrameOfAHostileReceiver(t *testing.T) {
	t.Parallel()
	atBothPaces(t, func(t *testing.T, pace pace) {
		b := newBesieged(t, pace.phase)
		rows := append(cells(t, receiveScript, frameFaults(b.witnesses[1].id), receiverFaults(true)), receiverRows()...)
		for _, r := range pace.of(rows) {
			t.Run(r.name, func(t *testing.T) { b.run(t, r, "client_file_download", "transfer_init") })
		}
		b.end(t)
	})
}

package e2etest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// besiegedFoot is a Foot whose Brain a test plays, with a witness under way.
type besiegedFoot struct {
	*Foot
	brain   *line
	witness *witness
	minted  int
}

func newBesiegedFoot(t *testing.T, phase time.Duration) *besiegedFoot {
	t.Helper()
	fake := NewFakeBrain(t, Message{"phaseTimeoutMs": phase.Milliseconds(), "maxUploadSize": 64 << 20})
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("scripted-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	foot := StartFoot(t, FootOptions{URL: fake.URL, Tenant: "acme", ProjectID: "proj-research", TokenFile: token})
	b := &besiegedFoot{Foot: foot, brain: newLine(fake.AwaitFoot(t))}
	content, id := witnessContent("brain"), transferID(0xfff)
	frames := b.brain.watch(id)
	b.brain.say(t, Message{"type": "transfer_init", "transferId": id, "target": "witness", "totalSize": len(content), "hash": hashOf(content)})
	if answer := await(t, frames, "answer to the witness", func(Message) bool { return true }); answer["ok"] != true {
		t.Fatalf("the witness is refused: %v", answer)
	}
	b.witness = trickle(t, b.brain, id, content, frames)
	return b
}

// told is how the Foot says that a transfer ended: "ok", an error code, or ""
// while it goes on or when it never heard of it.
func (b *besiegedFoot) told(id string) string {
	for _, e := range b.Events() {
		var told struct{ TransferID, State, ErrorCode string }
		if e.Name != "transfer" || e.Decode(&told) != nil || told.TransferID != id {
			continue
		}
		switch told.State {
		case "complete":
			return "ok"
		case "failed", "cancelled":
			return told.ErrorCode
		}
	}
	return ""
}

// end brings the witness home and checks that every transfer that began has
// ended in the Foot's own words.
func (b *besiegedFoot) end(t *testing.T) {
	t.Helper()
	b.witness.finish(t)
	onlyStaging(t, b.Project)
	Eventually(t, func() string {
		running := map[string]bool{}
		for _, e := range b.Events() {
			var told struct{ TransferID string }
			if e.Name == "transfer" && e.Decode(&told) == nil {
				running[told.TransferID] = b.told(told.TransferID) == ""
			}
		}
		for id, is := range running {
			if is {
				return "transfer " + id + " has not ended"
			}
		}
		return ""
	})
}

// listen lets a script hear the frames of its transfer and closes ended when
// the Foot has said its last word on it.
func (b *besiegedFoot) listen(t *testing.T, id string) (ended chan struct{}) {
	frames, ended := b.brain.watch(id), make(chan struct{})
	go func() {
		accepted, over := false, false
		for {
			select {
			case m := <-frames:
				b.brain.rest <- m
				if m["errorCode"] == "duplicate_transfer" {
					continue // a second frame was refused, the first is untouched
				}
				last := m.Str("type") == "transfer_complete" || m.Str("type") == "transfer_finish" ||
					m.Str("type") == "transfer_init_response" && m["ok"] != true && !accepted
				accepted = accepted || m.Str("type") == "transfer_init_response" || m.Str("type") == "transfer_init"
				if last && !over {
					over = true
					close(ended)
				}
			case <-t.Context().Done():
				return
			}
		}
	}()
	return ended
}

// run plays a row with a transfer of path and judges what is left of it. A
// Foot that was never asked for the transfer ("none") says nothing of it.
func (b *besiegedFoot) run(t *testing.T, r row, path string, replaced bool) {
	l := b.brain
	l.t = t
	l.drain()
	file := filepath.Join(b.Project, path)
	WriteFile(t, file, downloadSize, 0o600, anHourAgo)
	before := Snapshot(t, b.Project)[path]
	b.minted++
	id := transferID(b.minted)
	ended := b.listen(t, id)
	script := r.script(Message{"transferId": id, "target": path})
	if len(script) > 0 {
		script[0].late = false // nobody waits for the first frame
	}
	if r.want == "none" {
		ended = make(chan struct{})
		close(ended)
	}
	l.play(t, script, ended)
	if want := r.want; want != "none" {
		Eventually(t, func() string { return cmp.Diff(want, b.told(id)) })
	}
	l.settle(t)
	onlyStaging(t, b.Project, b.witness.id)
	if replaced {
		if got := HashFile(t, file); got != hashOf(hostileContent) {
			t.Errorf("the new file is %s", got)
		}
	} else if diff := cmp.Diff(before, Snapshot(t, b.Project)[path]); diff != "" {
		t.Errorf("the old file changed (-before +after):\n%s", diff)
	}
	b.witness.unharmed(t)
}

func TestEveryFaultOfEveryFrameOfAHostileBrainThatSends(t *testing.T) {
	t.Parallel()
	download := sendScript(func(first Message) Message {
		return Message{"type": "transfer_init", "transferId": first["transferId"], "source": "file", "target": first["target"],
			"totalSize": len(hostileContent), "hash": hashOf(hostileContent)}
	})
	want := senderFaults(false)
	for _, codes := range want {
		if codes[0] == "init_timeout" { // no init came: the Foot has nothing to wait for
			codes[0] = "none"
		}
	}
	want["delay"][0], want["wrong JSON type"][0] = "ok", "none"
	want["a copy of unknown id"][0] = "target_busy" // an init of another transfer is as good as the first
	rows := append(cells(t, download, frameFaults(""), want), senderRows(download)...)
	atBothPaces(t, func(t *testing.T, pace pace) {
		b := newBesiegedFoot(t, pace.phase)
		for i, r := range pace.of(rows) {
			t.Run(r.name, func(t *testing.T) { b.run(t, r, fmt.Sprintf("old-%d", i), r.want == "ok") })
		}
		b.end(t)
	})
}

func TestEveryFaultOfEveryFrameOfAHostileBrainThatReceives(t *testing.T) {
	t.Parallel()
	// asked puts the request, which Brain sends, before what a receiver sends.
	asked := func(script func(Message) []step) func(Message) []step {
		return func(first Message) []step {
			request := step{name: "request", waitFor: []string{"transfer_init", "transfer_finish"}, msg: Message{
				"type": "client.file.upload.request", "transferId": first["transferId"],
				"localPath": first["target"], "dirName": "d", "remotePath": "r"}}
			return append([]step{request}, script(first)...)
		}
	}
	want := receiverFaults(false)
	atRequest := map[string]string{"drop": "none", "reorder": "init_timeout", "wrong JSON type": "none"}
	for name, codes := range want {
		first, has := atRequest[name]
		if !has {
			first = "ok"
		}
		want[name] = append([]string{first}, codes...)
	}
	rows := cells(t, asked(receiveScript), frameFaults(""), want)
	for _, r := range receiverRows() {
		rows = append(rows, row{r.name, asked(r.script), r.want})
	}
	atBothPaces(t, func(t *testing.T, pace pace) {
		b := newBesiegedFoot(t, pace.phase)
		for i, r := range pace.of(rows) {
			t.Run(r.name, func(t *testing.T) { b.run(t, r, fmt.Sprintf("source-%d", i), false) })
		}
		b.end(t)
	})
}

package e2etest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func chunk(id string, seq int, content string, last bool) Message {
	return Message{"type": "transfer_chunk", "transferId": id, "seq": seq,
		"bytes": base64.StdEncoding.EncodeToString([]byte(content)), "last": last}
}

// offer is the transfer_init with which a Foot answers an upload request.
func offer(request Message, content string) Message {
	return Message{"type": "transfer_init", "transferId": request["transferId"], "source": "file.txt",
		"target": request["remotePath"], "dirName": request["dirName"], "totalSize": len(content), "hash": hashOf(content)}
}

// scripted is a Brain with a Foot whose every frame a test writes.
type scripted struct {
	*World
	foot *Peer
	dir  string
}

func newScripted(t *testing.T, settings map[string]string) *scripted {
	t.Helper()
	w := NewWorld(t, WorldOptions{NoFoot: true, BrainSettings: settings})
	s := &scripted{World: w, dir: w.NewDir(t)}
	s.foot = DialAsFoot(t, w.Brain.URL, w.Tenant, w.FootFile)
	return s
}

// during calls a tool while the script plays the Foot.
func (s *scripted) during(t *testing.T, tool string, args map[string]any, script func(first Message)) Result {
	t.Helper()
	results := make(chan Result, 1)
	go func() {
		results <- s.Agent.Call(t, tool, args)
	}()
	script(s.foot.Receive())
	select {
	case r := <-results:
		return r
	case <-time.After(Patience):
		t.Fatal("the call is not answered")
		return Result{}
	}
}

func TestAFaultOfTheSendingFootFailsTheUploadAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newScripted(t, map[string]string{"vance.transfer.max-upload-size": "4MiB"})
	s.failUploads(t, []uploadFault{
		{"a hash that is not the file's", "hash_mismatch", "hash mismatch", func(p *Peer, id string, r Message) {
			lie := offer(r, good)
			lie["hash"] = hashOf("another content")
			p.Send(lie)
			p.Expect("transfer_init_response")
			p.Send(chunk(id, 0, good, true))
			if got := p.Expect("transfer_complete"); got["ok"] != false || got["hashCheck"] != "mismatch" {
				p.t.Errorf("got %v", got)
			}
		}},
		{"a gap in seq", "out_of_order", "out-of-order chunk: expected 1, got 2", func(p *Peer, id string, r Message) {
			p.Send(offer(r, good))
			p.Expect("transfer_init_response")
			p.Send(chunk(id, 0, good[:3], false))
			p.Send(chunk(id, 2, good[3:], true))
			p.Expect("transfer_complete")
		}},
		{"a chunk sent twice", "out_of_order", "out-of-order chunk: expected 1, got 0", func(p *Peer, id string, r Message) {
			p.Send(offer(r, good))
			p.Expect("transfer_init_response")
			p.Send(chunk(id, 0, good[:3], false))
			p.Send(chunk(id, 0, good[:3], false))
			p.Expect("transfer_complete")
		}},
		{"more bytes than declared", "size_exceeded", "exceeds declared totalSize", func(p *Peer, id string, r Message) {
			p.Send(offer(r, good))
			p.Expect("transfer_init_response")
			p.Send(chunk(id, 0, good+"!", true))
			p.Expect("transfer_complete")
		}},
		{"fewer bytes than declared", "size_mismatch", "size mismatch", func(p *Peer, id string, r Message) {
			p.Send(offer(r, good))
			p.Expect("transfer_init_response")
			p.Send(chunk(id, 0, good[:5], true))
			p.Expect("transfer_complete")
		}},
		{"bytes that are no base64", "malformed_chunk", "malformed chunk encoding", func(p *Peer, id string, r Message) {
			p.Send(offer(r, good))
			p.Expect("transfer_init_response")
			broken := chunk(id, 0, good, true)
			broken["bytes"] = "not base64!"
			p.Send(broken)
			p.Expect("transfer_complete")
		}},
		{"a chunk above 1 MiB", "chunk_too_large", "chunk exceeds 1 MiB limit", func(p *Peer, id string, r Message) {
			large := strings.Repeat("x", 1<<20+1)
			p.Send(offer(r, large))
			p.Expect("transfer_init_response")
			p.Send(chunk(id, 0, large, true))
			p.Expect("transfer_complete")
		}},
		{"an offer above the limit", "size_limit", "exceeds size limit", func(p *Peer, id string, r Message) {
			large := offer(r, good)
			large["totalSize"] = 4<<20 + 1
			p.Send(large)
			if got := p.Expect("transfer_init_response"); got["ok"] != false {
				p.t.Errorf("got %v", got)
			}
		}},
		{"an offer without a hash", "hash_required", "hash required", func(p *Peer, id string, r Message) {
			bare := offer(r, good)
			bare["hash"] = nil
			p.Send(bare)
			if got := p.Expect("transfer_init_response"); got["ok"] != false {
				p.t.Errorf("got %v", got)
			}
		}},
		{"a failure on its own disk", "permission_denied", "permission denied", func(p *Peer, id string, r Message) {
			p.Send(Message{"type": "transfer_finish", "transferId": id, "ok": false, "error": "permission denied", "errorCode": "permission_denied"})
		}},
		{"giving up while streaming", "source_changed", "source changed during transfer", func(p *Peer, id string, r Message) {
			p.Send(offer(r, good))
			p.Expect("transfer_init_response")
			p.Send(chunk(id, 0, good[:3], false))
			p.Send(Message{"type": "transfer_finish", "transferId": id, "ok": false, "error": "source changed during transfer", "errorCode": "source_changed"})
		}},
	})

	s.foot.t = t
	got := s.during(t, "client_file_upload", map[string]any{"localPath": "file.txt", "dirName": s.dir, "remotePath": "good"},
		func(r Message) { uploadWell(s.foot, r, good) })
	checkReceipt(t, got, "good", int64(len(good)), hashOf(good))
}

func TestASilentFootFailsTheUploadWhenItsPhaseIsOver(t *testing.T) {
	t.Parallel()
	s := newScripted(t, map[string]string{"vance.transfer.phase-timeout": "1s"})
	s.failUploads(t, []uploadFault{
		{"silence after the request", "init_timeout", "init timeout", func(*Peer, string, Message) {}},
		{"silence while streaming", "chunk_timeout", "chunk timeout", func(p *Peer, id string, r Message) {
			p.Send(offer(r, good))
			p.Expect("transfer_init_response")
			p.Send(chunk(id, 0, good[:3], false))
			p.Expect("transfer_complete")
		}},
	})
}

// good is what a scripted peer sends when nothing is wrong with it.
const good = "the whole content"

// uploadFault is a way in which a sending Foot can go wrong, and what the call
// must say of it.
type uploadFault struct {
	rule, code, text string
	play             func(p *Peer, id string, request Message)
}

// failUploads lets each fault happen to a new and to an existing file.
func (s *scripted) failUploads(t *testing.T, faults []uploadFault) {
	t.Helper()
	for _, fault := range faults {
		t.Run(fault.rule, func(t *testing.T) {
			s.foot.t = t
			WriteFile(t, s.AtBrain(s.dir, "old"), 10, 0o600, anHourAgo)
			before := Snapshot(t, s.AtBrain(s.dir, ""))
			for _, target := range []string{"old", "new/file.txt"} {
				got := s.during(t, "client_file_upload",
					map[string]any{"localPath": "file.txt", "dirName": s.dir, "remotePath": target},
					func(first Message) { fault.play(s.foot, first.Str("transferId"), first) })
				checkRefused(t, got, refusal{code: fault.code, text: fault.text})
			}
			if diff := cmp.Diff(before, Snapshot(t, s.AtBrain(s.dir, ""))); diff != "" {
				t.Errorf("the RootDir changed (-before +after):\n%s", diff)
			}
		})
	}
}

// uploadWell plays a Foot that keeps to the protocol. Frames left over from
// earlier transfers are passed by.
func uploadWell(p *Peer, request Message, content string) {
	id := request.Str("transferId")
	p.Send(offer(request, content))
	p.ExpectOf(id, "transfer_init_response")
	p.Send(chunk(id, 0, content, true))
	p.ExpectOf(id, "transfer_complete")
	p.Send(Message{"type": "transfer_finish", "transferId": id, "ok": true})
}

func TestAnOfferThatNamesAnotherPlaceIsRefused(t *testing.T) {
	t.Parallel()
	s := newScripted(t, nil)
	for member, value := range map[string]string{"target": "elsewhere", "dirName": "another"} {
		got := s.during(t, "client_file_upload", map[string]any{"localPath": "f", "dirName": s.dir, "remotePath": "f"}, func(r Message) {
			other := offer(r, "content")
			other[member] = value
			s.foot.Send(other)
			if answer := s.foot.Expect("transfer_init_response"); answer["ok"] != false {
				t.Errorf("an offer with another %s is accepted: %v", member, answer)
			}
		})
		if got.OK {
			t.Errorf("the call succeeds: %s", got)
		}
	}
	if entries := Snapshot(t, s.AtBrain(s.dir, "")); len(entries) != 1 {
		t.Errorf("files were made: %v", entries)
	}
}

func TestAFaultOfTheReceivingFootFailsTheDownload(t *testing.T) {
	t.Parallel()
	s := newScripted(t, nil)
	s.failDownloads(t, 3*65536, []downloadFault{
		{"a refusal at init", "declined", "declined", func(p *Peer, id string) {
			p.Send(Message{"type": "transfer_init_response", "transferId": id, "ok": false, "error": "declined", "errorCode": "declined"})
			p.ExpectOf(id, "transfer_finish")
		}},
		{"a full disk in the middle", "disk_full", "disk full", func(p *Peer, id string) {
			p.Send(accepted(id))
			p.ExpectOf(id, "transfer_chunk")
			p.Send(Message{"type": "transfer_complete", "transferId": id, "ok": false, "error": "disk full", "errorCode": "disk_full", "bytesWritten": 0, "hashCheck": nil})
			p.AwaitOf(id, "transfer_finish")
		}},
		{"success with another count", "size_mismatch", "size mismatch", func(p *Peer, id string) {
			p.Send(accepted(id))
			for p.AwaitOf(id, "transfer_chunk")["last"] != true {
				continue
			}
			p.Send(completed(id, 7))
			p.AwaitOf(id, "transfer_finish")
		}},
	})
	// More than the sockets' buffers hold: the sender cannot be at its end before
	// the scripted Foot has read anything.
	s.failDownloads(t, 32<<20, []downloadFault{
		{"success before the end", "size_mismatch", "size mismatch", func(p *Peer, id string) {
			p.Send(accepted(id))
			p.Send(completed(id, 32<<20))
			p.AwaitOf(id, "transfer_finish")
		}},
	})
}

func TestASilentFootFailsTheDownloadWhenItsPhaseIsOver(t *testing.T) {
	t.Parallel()
	s := newScripted(t, map[string]string{"vance.transfer.phase-timeout": "1s"})
	s.failDownloads(t, 3*65536, []downloadFault{
		{"no answer to the offer", "init_timeout", "init timeout", func(p *Peer, id string) {
			p.AwaitOf(id, "transfer_finish")
		}},
		{"no answer to the last chunk", "complete_timeout", "complete timeout", func(p *Peer, id string) {
			p.Send(accepted(id))
			p.AwaitOf(id, "transfer_finish")
		}},
	})
}

func accepted(id string) Message {
	return Message{"type": "transfer_init_response", "transferId": id, "ok": true, "error": nil}
}

func completed(id string, bytes int) Message {
	return Message{"type": "transfer_complete", "transferId": id, "ok": true, "error": nil, "bytesWritten": bytes, "hashCheck": "ok"}
}

// downloadFault is a way in which a receiving Foot can go wrong, and what the
// call must say of it.
type downloadFault struct {
	rule, code, text string
	play             func(p *Peer, id string)
}

func (s *scripted) failDownloads(t *testing.T, size int64, faults []downloadFault) {
	t.Helper()
	hash := WriteFile(t, s.AtBrain(s.dir, "file"), size, 0o644, anHourAgo)
	for _, fault := range faults {
		t.Run(fault.rule, func(t *testing.T) {
			s.foot.t = t
			got := s.during(t, "client_file_download",
				map[string]any{"localPath": "file", "dirName": s.dir, "remotePath": "file"},
				func(first Message) {
					if first.Str("type") != "transfer_init" || first["totalSize"] != float64(size) || first["hash"] != hash {
						t.Errorf("the offer is %v", first)
					}
					fault.play(s.foot, first.Str("transferId"))
				})
			checkRefused(t, got, refusal{code: fault.code, text: fault.text})
		})
	}
}

// newScriptedBrain is a Foot whose Brain a test plays, frame by frame.
func newScriptedBrain(t *testing.T, settings map[string]string) (*Peer, *Foot) {
	t.Helper()
	brain := NewFakeBrain(t, Message{"maxUploadSize": 64 << 20})
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("scripted-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	foot := StartFoot(t, FootOptions{URL: brain.URL, Tenant: "acme", ProjectID: "proj-research", TokenFile: token, Settings: settings})
	p := brain.AwaitFoot(t)
	foot.AwaitEvent(t, "connected")
	return p, foot
}

// transferID makes ids for scripted transfers.
func transferID(n int) string { return fmt.Sprintf("0198c0de-0000-7000-8000-%012x", n) }

func TestAFaultOfTheSendingBrainLeavesTheFootsDiskAsItWas(t *testing.T) {
	t.Parallel()
	p, foot := newScriptedBrain(t, map[string]string{"vance.transfer.max-download-size": "4MiB"})
	WriteFile(t, foot.Project+"/old", 10, 0o600, anHourAgo)
	link(t, "/etc", foot.Project+"/link")
	before := Snapshot(t, foot.Project)

	offerTo := func(id, target string) Message {
		return Message{"type": "transfer_init", "transferId": id, "source": "file", "target": target,
			"totalSize": len(good), "hash": hashOf(good)}
	}
	faults := []struct {
		rule, target, code, in string
		change                 func(Message)
		chunks                 func(id string) []Message
	}{
		{"..", "../x", "path_escapes_sandbox", "transfer_init_response", nil, nil},
		{"absolute", "/tmp/x", "path_escapes_sandbox", "transfer_init_response", nil, nil},
		{"link as parent", "link/x", "symlink_not_allowed", "transfer_init_response", nil, nil},
		{"link as leaf", "link", "symlink_not_allowed", "transfer_init_response", nil, nil},
		{"too large", "new", "size_limit", "transfer_init_response", func(m Message) { m["totalSize"] = 4<<20 + 1 }, nil},
		{"no hash", "new", "hash_required", "transfer_init_response", func(m Message) { m["hash"] = nil }, nil},
		{"a wrong hash", "old", "hash_mismatch", "transfer_complete", func(m Message) { m["hash"] = hashOf("other") },
			func(id string) []Message { return []Message{chunk(id, 0, good, true)} }},
		{"a gap", "old", "out_of_order", "transfer_complete", nil,
			func(id string) []Message {
				return []Message{chunk(id, 0, good[:4], false), chunk(id, 3, good[4:], true)}
			}},
		{"too many bytes", "dir/new", "size_exceeded", "transfer_complete", nil,
			func(id string) []Message { return []Message{chunk(id, 0, good+good, false)} }},
		{"too few bytes", "old", "size_mismatch", "transfer_complete", nil,
			func(id string) []Message { return []Message{chunk(id, 0, good[:4], true)} }},
	}
	for i, fault := range faults {
		t.Run(fault.rule, func(t *testing.T) {
			p.t = t
			id := transferID(i + 1)
			init := offerTo(id, fault.target)
			if fault.change != nil {
				fault.change(init)
			}
			p.Send(init)
			answer := p.AwaitOf(id, "transfer_init_response")
			if fault.in == "transfer_complete" {
				if answer["ok"] != true {
					t.Fatalf("the offer is refused: %v", answer)
				}
				for _, c := range fault.chunks(id) {
					p.Send(c)
				}
				answer = p.AwaitOf(id, "transfer_complete")
			}
			if answer["ok"] != false || answer["errorCode"] != fault.code || answer.Str("error") == "" {
				t.Errorf("got %v, want %s", answer, fault.code)
			}
			p.Send(Message{"type": "transfer_finish", "transferId": id, "ok": false, "error": "as told", "errorCode": fault.code})
			if diff := cmp.Diff(before, Snapshot(t, foot.Project)); diff != "" {
				t.Errorf("the project folder changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestAFootThatCannotReadAFileSaysSoWithOneFrame(t *testing.T) {
	t.Parallel()
	p, foot := newScriptedBrain(t, map[string]string{"vance.transfer.max-upload-size": "1MiB"})
	WriteFile(t, foot.Project+"/folder/file", 10, 0o600, anHourAgo)
	WriteFile(t, foot.Project+"/large", 1<<20+1, 0o600, anHourAgo)
	WriteFile(t, foot.Project+"/folder.sibling/secret", 10, 0o600, anHourAgo)
	link(t, "folder/file", foot.Project+"/leaf")
	link(t, "folder", foot.Project+"/parent")
	cases := []struct{ rule, path, code string }{
		{"a missing file", "missing", "not_found"},
		{"a missing folder", "a/b/c", "not_found"},
		{"..", "../proj-research/large", "path_escapes_sandbox"},
		{"an absolute path elsewhere", "/etc/passwd", "path_escapes_sandbox"},
		{"a folder beside the project with the same beginning", foot.Project + ".sibling/secret", "path_escapes_sandbox"},
		{"a link as leaf", "leaf", "symlink_not_allowed"},
		{"a link as parent", "parent/file", "symlink_not_allowed"},
		{"a folder", "folder", "not_regular_file"},
		{"a file as parent", "large/x", "not_found"},
		{"a file above the limit", "large", "size_limit"},
		{"no path", "", "invalid_path"},
	}
	for i, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			p.t = t
			id := transferID(i + 1)
			p.Send(Message{"type": "client.file.upload.request", "transferId": id, "localPath": c.path, "dirName": "d", "remotePath": "r"})
			got := p.ExpectOf(id, "transfer_finish")
			if got["ok"] != false || got["errorCode"] != c.code || got.Str("error") == "" {
				t.Errorf("got %v, want %s", got, c.code)
			}
		})
	}
}

func TestAnAbsolutePathThatLiesInTheSandboxIsAccepted(t *testing.T) {
	t.Parallel()
	p, foot := newScriptedBrain(t, nil)
	hash := WriteFile(t, foot.Project+"/folder/file", 10, 0o640, anHourAgo)
	id := transferID(1)
	p.Send(Message{"type": "client.file.upload.request", "transferId": id, "localPath": foot.Project + "/folder/file", "dirName": "d", "remotePath": "r"})
	got := p.ExpectOf(id, "transfer_init")
	if got["hash"] != hash || got["target"] != "r" || got["dirName"] != "d" || got["totalSize"] != 10.0 {
		t.Errorf("got %v", got)
	}
	if source := got.Str("source"); strings.HasPrefix(source, "/") {
		t.Errorf("source tells the absolute path %q", source)
	}
}

func TestASendingFootStopsWhenTheReceiverFails(t *testing.T) {
	t.Parallel()
	p, foot := newScriptedBrain(t, nil)
	const size = 60 << 20
	WriteFile(t, foot.Project+"/file", size, 0o600, anHourAgo)
	refuse := func(id string) Message {
		return Message{"type": "transfer_init_response", "transferId": id, "ok": false, "error": "quota", "errorCode": "quota"}
	}
	accept := func(id string) Message {
		return Message{"type": "transfer_init_response", "transferId": id, "ok": true, "error": nil}
	}
	fail := func(id string) Message {
		return Message{"type": "transfer_complete", "transferId": id, "ok": false, "error": "disk full", "errorCode": "disk_full", "bytesWritten": 0, "hashCheck": nil}
	}
	early := func(id string) Message {
		return Message{"type": "transfer_complete", "transferId": id, "ok": true, "error": nil, "bytesWritten": size, "hashCheck": "ok"}
	}
	cases := []struct {
		rule   string
		answer []func(string) Message
		code   string
	}{
		{"a refusal", []func(string) Message{refuse}, "quota"},
		{"a failure while it streams", []func(string) Message{accept, fail}, "disk_full"},
		{"success before the end", []func(string) Message{accept, early}, "size_mismatch"},
		{"accepted twice", []func(string) Message{accept, accept, fail}, "disk_full"},
	}
	for i, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			p.t = t
			id := transferID(i + 1)
			p.Send(Message{"type": "client.file.upload.request", "transferId": id, "localPath": "file", "dirName": "d", "remotePath": "r"})
			p.ExpectOf(id, "transfer_init")
			for _, answer := range c.answer {
				p.Send(answer(id))
			}
			chunks := 0
			for {
				m := p.Receive()
				if m.Str("type") == "transfer_finish" {
					if m["ok"] != false || m["errorCode"] != c.code {
						t.Errorf("it ends with %v, want %s", m, c.code)
					}
					break
				}
				chunks++
			}
			// What lies in the sockets' buffers cannot be called back.
			if chunks > size/65536/2 {
				t.Errorf("%d chunks were sent after the failure", chunks)
			}
		})
	}
}

func TestAFootEndsATransferWhoseBrainIsSilent(t *testing.T) {
	t.Parallel()
	p, foot := newScriptedBrain(t, map[string]string{"vance.transfer.phase-timeout": "1s"})
	WriteFile(t, foot.Project+"/file", 10, 0o600, anHourAgo)
	before := Snapshot(t, foot.Project)

	sent := transferID(1)
	p.Send(Message{"type": "client.file.upload.request", "transferId": sent, "localPath": "file", "dirName": "d", "remotePath": "r"})
	p.ExpectOf(sent, "transfer_init")
	if got := p.ExpectOf(sent, "transfer_finish"); got["errorCode"] != "init_timeout" {
		t.Errorf("got %v, want init_timeout", got)
	}

	received := transferID(2)
	p.Send(Message{"type": "transfer_init", "transferId": received, "source": "file", "target": "file", "totalSize": len(good), "hash": hashOf(good)})
	p.ExpectOf(received, "transfer_init_response")
	p.Send(chunk(received, 0, good[:4], false))
	if got := p.ExpectOf(received, "transfer_complete"); got["errorCode"] != "chunk_timeout" {
		t.Errorf("got %v, want chunk_timeout", got)
	}
	if diff := cmp.Diff(before, Snapshot(t, foot.Project)); diff != "" {
		t.Errorf("the project folder changed (-before +after):\n%s", diff)
	}
}

func TestAFrameThatCannotBeUsedIsAnsweredAndTheConnectionLives(t *testing.T) {
	t.Parallel()
	p, foot := newScriptedBrain(t, nil)
	WriteFile(t, foot.Project+"/file", 10, 0o600, anHourAgo)
	unknown := transferID(99)
	cases := []struct{ rule, frame, code string }{
		{"no JSON", `{"type":`, "invalid_frame"},
		{"a list", `[]`, "invalid_frame"},
		{"a type that does not exist", `{"type":"transfer_teleport"}`, "unknown_type"},
		{"the wrong direction", `{"type":"hello","protocolVersion":1,"footId":"","clientVersion":"x","os":"linux","access":"edit","grants":[],"features":[]}`, "unexpected_frame"},
		{"a member twice", `{"type":"transfer_finish","transferId":"` + unknown + `","ok":true,"ok":true}`, "invalid_frame"},
		{"a chunk of an unknown transfer", `{"type":"transfer_chunk","transferId":"` + unknown + `","seq":0,"bytes":"","last":true}`, "unknown_transfer"},
		{"a completion of an unknown transfer", `{"type":"transfer_complete","transferId":"` + unknown + `","ok":true,"error":null,"bytesWritten":0,"hashCheck":"ok"}`, "unknown_transfer"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			p.t = t
			p.SendRaw(c.frame)
			if got := p.Expect("error"); got["code"] != c.code || got.Str("message") == "" {
				t.Errorf("got %v, want %s", got, c.code)
			} else if named := got.Str("transferId") == unknown; named != (c.code == "unknown_transfer") {
				t.Errorf("got %v: the transfer is named: %v", got, named)
			}
		})
	}
	p.t = t
	id := transferID(1)
	p.Send(Message{"type": "client.file.upload.request", "transferId": id, "localPath": "file", "dirName": "d", "remotePath": "r", "fromTheFuture": 1})
	p.ExpectOf(id, "transfer_init")
}

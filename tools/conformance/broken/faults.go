package broken

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vancetope/transfer/tools/conformance/suite"
)

// Case is a fault with the rules that must find it.
type Case struct {
	Fault
	Role    suite.Role
	Catches []string // patterns of rules, each of which must fail
	// Timeouts: the peer's phases must be short for these rules.
	Timeouts bool
}

// pass lets a message go on as it is.
func pass(m *Message) []*Message { return []*Message{m} }

// changing makes a hook that sets members of frames of some types.
func changing(changes map[string]any, types ...string) func(*Link, *Message) []*Message {
	return func(_ *Link, m *Message) []*Message {
		for _, t := range types {
			if m.Members != nil && m.Type() == t {
				return pass(m.With(changes))
			}
		}
		return pass(m)
	}
}

// dropping makes a hook that loses frames of some types.
func dropping(types ...string) func(*Link, *Message) []*Message {
	return func(_ *Link, m *Message) []*Message {
		for _, t := range types {
			if m.Type() == t {
				return nil
			}
		}
		return pass(m)
	}
}

var (
	codeInResult    = regexp.MustCompile(`"errorCode":"[a-z_]+"`)
	onExistingAsked = regexp.MustCompile(`,?"onExisting":"[a-z_]+"`)
)

// wrongCodes says internal whatever the reason is.
func wrongCodes(_ *Link, m *Message) []*Message {
	switch {
	case m.Members == nil:
	case m.Type() == "error":
		return pass(m.With(map[string]any{"code": "internal"}))
	case m.Text("errorCode") != "":
		return pass(m.With(map[string]any{"errorCode": "internal"}))
	}
	return pass(m)
}

// alwaysOK succeeds whatever happened.
func alwaysOK(_ *Link, m *Message) []*Message {
	if ok, told := m.Members["ok"].(bool); told && !ok {
		changes := map[string]any{"ok": true, "error": null, "errorCode": nil}
		if m.Type() == "transfer_finish" {
			changes["error"] = nil
		}
		if m.Type() == "transfer_complete" {
			changes["hashCheck"] = "ok"
		}
		return pass(m.With(changes))
	}
	return pass(m)
}

// damaged flips a bit of each chunk.
func damaged(_ *Link, m *Message) []*Message {
	if m.Type() != "transfer_chunk" {
		return pass(m)
	}
	data, err := base64.StdEncoding.DecodeString(m.Text("bytes"))
	if err != nil || len(data) == 0 {
		return pass(m)
	}
	data[0] ^= 1
	return pass(m.With(map[string]any{"bytes": base64.StdEncoding.EncodeToString(data)}))
}

// complaining answers each frame with an error frame, too.
func complaining(l *Link, m *Message) []*Message {
	if t := m.Type(); t != "hello" && t != "welcome" {
		l.Say(map[string]any{"type": "error", "code": "invalid_frame", "message": "invalid frame: out of temper"})
	}
	return pass(m)
}

// inOrder numbers chunks as they come, as a receiver does that does not look.
func inOrder(l *Link, m *Message) []*Message {
	if m.Type() != "transfer_chunk" {
		return pass(m)
	}
	id := m.Text("transferId")
	next, _ := l.Memory[id].(int)
	l.Memory[id] = next + 1
	return pass(m.With(map[string]any{"seq": next}))
}

// answeringFinish acknowledges what is never acknowledged.
func answeringFinish(l *Link, m *Message) []*Message {
	if m.Type() == "transfer_finish" {
		l.Say(map[string]any{"type": "transfer_finish", "transferId": m.Text("transferId"), "ok": true})
	}
	return pass(m)
}

// answeringCancel acknowledges a transfer_cancel.
func answeringCancel(l *Link, m *Message) []*Message {
	if m.Type() == "transfer_cancel" {
		l.Say(map[string]any{"type": "transfer_finish", "transferId": m.Text("transferId"), "ok": false, "error": "cancelled", "errorCode": "cancelled"})
	}
	return pass(m)
}

// clinging holds a target until the finish of its transfer, which may be lost.
func clinging(l *Link, m *Message) []*Message {
	switch m.Type() {
	case "transfer_init":
		target := m.Text("target")
		if l.Memory[target] != nil {
			l.Say(map[string]any{"type": "transfer_init_response", "transferId": m.Text("transferId"), "ok": false,
				"error": "target busy", "errorCode": "target_busy"})
			return nil
		}
		l.Memory[target] = m.Text("transferId")
	case "transfer_finish":
		for target, id := range l.Memory {
			if id == m.Text("transferId") {
				delete(l.Memory, target)
			}
		}
	}
	return pass(m)
}

// hasty sends a chunk before its offer was answered.
func hasty(l *Link, m *Message) []*Message {
	if m.Type() != "transfer_init" {
		return pass(m)
	}
	return []*Message{m, Frame(map[string]any{"type": "transfer_chunk", "transferId": m.Text("transferId"), "seq": 0, "bytes": "", "last": false})}
}

// oneByOne sends files one after the other.
func oneByOne(l *Link, m *Message) []*Message {
	if m.Type() != "transfer_chunk" {
		return pass(m)
	}
	id := m.Text("transferId")
	first, _ := l.Memory["first"].(string)
	if first == "" || first == id {
		l.Memory["first"] = id
		if m.Members["last"] != true {
			return pass(m)
		}
		held, _ := l.Memory["held"].([]*Message)
		l.Memory["first"], l.Memory["held"] = "none", nil
		return append(pass(m), held...)
	}
	if first == "none" {
		return pass(m)
	}
	held, _ := l.Memory["held"].([]*Message)
	l.Memory["held"] = append(held, m)
	return nil
}

// impatient fails a transfer whose chunks take a third of a second.
func impatient(l *Link, m *Message) []*Message {
	if m.Type() != "transfer_chunk" {
		return pass(m)
	}
	id := m.Text("transferId")
	began, _ := l.Memory[id].(time.Time)
	if began.IsZero() {
		l.Memory[id] = time.Now()
	} else if time.Since(began) > 300*time.Millisecond {
		l.Say(map[string]any{"type": "transfer_complete", "transferId": id, "ok": false, "error": "chunk timeout",
			"errorCode": "chunk_timeout", "bytesWritten": 0, "hashCheck": nil})
	}
	return pass(m)
}

// flooding tells each progress six times, and further each time than it is.
func flooding(_ *Link, m *Message) []*Message {
	if m.Type() != "transfer_progress" {
		return pass(m)
	}
	return []*Message{m, m, m, m, m, m}
}

// repeatingErrors tells each error four times.
func repeatingErrors(_ *Link, m *Message) []*Message {
	if m.Type() != "error" {
		return pass(m)
	}
	return []*Message{m, m, m, m}
}

// repeating says every word about a transfer twice.
func repeating(_ *Link, m *Message) []*Message {
	if t := m.Type(); t == "transfer_finish" || t == "transfer_complete" || t == "transfer_init_response" {
		return []*Message{m, m}
	}
	return pass(m)
}

// leavingOut leaves out what is null.
func leavingOut(_ *Link, m *Message) []*Message {
	changes := map[string]any{}
	for name, value := range m.Members {
		if value == nil {
			changes[name] = nil
		}
	}
	if len(changes) == 0 {
		return pass(m)
	}
	return pass(m.With(changes))
}

// lenientText makes text of what is none.
func lenientText(_ *Link, m *Message) []*Message {
	if utf8.Valid(m.Raw) {
		return pass(m)
	}
	return pass(&Message{Raw: []byte(strings.ToValidUTF8(string(m.Raw), "?"))})
}

// takingAll has no read limit.
func takingAll(_ *Link, m *Message) []*Message {
	if len(m.Raw) > 4<<20 {
		return nil
	}
	return pass(m)
}

// speakingFirst sends a frame before the welcome.
func speakingFirst(_ *Link, m *Message) []*Message {
	if m.Type() != "hello" {
		return pass(m)
	}
	return []*Message{m, Frame(map[string]any{"type": "transfer_finish", "transferId": "01989f2e-7c1a-7b5e-9d3f-2a4b6c8d0e1f", "ok": true})}
}

// welcomingOnce opens one connection well and no other.
func welcomingOnce(l *Link, m *Message) []*Message {
	if l.Nth > 0 && m.Type() == "welcome" {
		return pass(Frame(map[string]any{"type": "error", "code": "handshake_failed", "message": "expected hello"}))
	}
	return pass(m)
}

// mistrusting finds fault with every welcome but the first.
func mistrusting(l *Link, m *Message) []*Message {
	if l.Nth > 0 && m.Type() == "welcome" {
		l.Say(map[string]any{"type": "error", "code": "handshake_failed", "message": "expected welcome"})
	}
	return pass(m)
}

// ignoringWelcome goes by settings of its own.
func ignoringWelcome(_ *Link, m *Message) []*Message {
	settings, ok := m.Members["settings"].(map[string]any)
	if m.Type() != "welcome" || !ok {
		return pass(m)
	}
	changed := map[string]any{}
	for name, value := range settings {
		changed[name] = value
	}
	changed["chunkSize"], changed["maxFrameSize"], changed["maxUploadSize"] = 64<<10, 4<<20, 100<<20
	return pass(m.With(map[string]any{"settings": changed}))
}

// promisingLess tells smaller chunks than it sends.
func promisingLess(_ *Link, m *Message) []*Message {
	settings, ok := m.Members["settings"].(map[string]any)
	if m.Type() != "welcome" || !ok {
		return pass(m)
	}
	settings["chunkSize"] = 1000
	return pass(m.With(map[string]any{"settings": settings}))
}

// forgetting tells no attributes.
func forgetting(_ *Link, m *Message) []*Message {
	if m.Members["attrs"] == nil {
		return pass(m)
	}
	return pass(m.With(map[string]any{"attrs": nil}))
}

// findingAll offers each file that is not there, of which nothing ever comes.
func findingAll(_ *Link, m *Message) []*Message {
	if m.Type() != "transfer_finish" || m.Text("errorCode") != "not_found" {
		return pass(m)
	}
	return pass(Frame(map[string]any{"type": "transfer_init", "transferId": m.Text("transferId"), "target": "in/it.bin", "dirName": "inbox",
		"totalSize": 0, "hash": "sha256:" + strings.Repeat("0", 64)}))
}

// countingFromOne numbers its chunks from one.
func countingFromOne(_ *Link, m *Message) []*Message {
	seq, ok := m.Members["seq"].(json.Number)
	if m.Type() != "transfer_chunk" || !ok {
		return pass(m)
	}
	n, err := seq.Int64()
	if err != nil {
		return pass(m)
	}
	return pass(m.With(map[string]any{"seq": n + 1}))
}

// startingOver ends a transfer that is asked for again.
func startingOver(l *Link, m *Message) []*Message {
	if m.Type() != "client.file.upload.request" {
		return pass(m)
	}
	id := m.Text("transferId")
	if l.Memory[id] != nil {
		l.Say(map[string]any{"type": "transfer_finish", "transferId": id, "ok": false, "error": "duplicate transferId", "errorCode": "duplicate_transfer"})
	}
	l.Memory[id] = true
	return pass(m)
}

// bareBody answers a refused upgrade with no JSON.
func bareBody(r *http.Response) { r.Body = io.NopCloser(strings.NewReader("no")) }

// refusalRules are the rules in which a peer of either role must tell a code.
var refusalRules = []string{
	"connection/unknown-type", "connection/wrong-direction", "connection/feature-not-in-force",
	"receiver/hash-mismatch", "receiver/gap", "receiver/repeat", "receiver/first-seq", "receiver/too-many-bytes", "receiver/too-few-bytes",
	"receiver/malformed-base64", "receiver/url-base64", "receiver/base64-line-break", "receiver/too-large-chunk", "receiver/invalid-chunk",
	"receiver/double-member", "receiver/null-hash", "receiver/invalid-init", "receiver/size-limit", "receiver/not-before-the-end",
	"receiver/finish-while-streaming", "receiver/after-a-failure", "receiver/target-busy", "receiver/duplicate-init", "receiver/init-after-the-end",
	"receiver/unknown-chunk", "receiver/unknown-finish", "receiver/wrong-role", "receiver/bystander",
	"receiver/path-parent", "receiver/path-deep-parent", "receiver/path-absolute", "receiver/path-empty", "receiver/path-root",
	"receiver/path-slash", "receiver/path-ours", "receiver/path-long", "receiver/path-folder",
	"sender/refused", "sender/mid-stream-failure", "sender/failure-at-the-end", "sender/early-success", "sender/success-of-other-size",
	"sender/wrong-role", "sender/wrong-phase", "sender/unknown-answer", "sender/path-parent", "sender/path-absolute", "sender/path-empty",
	"sender/path-slash", "sender/path-ours", "sender/not-found", "sender/folder",
	"progress/of-an-unknown-transfer", "cancel/receiver", "cancel/unknown-transfer", "on-existing/error",
	"vector/*/wrong direction", "vector/client_file_upload_request/invalid", "vector/messages/invalid", "vector/transfer_*/invalid",
}

// Cases are all faults of a role with the rules that must find them.
func Cases(role suite.Role) []Case {
	var mine []Case
	for _, c := range cases {
		if c.Role&role != 0 {
			mine = append(mine, c)
		}
	}
	return mine
}

var cases = []Case{
	{Fault: Fault{Name: "says internal whatever the reason is", Says: wrongCodes,
		Result: func(text string) string { return codeInResult.ReplaceAllString(text, `"errorCode":"internal"`) }},
		Role: suite.Both, Catches: refusalRules},
	{Fault: Fault{Name: "says internal whatever the reason is, as a Brain", Says: wrongCodes,
		Result: func(text string) string { return codeInResult.ReplaceAllString(text, `"errorCode":"internal"`) }},
		Role: suite.Brain, Catches: []string{"handshake/other-name", "handshake/unsupported-version", "handshake/no-version", "handshake/other-frame",
			"handshake/no-json", "handshake/binary", "connection/lost", "connection/old-ids", "connection/no-foot", "tools/upload-dir-not-found",
			"tools/download-dir-not-found", "tools/unknown-argument", "tools/missing-argument", "tools/unknown-foot", "tools/local-failure",
			"tools/uninvited-init", "tools/cancelled-upload", "tools/cancelled-download", "tools/cancelled-request", "tools/idempotency-key",
			"cancel/sender", "cancel/by-the-tool", "on-existing/unsupported", "vector/hello/invalid"}},
	{Fault: Fault{Name: "says internal whatever the reason is, as a Foot", Says: wrongCodes},
		Role: suite.Foot, Catches: []string{"receiver/path-git", "sender/invalid-request", "settings/max-upload-size", "handshake/no-welcome", "vector/welcome/invalid"}},
	{Fault: Fault{Name: "says internal after a timeout", Says: wrongCodes,
		Result: func(text string) string { return codeInResult.ReplaceAllString(text, `"errorCode":"internal"`) }},
		Role: suite.Both, Timeouts: true, Catches: []string{"timeout/chunk", "timeout/init", "timeout/complete", "timeout/progress", "timeout/request", "timeout/hello", "timeout/welcome"}},
	{Fault: Fault{Name: "has texts of its own", Says: func(_ *Link, m *Message) []*Message {
		if m.Text("error") == "" {
			return pass(m)
		}
		return pass(m.With(map[string]any{"error": "it failed"}))
	}}, Role: suite.Both, Catches: []string{"receiver/hash-mismatch", "receiver/gap", "receiver/repeat", "receiver/first-seq", "receiver/too-many-bytes",
		"receiver/too-few-bytes", "receiver/malformed-base64", "receiver/too-large-chunk", "receiver/null-hash", "receiver/size-limit"}},
	{Fault: Fault{Name: "always succeeds", Says: alwaysOK},
		Role: suite.Both, Catches: []string{"receiver/hash-mismatch", "receiver/gap", "receiver/too-many-bytes", "receiver/too-few-bytes", "receiver/null-hash",
			"receiver/invalid-init", "receiver/size-limit", "receiver/duplicate-init", "receiver/init-after-the-end",
			"sender/refused", "sender/mid-stream-failure", "sender/failure-at-the-end", "sender/early-success", "sender/success-of-other-size"}},
	{Fault: Fault{Name: "accepts every place", Says: alwaysOK}, Role: suite.Brain, Catches: []string{"tools/uninvited-init", "tools/other-target", "tools/other-dir", "tools/cancelled-request"}},
	{Fault: Fault{Name: "writes everywhere", Says: alwaysOK}, Role: suite.Foot, Catches: []string{"receiver/path-parent", "receiver/path-absolute", "receiver/path-git", "receiver/target-busy", "on-existing/error"}},
	{Fault: Fault{Name: "damages what it sends", Says: damaged},
		Role: suite.Both, Catches: []string{"connection/unknown-members", "receiver/one-chunk", "receiver/chunks", "receiver/whole-chunks", "receiver/one-mebibyte",
			"receiver/extra-last-chunk", "receiver/small-chunks-differ", "receiver/replaces", "receiver/parents", "receiver/names", "receiver/path-inner-parent",
			"receiver/two-at-once", "receiver/bystander", "receiver/after-the-end", "receiver/not-before-the-end", "receiver/lost-finish",
			"sender/one-chunk", "sender/chunks", "sender/whole-chunks", "on-existing/replace", "on-existing/keep-both", "on-existing/keep-both-at-once"}},
	{Fault: Fault{Name: "numbers its chunks from one", Says: countingFromOne},
		Role: suite.Both, Catches: []string{"receiver/empty", "sender/empty", "sender/one-chunk", "sender/offer", "sender/waits-for-the-answer", "sender/finish-is-last"}},
	{Fault: Fault{Name: "does not look at the numbers of chunks", Hears: inOrder},
		Role: suite.Both, Catches: []string{"receiver/gap", "receiver/repeat", "receiver/first-seq"}},
	{Fault: Fault{Name: "complains about everything", Hears: complaining},
		Role: suite.Both, Catches: []string{"connection/unknown-members", "connection/errors-are-not-answered", "receiver/after-the-end", "receiver/after-a-failure",
			"receiver/double-member", "sender/finish-is-last", "cancel/after-the-success", "progress/is-taken", "vector/error", "vector/transfer_*/valid",
			"vector/client_file_upload_request/valid"}},
	{Fault: Fault{Name: "complains about everything, as a Foot", Hears: complaining},
		Role: suite.Foot, Catches: []string{"handshake/unknown-feature"}},
	{Fault: Fault{Name: "ends a transfer that is asked for again", Hears: startingOver}, Role: suite.Foot, Catches: []string{"sender/duplicate-request"}},
	{Fault: Fault{Name: "says everything twice", Says: repeating},
		Role: suite.Both, Catches: []string{"receiver/one-chunk", "receiver/duplicate-init", "sender/refused", "sender/finish-is-last"}},
	{Fault: Fault{Name: "leaves out what is null", Says: leavingOut},
		Role: suite.Both, Catches: []string{"receiver/one-chunk", "receiver/hash-mismatch"}},
	{Fault: Fault{Name: "answers a finish", Hears: answeringFinish},
		Role: suite.Both, Catches: []string{"receiver/finish-is-not-answered", "receiver/finish-while-streaming"}},
	{Fault: Fault{Name: "clings to a target until the finish", Hears: clinging},
		Role: suite.Both, Catches: []string{"receiver/lost-finish"}},
	{Fault: Fault{Name: "sends before it is asked to", Says: hasty},
		Role: suite.Both, Catches: []string{"sender/waits-for-the-answer"}},
	{Fault: Fault{Name: "sends one file after the other", Says: oneByOne},
		Role: suite.Both, Catches: []string{"sender/two-at-once"}},
	{Fault: Fault{Name: "tells no attributes", Says: forgetting},
		Role: suite.Both, Catches: []string{"receiver/mtime", "receiver/mode", "receiver/mode-bits", "sender/offer", "sender/attributes-of-the-call"}},
	{Fault: Fault{Name: "tells no attributes, as a Brain", Says: forgetting}, Role: suite.Brain, Catches: []string{"tools/attributes"}},
	{Fault: Fault{Name: "tells its own paths", Says: changing(map[string]any{"source": "/home/someone/it.bin"}, "transfer_init")},
		Role: suite.Both, Catches: []string{"sender/offer"}},
	{Fault: Fault{Name: "says each error four times", Says: repeatingErrors},
		Role: suite.Both, Catches: []string{"connection/errors-are-limited", "connection/unknown-type"}},
	{Fault: Fault{Name: "answers no ping", NoPongs: true}, Role: suite.Both, Catches: []string{"connection/pongs"}},
	{Fault: Fault{Name: "never pings", NoPings: true}, Role: suite.Both, Timeouts: true, Catches: []string{"timeout/pings"}},
	{Fault: Fault{Name: "takes no silence for death", Pongs: true}, Role: suite.Both, Timeouts: true, Catches: []string{"timeout/dead-peer"}},
	{Fault: Fault{Name: "counts the time of a transfer, not of a chunk", Hears: impatient}, Role: suite.Both, Timeouts: true, Catches: []string{"timeout/chunks-count-anew"}},
	{Fault: Fault{Name: "makes text of what is none", Hears: lenientText}, Role: suite.Both, Catches: []string{"connection/invalid-utf8"}},
	{Fault: Fault{Name: "has no read limit", Hears: takingAll}, Role: suite.Both, Catches: []string{"connection/too-large"}},
	{Fault: Fault{Name: "always closes with 1000", CloseCode: 1000}, Role: suite.Both, Catches: []string{"connection/invalid-utf8"}},
	{Fault: Fault{Name: "always closes with 1000, as a Brain", CloseCode: 1000}, Role: suite.Brain,
		Catches: []string{"connection/replaced", "handshake/other-name", "handshake/no-json"}},
	{Fault: Fault{Name: "floods with progress", Says: flooding}, Role: suite.Both, Catches: []string{"progress/of-a-sender", "progress/of-a-receiver"}},
	{Fault: Fault{Name: "answers a cancel", Hears: answeringCancel}, Role: suite.Both, Catches: []string{"cancel/receiver", "cancel/sender", "cancel/after-the-success"}},
	{Fault: Fault{Name: "does not hear a cancel", Hears: dropping("transfer_cancel")}, Role: suite.Both, Catches: []string{"cancel/receiver", "cancel/unknown-transfer"}},
	{Fault: Fault{Name: "does not tell what it published", Says: changing(map[string]any{"path": nil}, "transfer_complete")},
		Role: suite.Both, Catches: []string{"on-existing/replace", "on-existing/error", "on-existing/keep-both", "on-existing/keep-both-at-once"}},
	{Fault: Fault{Name: "does not tell what it published, as a Brain", Says: changing(map[string]any{"path": nil}, "transfer_complete")},
		Role: suite.Brain, Catches: []string{"on-existing/tool-alone"}},
	{Fault: Fault{Name: "always replaces", Hears: changing(map[string]any{"onExisting": nil}, "transfer_init"),
		Asked: func(text string) string { return onExistingAsked.ReplaceAllString(text, "") }},
		Role: suite.Both, Catches: []string{"on-existing/error", "on-existing/keep-both", "on-existing/keep-both-at-once"}},

	// A Brain's own.
	{Fault: Fault{Name: "refuses with 500", Refusal: func(r *http.Response) { r.StatusCode = 500 }}, Role: suite.Brain,
		Catches: []string{"http/no-token", "http/bad-token", "http/no-bearer", "http/other-tenant", "http/other-role", "http/no-subprotocol",
			"http/unknown-path", "http/order-path", "http/order-token", "http/order-tenant"}},
	{Fault: Fault{Name: "refuses without JSON", Refusal: bareBody}, Role: suite.Brain,
		Catches: []string{"http/no-token", "http/other-tenant", "http/no-subprotocol"}},
	{Fault: Fault{Name: "does not say how to authenticate", Refusal: func(r *http.Response) { r.Header.Del("Www-Authenticate") }}, Role: suite.Brain,
		Catches: []string{"http/no-token", "http/bad-token", "http/no-bearer", "http/order-token"}},
	{Fault: Fault{Name: "names no subprotocol", NoSubprotocol: true}, Role: suite.Brain, Catches: []string{"http/subprotocol"}},
	{Fault: Fault{Name: "welcomes for another tenant", Says: changing(map[string]any{"tenant": "elsewhere"}, "welcome")}, Role: suite.Brain, Catches: []string{"handshake/welcome"}},
	{Fault: Fault{Name: "puts in force what nobody offered", Says: func(l *Link, m *Message) []*Message {
		if m.Type() != "welcome" || l.Nth == 0 {
			return pass(m)
		}
		return pass(m.With(map[string]any{"features": []any{"x-conformance"}}))
	}}, Role: suite.Brain, Catches: []string{"handshake/no-features", "handshake/features"}},
	{Fault: Fault{Name: "welcomes nobody twice", Says: welcomingOnce}, Role: suite.Brain, Catches: []string{"handshake/own-name", "vector/hello/valid"}},
	{Fault: Fault{Name: "promises smaller chunks than it sends", Says: promisingLess}, Role: suite.Brain, Catches: []string{"sender/chunks", "sender/whole-chunks"}},
	{Fault: Fault{Name: "has no tool for uploads", Result: func(text string) string {
		return strings.ReplaceAll(text, "client_file_upload", "client_file_push")
	}}, Role: suite.Brain, Catches: []string{"tools/list"}},
	{Fault: Fault{Name: "tells of another Foot", Result: func(text string) string {
		return strings.ReplaceAll(text, `"clientVersion":"conformance"`, `"clientVersion":"1.0"`)
	}}, Role: suite.Brain, Catches: []string{"tools/client-list"}},
	{Fault: Fault{Name: "tells other ids", Result: func(text string) string {
		return regexp.MustCompile(`"transferId":"0`).ReplaceAllString(text, `"transferId":"f`)
	}}, Role: suite.Brain, Catches: []string{"tools/uuid", "tools/idempotency-key", "tools/transfer-status"}},
	{Fault: Fault{Name: "answers only after the finish", HoldsResults: true}, Role: suite.Brain, Catches: []string{"tools/no-wait-for-finish"}},
	{Fault: Fault{Name: "does not tell a Foot of a cancelled call", Says: dropping("transfer_cancel")}, Role: suite.Brain,
		Catches: []string{"cancel/by-a-call", "cancel/by-the-tool"}},
	{Fault: Fault{Name: "does not tell a Foot what to do with existing files", Says: changing(map[string]any{"onExisting": nil}, "transfer_init")},
		Role: suite.Brain, Catches: []string{"on-existing/is-told"}},

	// A Foot's own.
	{Fault: Fault{Name: "asks with a wrong token first", KnocksWrongly: true}, Role: suite.Foot, Catches: []string{"handshake/request"}},
	{Fault: Fault{Name: "speaks before the welcome", Says: speakingFirst}, Role: suite.Foot, Catches: []string{"handshake/hello"}},
	{Fault: Fault{Name: "stays away after a lost connection", Shy: true}, Role: suite.Foot, Catches: []string{"connection/reconnects", "connection/foot-lost"}},
	{Fault: Fault{Name: "mistrusts every welcome but the first", Hears: mistrusting}, Role: suite.Foot, Catches: []string{"vector/welcome/valid"}},
	{Fault: Fault{Name: "goes by settings of its own", Hears: ignoringWelcome}, Role: suite.Foot,
		Catches: []string{"settings/chunk-size", "settings/max-frame-size", "settings/max-upload-size"}},
	{Fault: Fault{Name: "offers what is not there", Says: findingAll}, Role: suite.Foot,
		Catches: []string{"sender/not-found", "receiver/not-before-the-end", "receiver/hash-mismatch", "cancel/receiver"}},
	{Fault: Fault{Name: "says internal of another version", Says: wrongCodes}, Role: suite.Foot, Catches: []string{"handshake/foot-unsupported-version"}},
}

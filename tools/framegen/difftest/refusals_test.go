package difftest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/gen/tools"
)

const someID = "01234567-89ab-7def-8123-456789abcdef"

func chunk(members string) string {
	return fmt.Sprintf(`{"type":"transfer_chunk","transferId":%q,%s}`, someID, members)
}

func transferInit(members string) string {
	return fmt.Sprintf(`{"type":"transfer_init","transferId":%q,"target":"a","totalSize":0,%s}`, someID, members)
}

// TestARefusalNamesCodePlaceReasonTypeAndTransfer is the table of protocol.md's
// ruling on frames that do not follow their schema, for a base connection.
func TestARefusalNamesCodePlaceReasonTypeAndTransfer(t *testing.T) {
	const goodHash = `"hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000"`
	for name, test := range map[string]struct {
		text   string
		code   common.ErrorCode
		place  string
		reason string
		typ    frames.FrameType
		id     bool
	}{
		"bad base64":                        {chunk(`"seq":0,"bytes":"A","last":true`), "malformed_chunk", "/bytes", "standard base64", "transfer_chunk", true},
		"base64 with a line break":          {chunk(`"seq":0,"bytes":"AAAA\nAAAA","last":true`), "malformed_chunk", "/bytes", "line breaks", "transfer_chunk", true},
		"bytes that are no string":          {chunk(`"seq":0,"bytes":[1],"last":true`), "invalid_frame", "/bytes", "must be a string", "transfer_chunk", true},
		"bytes above the characters":        {chunk(`"seq":0,"bytes":"` + strings.Repeat("A", 1398108) + `","last":true`), "chunk_too_large", "/bytes", "at most 1398104", "transfer_chunk", true},
		"bytes above 1 MiB decoded":         {chunk(`"seq":0,"bytes":"` + strings.Repeat("A", 1398104) + `","last":true`), "chunk_too_large", "/bytes", "at most 1048576 bytes", "transfer_chunk", true},
		"a negative number":                 {chunk(`"seq":-1,"bytes":"","last":true`), "invalid_frame", "/seq", "at least 0", "transfer_chunk", true},
		"a fraction":                        {chunk(`"seq":0.5,"bytes":"","last":true`), "invalid_frame", "/seq", "must be an integer", "transfer_chunk", true},
		"a number beyond 2^53-1":            {chunk(`"seq":9007199254740992,"bytes":"","last":true`), "invalid_frame", "/seq", "at most 9007199254740991", "transfer_chunk", true},
		"a number spelt in 65 bytes":        {chunk(`"seq":0.` + strings.Repeat("0", 63) + `,"bytes":"","last":true`), "invalid_frame", "/seq", "at most 64 bytes", "transfer_chunk", true},
		"a huge exponent":                   {chunk(`"seq":0e101,"bytes":"","last":true`), "invalid_frame", "/seq", "exponent within 100", "transfer_chunk", true},
		"a missing member":                  {chunk(`"seq":0,"bytes":""`), "invalid_frame", "/last", "is required", "transfer_chunk", true},
		"a case-folded member":              {chunk(`"seq":0,"bytes":"","Last":true`), "invalid_frame", "/last", "is required", "transfer_chunk", true},
		"null for a member":                 {chunk(`"seq":0,"bytes":"","last":null`), "invalid_frame", "/last", "true or false", "transfer_chunk", true},
		"a null hash":                       {transferInit(`"hash":null`), "hash_required", "/hash", "must not be null", "transfer_init", true},
		"no hash":                           {transferInit(`"source":"a"`), "hash_required", "/hash", "is required", "transfer_init", true},
		"a malformed hash":                  {transferInit(`"hash":"md5:0"`), "invalid_frame", "/hash", "must match", "transfer_init", true},
		"NUL in a path":                     {strings.Replace(transferInit(goodHash), `"target":"a"`, `"target":"a\u0000"`, 1), "path_escapes_sandbox", "/target", "must match", "transfer_init", true},
		"a path that is too long":           {strings.Replace(transferInit(goodHash), `"target":"a"`, `"target":"`+strings.Repeat("é", 4097)+`"`, 1), "invalid_path", "/target", "at most 4096", "transfer_init", true},
		"a bad attribute":                   {transferInit(goodHash + `,"attrs":{"mode":"rwx"}`), "invalid_frame", "/attrs/mode", "must match", "transfer_init", true},
		"an upper-case id":                  {strings.Replace(chunk(`"seq":0,"bytes":"","last":true`), someID, strings.ToUpper(someID), 1), "invalid_frame", "/transferId", "lower-case 8-4-4-4-12", "transfer_chunk", false},
		"the nil id":                        {strings.Replace(chunk(`"seq":0,"bytes":"","last":true`), someID, "00000000-0000-0000-0000-000000000000", 1), "invalid_frame", "/transferId", "must not be", "transfer_chunk", false},
		"type not first and a bad member":   {fmt.Sprintf(`{"seq":-1,"transferId":%q,"type":"transfer_chunk"}`, someID), "invalid_frame", "/seq", "at least 0", "transfer_chunk", true},
		"the id after the bad member":       {fmt.Sprintf(`{"type":"transfer_chunk","seq":-1,"transferId":%q}`, someID), "invalid_frame", "/seq", "at least 0", "transfer_chunk", true},
		"an unknown type":                   {fmt.Sprintf(`{"type":"transfer_nothing","transferId":%q}`, someID), "unknown_type", "/type", "not a known type", "", true},
		"a type with another case":          {`{"type":"Hello"}`, "unknown_type", "/type", "not a known type", "", false},
		"a type that is very long":          {`{"type":"` + strings.Repeat("x", 5000) + `"}`, "unknown_type", "/type", "not a known type", "", false},
		"no type":                           {fmt.Sprintf(`{"transferId":%q}`, someID), "invalid_frame", "/type", "is required", "", true},
		"a type that is no string":          {`{"type":1}`, "invalid_frame", "/type", "must be a string", "", false},
		"the wrong direction":               {`{"type":"welcome"}`, "unexpected_frame", "/type", "direction", "welcome", false},
		"a wrong version":                   {`{"type":"hello","protocolVersion":2}`, "unsupported_version", "/protocolVersion", "at most 1", "hello", false},
		"no version":                        {`{"type":"hello","footId":"","clientVersion":"1","os":"linux","access":"edit","grants":[],"features":[]}`, "unsupported_version", "/protocolVersion", "is required", "hello", false},
		"an array":                          {`[]`, "invalid_frame", "", "must be an object", "", false},
		"no JSON":                           {`hello`, "invalid_frame", "", "not valid JSON", "", false},
		"nothing":                           {``, "invalid_frame", "", "ends too early", "", false},
		"a cut message":                     {chunk(`"seq":0,"bytes":"AAAA`), "invalid_frame", "", "", "", false},
		"two messages":                      {chunk(`"seq":0,"bytes":"","last":true`) + `{}`, "invalid_frame", "", "something follows", "", false},
		"a bad member, then a syntax error": {chunk(`"seq":-1,`), "invalid_frame", "", "not valid JSON", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			frame, err := (&frames.Decoder{}).DecodeForBrain([]byte(test.text))
			var e *frames.DecodeError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, %v, want a DecodeError", frame, err)
			}
			if e.Code != test.code || e.Place != test.place || !strings.Contains(e.Reason, test.reason) || e.Type != test.typ || (e.TransferID != nil) != test.id {
				t.Errorf("got %+v, id %v", e, e.TransferID)
			}
			if e.DuplicateMember {
				t.Error("says that a member stands twice")
			}
			if e.TransferID != nil && e.TransferID.String() != someID {
				t.Errorf("id is %v", e.TransferID)
			}
		})
	}
}

// TestADoubleMemberLeavesNothingToTrust holds wherever the double stands and
// whatever else is wrong.
func TestADoubleMemberLeavesNothingToTrust(t *testing.T) {
	for name, text := range map[string]string{
		"the id":                      chunk(fmt.Sprintf(`"transferId":%q,"seq":0,"bytes":"","last":true`, someID)),
		"the type":                    chunk(`"type":"transfer_chunk","seq":0,"bytes":"","last":true`),
		"another type":                chunk(`"type":"hello","seq":0,"bytes":"","last":true`),
		"after a bad member":          chunk(`"seq":-1,"seq":0,"bytes":"","last":true`),
		"spelt with an escape":        chunk(`"seq":0,"s\u0065q":0,"bytes":"","last":true`),
		"an unknown member":           chunk(`"x":0,"x":0,"seq":0,"bytes":"","last":true`),
		"below an unknown member":     chunk(`"x":[{"a":1,"b":{"c":1,"c":2}}],"seq":0,"bytes":"","last":true`),
		"below a known member":        transferInit(`"attrs":{"mode":"0644","mode":"0644"}`),
		"in a frame of another side":  `{"type":"welcome","tenant":"a","tenant":"b"}`,
		"in a frame of unknown type":  `{"type":"x","a":1,"a":2}`,
		"in a message without a type": `{"a":1,"a":2}`,
		"in an array":                 `[{"a":1,"a":2}]`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := (&frames.Decoder{}).DecodeForBrain([]byte(text))
			var e *frames.DecodeError
			if !errors.As(err, &e) || !e.DuplicateMember || e.Code != common.ErrorCodeInvalidFrame || e.TransferID != nil || e.Type != "" {
				t.Errorf("got %+v", err)
			}
		})
	}
}

// TestAPeersBytesAreNeverRepeatedUnescaped covers unknown names, the only part of
// a message that a refusal can quote.
func TestAPeersBytesAreNeverRepeatedUnescaped(t *testing.T) {
	for text, place := range map[string]string{
		`{"\u001b[2J":1}`: `/\x1b[2J`,
		`{"a/b~c":1}`:     `/a~1b~0c`,
		`{"\u202ex":1}`:   `/\u202ex`,
		`{"` + strings.Repeat("x", 1000) + `":1}`: "/" + strings.Repeat("x", 64) + "...",
		`{"dirname":"a"}`:                         "/dirname",
	} {
		_, err := tools.DecodeWorkspaceCreateEphemeralDirInput([]byte(text))
		var e *common.DecodeError
		if !errors.As(err, &e) || e.Place != place || e.Code != common.ErrorCodeInvalidRequest {
			t.Errorf("%.40s: got %+v, want place %s", text, err, place)
		}
	}
}

func TestNoBytesAreAToolWithoutArguments(t *testing.T) {
	if _, err := tools.DecodeClientListInput(nil); err != nil {
		t.Error(err)
	}
	if _, err := tools.DecodeClientFileUploadInput(nil); err == nil {
		t.Error("an upload without arguments is accepted")
	}
}

// TestANullHashIsLegalWithTheFeatureThatAllowsIt also covers the absent one.
func TestANullHashIsLegalWithTheFeatureThatAllowsIt(t *testing.T) {
	d := &frames.Decoder{Features: frames.ParseFeatures([]string{"nothing", "trailing-hash"})}
	for _, text := range []string{transferInit(`"hash":null`), transferInit(`"source":"a"`)} {
		frame, err := d.DecodeForBrain([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := frame.AppendJSON(nil); err != nil || !strings.Contains(string(out), `"hash":null`) {
			t.Errorf("encodes to %s, %v", out, err)
		}
	}
}

// TestAPayloadIsDecodedIntoTheBufferOfTheCaller also checks that nothing is
// written behind it.
func TestAPayloadIsDecodedIntoTheBufferOfTheCaller(t *testing.T) {
	for _, size := range []int{1, 2, 3, 23, 24, 25, 32, 48, 100, 65536, 1 << 20} {
		sent := &frames.TransferChunk{TransferID: common.TransferID{1}, Bytes: []byte(strings.Repeat("abc", size)[:size])}
		text, err := sent.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		memory := []byte(strings.Repeat("#", size+64))
		asked := 0
		d := &frames.Decoder{Buffer: func(n int) []byte { asked = n; return memory[:n] }}
		frame, err := d.DecodeForFoot(text)
		if err != nil {
			t.Fatal(err)
		}
		got := frame.(*frames.TransferChunk).Bytes
		if string(got) != string(sent.Bytes) || asked != size || &got[0] != &memory[0] {
			t.Errorf("%d bytes: wrong payload, %d asked for, in the buffer: %v", size, asked, &got[0] == &memory[0])
		}
		if string(memory[size:]) != strings.Repeat("#", 64) {
			t.Errorf("%d bytes: written behind the buffer", size)
		}
	}
}

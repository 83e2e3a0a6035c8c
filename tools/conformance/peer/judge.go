package peer

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/schema"
)

// judge holds each message against the generated decoder of the end that we play
// and against the schema itself.
type judge struct {
	decoder frames.Decoder
	asFoot  bool // we play a Foot: the peer is a Brain
}

// maxSchemaBytes is how long a message the schema's compiler is asked about: a few
// hundred hostile bytes can cost it seconds, a long chunk as much. The decoder
// reads all.
const maxSchemaBytes = 16 << 10

func (j *judge) read(raw []byte) (frames.Frame, string) {
	decode := j.decoder.DecodeForBrain
	if j.asFoot {
		decode = j.decoder.DecodeForFoot
	}
	frame, err := decode(raw)
	if err != nil {
		return nil, fmt.Sprintf("sent what is no valid frame: %v: %s", err, Brief(raw))
	}
	if len(raw) <= maxSchemaBytes {
		name := "frames/" + strings.ReplaceAll(string(frame.FrameType()), ".", "_")
		if problem := BreaksSchema(name, raw); problem != "" {
			return frame, "sent what its schema refuses: " + problem
		}
	}
	return frame, absent(frame, raw)
}

// alwaysSent are the members that may be null and are never left out: readers take
// an absent one as null, so that neither decoder nor schema minds.
var alwaysSent = map[frames.FrameType][]string{
	frames.FrameTypeTransferInit:         {"hash"},
	frames.FrameTypeTransferInitResponse: {"error"},
	frames.FrameTypeTransferComplete:     {"error", "hashCheck"},
}

func absent(f frames.Frame, raw []byte) string {
	for _, member := range alwaysSent[f.FrameType()] {
		if !bytes.Contains(raw, []byte(`"`+member+`"`)) {
			return fmt.Sprintf("left out %s of %s, which is always sent: %s", member, f.FrameType(), Brief(raw))
		}
	}
	return ""
}

var compiled = sync.OnceValues(schema.Compile)

// BreaksSchema says how JSON breaks the file schema/<name>.schema.json, "" when it
// does not.
func BreaksSchema(name string, raw []byte) string {
	set, err := compiled()
	if err != nil {
		return err.Error()
	}
	if err := set.Check(name, raw); err != nil {
		return strings.Join(strings.Fields(err.Error()), " ") + ": " + Brief(raw)
	}
	return ""
}

// Brief is the beginning of a message, for people.
func Brief(raw []byte) string {
	const most = 300
	if len(raw) <= most {
		return fmt.Sprintf("%q", raw)
	}
	return fmt.Sprintf("%q… (%d bytes)", raw[:most], len(raw))
}

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/schema"
)

// The frames that are measured.
const (
	chunkSchema    = "frames/transfer_chunk.schema.json"
	completeSchema = "frames/transfer_complete.schema.json"
)

var id = uuid.MustParse("01234567-89ab-7def-8123-456789abcdef")

func groups() ([]group, error) {
	set, err := schema.Compile()
	if err != nil {
		return nil, err
	}
	var all []group
	for _, size := range []int{64 << 10, 1 << 20} {
		decode, err := decodeChunk(set, size)
		if err != nil {
			return nil, err
		}
		all = append(all, decode, encodeChunk(size))
	}
	small, err := decodeSmall(set)
	return append(all, small), err
}

func randomChunk(size int) *frames.TransferChunk {
	payload := make([]byte, size)
	state := uint32(1)
	for i := range payload {
		state = state*1664525 + 1013904223
		payload[i] = byte(state >> 24)
	}
	return &frames.TransferChunk{Type: frames.FrameTypeTransferChunk, TransferID: id, Seq: 12345, Bytes: payload}
}

func decodeChunk(set *schema.Set, size int) (group, error) {
	frame := randomChunk(size)
	text, err := frame.AppendJSON(nil)
	if err != nil {
		return group{}, err
	}
	compiled, err := set.Lookup(chunkSchema)
	if err != nil {
		return group{}, err
	}
	spaced := append(bytes.Clone(text), ' ') // no shape for the fast path
	payload := []byte(base64.StdEncoding.EncodeToString(frame.Bytes))
	buffer := make([]byte, size)
	decoder := frames.Decoder{Buffer: func(n int) []byte { return buffer[:n] }}
	ours := func(text []byte) func() error {
		return func() error { _, err := decoder.DecodeForBrain(text); return err }
	}
	return group{
		title:   fmt.Sprintf("decode and validate a transfer_chunk of %d KiB", size>>10),
		payload: size,
		cases: []one{
			{"the decoder", ours(text)},
			{"the decoder without its fast path", ours(spaced)},
			{"the schema, then Unmarshal", bySchema(compiled, text, new(frames.TransferChunk))},
			{"encoding/json, then Validate", byUnmarshal(text, new(frames.TransferChunk))},
			{"base64 of encoding/base64 alone", func() error {
				_, err := base64.StdEncoding.Decode(buffer[:cap(buffer)], payload)
				return err
			}},
		},
		goals: []goal{{2, 8}, {3, 3}, {4, 3}},
	}, nil
}

// validating is a pointer to a frame.
type validating interface{ Validate() error }

func bySchema(compiled *jsonschema.Schema, text []byte, v validating) func() error {
	return func() error {
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		return errors.Join(compiled.Validate(instance), json.Unmarshal(text, v))
	}
}

func byUnmarshal(text []byte, v validating) func() error {
	return func() error { return errors.Join(json.Unmarshal(text, v), v.Validate()) }
}

func encodeChunk(size int) group {
	frame := randomChunk(size)
	type plain frames.TransferChunk // without our MarshalJSON
	text := make([]byte, 0, 2*size+1024)
	return group{
		title:   fmt.Sprintf("encode a transfer_chunk of %d KiB", size>>10),
		payload: size,
		cases: []one{
			{"AppendJSON", func() error {
				_, err := frame.AppendJSON(text)
				return err
			}},
			{"encoding/json", func() error {
				_, err := json.Marshal((*plain)(frame))
				return err
			}},
			{"base64 of encoding/base64 alone", func() error {
				base64.StdEncoding.Encode(text[:cap(text)], frame.Bytes)
				return nil
			}},
		},
		goals: []goal{{2, 3}},
	}
}

func decodeSmall(set *schema.Set) (group, error) {
	frame := &frames.TransferComplete{TransferID: id}
	text, err := frame.AppendJSON(nil)
	if err != nil {
		return group{}, err
	}
	compiled, err := set.Lookup(completeSchema)
	if err != nil {
		return group{}, err
	}
	var decoder frames.Decoder
	return group{
		title:   fmt.Sprintf("decode and validate a small frame, %s", text),
		payload: len(text),
		cases: []one{
			{"the decoder", func() error { _, err := decoder.DecodeForBrain(text); return err }},
			{"the schema, then Unmarshal", bySchema(compiled, text, new(frames.TransferComplete))},
			{"encoding/json, then Validate", byUnmarshal(text, new(frames.TransferComplete))},
		},
	}, nil
}

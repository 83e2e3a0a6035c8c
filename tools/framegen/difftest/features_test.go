package difftest

import (
	"errors"
	"testing"

	"github.com/vancetope/transfer/gen/api"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

// TestAMemberOfAFeatureThatIsNotInForceIsIgnoredWhateverItHolds guards peers
// that have something of their own under that name.
func TestAMemberOfAFeatureThatIsNotInForceIsIgnoredWhateverItHolds(t *testing.T) {
	const hash = `"hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000"`
	for name, member := range map[string]string{
		"a valid value": `"keep_both"`, "an unknown value": `"ask"`, "another type": `5`, "null": `null`, "an object": `{"a":[1]}`,
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte(transferInit(hash + `,"onExisting":` + member))
			f, err := (&frames.Decoder{}).DecodeForFoot(text)
			if err != nil {
				t.Fatalf("a base connection refuses it: %v", err)
			}
			if got := f.(*frames.TransferInit).OnExisting; got != nil {
				t.Errorf("a base connection reads %q", *got)
			}
			f, err = (&frames.Decoder{Features: frames.FeatureOnExisting}).DecodeForFoot(text)
			var e *frames.DecodeError
			switch {
			case member == `"keep_both"`:
				if err != nil || *f.(*frames.TransferInit).OnExisting != "keep_both" {
					t.Errorf("in force it reads %v, %v", f, err)
				}
			case !errors.As(err, &e) || e.Place != "/onExisting":
				t.Errorf("in force it is taken: %v, %v", f, err)
			}
		})
	}
}

func TestAMemberOfAFeatureThatIsNotInForceIsStillFoundTwice(t *testing.T) {
	const hash = `"hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000"`
	_, err := (&frames.Decoder{}).DecodeForFoot([]byte(transferInit(hash + `,"onExisting":1,"onExisting":2`)))
	var e *frames.DecodeError
	if !errors.As(err, &e) || !e.DuplicateMember {
		t.Errorf("got %v, want a duplicate member", err)
	}
}

func TestAFrameOfAFeatureThatIsNotInForceIsUnexpected(t *testing.T) {
	for feature, text := range map[frames.FeatureSet]string{
		frames.FeatureProgress: `{"type":"transfer_progress","transferId":"` + someID + `","state":"hashing","bytes":1,"totalBytes":2}`,
		frames.FeatureCancel:   `{"type":"transfer_cancel","transferId":"` + someID + `","reason":"enough"}`,
	} {
		for _, decode := range []func(*frames.Decoder, []byte) (frames.Frame, error){(*frames.Decoder).DecodeForBrain, (*frames.Decoder).DecodeForFoot} {
			_, err := decode(&frames.Decoder{}, []byte(text))
			var e *frames.DecodeError
			if !errors.As(err, &e) || e.Code != "unexpected_frame" {
				t.Errorf("%s: got %v, want unexpected_frame", text, err)
			}
			if _, err := decode(&frames.Decoder{Features: feature}, []byte(text)); err != nil {
				t.Errorf("%s: in force it is refused: %v", text, err)
			}
		}
	}
}

// TestThePathOfAnotherFeatureIsNotRead: where a file came to lie is told only to
// those who let the receiver choose.
func TestThePathOfAnotherFeatureIsNotRead(t *testing.T) {
	text := []byte(`{"type":"transfer_complete","transferId":"` + someID + `","bytesWritten":1,"hashCheck":"ok","ok":true,"error":null,"path":5}`)
	decode := func(set frames.FeatureSet) error {
		d := frames.Decoder{Features: set}
		if _, err := d.DecodeForBrain(text); err != nil {
			_, err = d.DecodeForFoot(text)
			return err
		}
		return nil
	}
	if err := decode(0); err != nil {
		t.Errorf("a base connection refuses it: %v", err)
	}
	if err := decode(frames.FeatureOnExisting); err == nil {
		t.Error("in force it takes a number")
	}
}

func TestALimitOutsideItsBoundsIsRefused(t *testing.T) {
	for limit, valid := range map[int64]bool{0: false, 1: true, 2: true, 999: true, 1000: true, 1001: false} {
		err := (api.ListTransfersParams{Limit: &limit}).Validate()
		if (err == nil) != valid {
			t.Errorf("limit %d: %v", limit, err)
		}
		var refused *common.DecodeError
		if !valid && (!errors.As(err, &refused) || refused.Place != "/limit") {
			t.Errorf("limit %d: the refusal %v names another place than /limit", limit, err)
		}
	}
	if err := (api.ListTransfersParams{}).Validate(); err != nil {
		t.Errorf("no limit: %v", err)
	}
}

package suite

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/schema/vectors"
	"github.com/vancetope/transfer/tools/conformance/peer"
)

// vectorID is the transfer that the vectors speak of.
const vectorID = "01989f2e-7c1a-7b5e-9d3f-2a4b6c8d0e1f"

// spoken are the extensions whose vectors can be tried.
var spoken = frames.FeatureCancel | frames.FeatureOnExisting | frames.FeatureProgress

// vectorRules are the example messages of schema/vectors, each a rule.
var vectorRules = sync.OnceValue(func() []*Rule {
	files, err := vectors.Load(vectors.Files())
	if err != nil {
		panic(err) // they are part of this program, and linted
	}
	var rules []*Rule
	for _, f := range files {
		kind := strings.TrimSuffix(path.Base(f.Name), ".json")
		if f.Name != vectors.General && !strings.HasPrefix(f.Name, "frames/") {
			continue // a tool's
		}
		handshake := kind == "hello" || kind == "welcome"
		for _, role := range []Role{Brain, Foot} {
			mine := f.Name == vectors.General || slices.Contains(f.To, role.String())
			for i := range f.Valid {
				if v := &f.Valid[i]; mine {
					rules = append(rules, validVector(kind, v, role, handshake))
				}
			}
			for i := range f.Invalid {
				if v := &f.Invalid[i]; mine {
					rules = append(rules, invalidVector(kind, v, role, handshake))
				}
			}
			if !mine {
				rules = append(rules, strayVector(kind, &f.Valid[0], role))
			}
		}
	}
	return slices.DeleteFunc(rules, func(r *Rule) bool { return r == nil })
})

// vectorRule names a rule after its vector; both roles have a rule of one name. It
// is nil for extensions that are not spoken here.
func vectorRule(kind, valid string, v *vectors.Vector, role Role) *Rule {
	features := frames.ParseFeatures(v.Features)
	if !spoken.Has(features) || len(features.Names()) != len(v.Features) {
		return nil
	}
	name := strings.NewReplacer("/", " ", "*", "-", "[", "(", "]", ")", "?", "", `\`, "").Replace(v.Name)
	return &Rule{Name: "vector/" + kind + "/" + valid + "/" + name, Role: role, Features: features}
}

func validVector(kind string, v *vectors.Vector, role Role, handshake bool) *Rule {
	r := vectorRule(kind, "valid", v, role)
	if r == nil {
		return nil
	}
	r.Source = "schema/vectors"
	r.Says = "a valid " + kind + " is taken: " + v.Name
	if !handshake {
		r.run = func(c *Check) { c.takes(kind, v) }
		return r
	}
	r.run = func(c *Check) { c.opensWith(v) }
	return r
}

func invalidVector(kind string, v *vectors.Vector, role Role, handshake bool) *Rule {
	r := vectorRule(kind, "invalid", v, role)
	if r == nil {
		return nil
	}
	r.Source = "schema/vectors"
	r.Says = fmt.Sprintf("an invalid %s is refused with %s: %s", kind, v.Code, v.Name)
	code := common.ErrorCode(v.Code)
	if kind == "error" && !unreadable(v) {
		r.Says = "an invalid error is not answered either, and ends nothing: " + v.Name
		r.run = func(c *Check) {
			c.must(c.conn.SendText(v.Bytes()), "sending a vector")
			c.holdsStill()
		}
		return r
	}
	if !handshake {
		r.run = func(c *Check) { c.refusesVector(v, code) }
		return r
	}
	if *v.Place == "/protocolVersion" {
		if role == Foot {
			return nil // it does not come back; handshake/foot-unsupported-version tries one
		}
		code = common.ErrorCodeUnsupportedVersion
	} else {
		code = common.ErrorCodeHandshakeFailed
	}
	r.run = func(c *Check) { c.opensNotWith(v, code) }
	return r
}

// unreadable reports whether a message is so broken that not even its type counts.
func unreadable(v *vectors.Vector) bool { return v.Rule == "syntax" || v.Rule == "duplicate" }

// strayVector is a rule of a frame that this role may not receive.
func strayVector(kind string, v *vectors.Vector, role Role) *Rule {
	r := vectorRule(kind, "wrong direction", v, role)
	if r == nil {
		return nil
	}
	r.Source = "schema/vectors"
	r.Says = "a " + role.String() + " refuses a valid " + kind + ", which is for the other side"
	r.run = func(c *Check) {
		c.must(c.conn.SendText(v.Bytes()), "sending a vector")
		c.awaitError(common.ErrorCodeUnexpectedFrame)
	}
	return r
}

// fill gives a vector a transfer of its own, since a peer remembers for a while
// those that ended.
func fill(v *vectors.Vector) (message []byte, id string) {
	id = uuid.Must(uuid.NewV7()).String()
	return bytes.ReplaceAll(v.Bytes(), []byte(vectorID), []byte(id)), id
}

// takes sends a valid frame of no transfer and checks that it is not its form that
// is refused.
func (c *Check) takes(kind string, v *vectors.Vector) {
	message, id := fill(v)
	c.pace.wait(c.ctx)
	c.must(c.conn.SendText(message), "sending a vector")
	if kind == "error" {
		c.holdsStill()
		return
	}
	m := c.await("an answer", answerTo(id))
	c.tolerable(m)
	if r, ok := m.Frame.(*frames.TransferInitResponse); ok && r.Ok {
		// A Foot begins to receive it: give up.
		c.send(&frames.TransferFinish{TransferID: r.TransferID, Error: ptr("a trial"), ErrorCode: ptr(common.ErrorCodeCancelled)})
	}
}

// answerTo matches what a frame of a transfer that nobody knows can be answered
// with.
func answerTo(id string) func(*peer.Message) bool {
	return func(m *peer.Message) bool {
		switch f := m.Frame.(type) {
		case *frames.ErrorFrame:
			return true
		case *frames.TransferInitResponse:
			return f.TransferID.String() == id
		case *frames.TransferFinish:
			return f.TransferID.String() == id
		}
		return false
	}
}

// tolerable checks that an answer finds no fault with the form of a frame.
func (c *Check) tolerable(m *peer.Message) {
	switch code := codeOf(m.Frame); code {
	case common.ErrorCodeInvalidFrame, common.ErrorCodeUnknownType, common.ErrorCodeUnexpectedFrame, common.ErrorCodeMalformedChunk,
		common.ErrorCodeChunkTooLarge, common.ErrorCodeHashRequired, common.ErrorCodeInternal:
		c.failf("a valid frame is refused: %s", peer.Brief(m.Raw))
	}
}

func codeOf(f frames.Frame) common.ErrorCode {
	switch f := f.(type) {
	case *frames.ErrorFrame:
		return f.Code
	case *frames.TransferInitResponse:
		return derefCode(f.ErrorCode)
	case *frames.TransferFinish:
		return derefCode(f.ErrorCode)
	}
	return ""
}

// refusesVector sends an invalid frame of no transfer and checks code and place of
// the answer.
func (c *Check) refusesVector(v *vectors.Vector, code common.ErrorCode) {
	message, id := fill(v)
	c.pace.wait(c.ctx)
	c.must(c.conn.SendText(message), "sending a vector")
	m := c.await("an answer", answerTo(id))
	if got := codeOf(m.Frame); got != code {
		c.failf("the refusal has the code %q, want %s: %s", got, code, peer.Brief(m.Raw))
	}
	if code == common.ErrorCodeInvalidFrame && *v.Place != "" && !strings.Contains(textOf(m.Frame), *v.Place) {
		c.failf("the refusal does not name the place %s: %s", *v.Place, peer.Brief(m.Raw))
	}
}

func textOf(f frames.Frame) string {
	switch f := f.(type) {
	case *frames.ErrorFrame:
		return f.Message
	case *frames.TransferInitResponse:
		return deref(f.Error)
	case *frames.TransferFinish:
		return deref(f.Error)
	}
	return ""
}

// opensWith begins a connection with a valid hello or welcome.
func (c *Check) opensWith(v *vectors.Vector) {
	if c.Role == Brain {
		c.disconnect()
		conn, err := c.open()
		c.must(err, "connecting")
		c.conn = conn
		c.must(conn.SendText(v.Bytes()), "sending hello")
		if strings.Contains(string(v.Bytes()), `"footId"`) && !strings.Contains(string(v.Bytes()), `"footId":""`) {
			// The name of the vector is not that of our token.
			m := c.await("an answer", func(*peer.Message) bool { return true })
			if e, ok := m.Frame.(*frames.ErrorFrame); ok && e.Code == common.ErrorCodeIdentityMismatch {
				c.closes(1008, "")
				return
			}
			if _, ok := m.Frame.(*frames.Welcome); !ok {
				c.failf("hello is answered with %s", peer.Brief(m.Raw))
			}
			c.disconnect()
			return
		}
		_, err = conn.AwaitWelcome(c.Patience)
		c.must(err, "the handshake")
		c.disconnect()
		return
	}
	c.disconnect()
	c.openFoot()
	text := strings.NewReplacer(`"tenant": "acme"`, `"tenant":"`+c.Listener.Tenant+`"`, `"tenant":"acme"`, `"tenant":"`+c.Listener.Tenant+`"`).Replace(string(v.Bytes()))
	c.text(text)
	c.must(c.conn.Barrier(c.Patience), "awaiting a pong")
	c.text(`{"type":"x-conformance"}`)
	c.awaitError(common.ErrorCodeUnknownType)
	c.loose = true
	c.disconnect()
}

// opensNotWith begins a connection with an invalid hello or welcome.
func (c *Check) opensNotWith(v *vectors.Vector, code common.ErrorCode) {
	if c.Role == Brain {
		c.apart(func() {
			c.must(c.conn.SendText(v.Bytes()), "sending hello")
			c.awaitError(code)
			c.closes(1008, "")
		})
		return
	}
	c.backAtOnce()
	c.disconnect()
	c.openFoot()
	c.must(c.conn.SendText(v.Bytes()), "sending welcome")
	c.awaitError(code)
	c.closes(1008, "")
}

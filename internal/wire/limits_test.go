package wire

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
	"github.com/vancetope/transfer/internal/fault"
)

// sized returns a valid frame whose message has exactly n bytes.
func sized(t *testing.T, n int) []byte {
	t.Helper()
	message := encoded(t, finish(newID()))
	if len(message) > n {
		t.Fatalf("a frame has %d bytes already", len(message))
	}
	return append(message, bytes.Repeat([]byte{' '}, n-len(message))...)
}

// OpenHands#9504, WebSocket-Node#403: a frame at the limit passes, one above it is
// refused with a code and a reason, at both ends.
func TestFrameAtTheLimitPassesAndOneAboveIsClosedWith1009(t *testing.T) {
	const limit = 64 << 10
	for _, extra := range []int{-1, 0, 1, 100_000} {
		for _, fragmented := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+d at the Brain, fragmented %v", extra, fragmented), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					brain, ws := rawFoot(t, brainOptions{cfg: Config{MaxFrameSize: limit}})
					checkLimit(t, brain, ws, limit+extra, limit, fragmented)
				})
			})
			t.Run(fmt.Sprintf("%+d at the Foot, fragmented %v", extra, fragmented), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b, peers := startRawBrain(t)
					welcomed := make(chan *websocket.Conn, 1)
					go func() {
						ws := <-peers
						ws.ReadMessage()
						ws.WriteMessage(websocket.TextMessage, encoded(t, testWelcome(Config{})))
						welcomed <- ws
					}()
					foot := b.foot(t, Config{MaxFrameSize: limit})
					checkLimit(t, foot, <-welcomed, limit+extra, limit, fragmented)
				})
			})
		}
	}
}

func checkLimit(t *testing.T, c *Conn, ws *websocket.Conn, size, limit int, fragmented bool) {
	t.Helper()
	h := newCollector()
	ended := serve(c, h)
	message := sized(t, size)
	background(t, func() { ws.Close() }, func() {
		if !fragmented {
			ws.WriteMessage(websocket.TextMessage, message)
			return
		}
		w, err := ws.NextWriter(websocket.TextMessage)
		if err != nil {
			return
		}
		for len(message) > 0 {
			n, err := w.Write(message[:min(1000, len(message))])
			if err != nil {
				return
			}
			message = message[n:]
		}
		w.Close()
	})
	if size <= limit {
		h.next(t)
		expectAlive(t, c)
		return
	}
	code, reason := closeOf(t, ws)
	if code != CloseTooBig || !strings.Contains(reason, fmt.Sprint(limit)) {
		t.Fatalf("closed with %d %q", code, reason)
	}
	err := await(t, "Serve's end", ended)
	var closed *CloseError
	if !errors.As(err, &closed) || closed.Code != CloseTooBig || closed.Remote {
		t.Fatal(err)
	}
	if f := fault.From(err); f.Code != common.ErrorCodeConnectionLost || !strings.Contains(f.Text, "max-frame-size") {
		t.Fatal(f)
	}
	if len(h.frames) != 0 {
		t.Fatal("the handler saw it")
	}
}

// modeling-app#9859: 1009 must not look as if nothing had happened.
func TestPeerThatRefusesAFrameAsTooBigIsNamedInTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, foot := pair(t, brainOptions{cfg: Config{MaxFrameSize: 64 << 10}}, Config{})
		serve(brain, newCollector())
		ended := serve(foot, newCollector())
		foot.peerLimit = 0 // as if the welcome had not said
		if err := foot.SendData(t.Context(), newID(), chunk(newID(), 0, 64<<10)); err != nil {
			t.Fatal(err)
		}
		err := await(t, "the Foot's end", ended)
		var closed *CloseError
		if !errors.As(err, &closed) || closed.Code != CloseTooBig || !closed.Remote {
			t.Fatal(err)
		}
		if text := fault.From(err).Text; !strings.Contains(text, "too big") || !strings.Contains(text, "65536") {
			t.Fatal(text)
		}
	})
}

func TestFrameAboveThePeersLimitIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, foot := pair(t, brainOptions{cfg: Config{MaxFrameSize: 64 << 10}}, Config{})
		serve(brain, newCollector())
		serve(foot, newCollector())
		if err := foot.SendData(t.Context(), newID(), chunk(newID(), 0, 64<<10)); fault.CodeOf(err) != common.ErrorCodeInternal {
			t.Fatal(err)
		}
		expectAlive(t, foot)
	})
}

func TestControlFrameAboveItsLimitIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, foot := pair(t, brainOptions{}, Config{})
		long := strings.Repeat("x", MaxControlFrame)
		if err := foot.SendControl(&frames.TransferFinish{TransferID: newID(), Error: &long}); err == nil {
			t.Fatal("it was")
		}
		expectAlive(t, foot)
	})
}

func TestTextThatIsNotUTF8IsClosedWith1007(t *testing.T) {
	for name, text := range map[string]string{
		"a stray byte":       "{\"type\":\"error\",\"code\":\"internal\",\"message\":\"\xff\"}",
		"an overlong slash":  "\xc0\xaf",
		"a surrogate":        "\xed\xa0\x80",
		"a rune cut short":   "{\"type\":\"\xe2\x82",
		"above the last one": "\xf4\x90\x80\x80",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				brain, ws := rawFoot(t, brainOptions{})
				h := newCollector()
				ended := serve(brain, h)
				if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
					t.Fatal(err)
				}
				if code, _ := closeOf(t, ws); code != CloseInvalidUTF8 {
					t.Fatalf("closed with %d", code)
				}
				await(t, "Serve's end", ended)
				if len(h.frames)+len(h.invalid) != 0 {
					t.Fatal("the handler saw it")
				}
			})
		})
	}
}

func TestRuneMayLieAcrossFragments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		h := newCollector()
		serve(brain, h)
		text := "euro €"
		message := encoded(t, &frames.TransferFinish{TransferID: newID(), Error: &text})
		w, err := ws.NextWriter(websocket.TextMessage)
		if err != nil {
			t.Fatal(err)
		}
		cutAt := bytes.IndexByte(message, 0xe2) + 1
		for _, piece := range [][]byte{message[:cutAt], bytes.Repeat([]byte(" "), 0), message[cutAt:]} {
			if _, err := w.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if f := h.next(t).(*frames.TransferFinish); *f.Error != text {
			t.Fatalf("%q", *f.Error)
		}
	})
}

func TestBinaryMessageIsAnsweredAndTheConnectionGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		h := newCollector()
		serve(brain, h)
		if err := ws.WriteMessage(websocket.BinaryMessage, []byte{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
		expectError(t, readFrame(t, ws), common.ErrorCodeInvalidFrame)
		if err := ws.WriteMessage(websocket.TextMessage, encoded(t, finish(newID()))); err != nil {
			t.Fatal(err)
		}
		h.next(t)
	})
}

func TestUnusableFrameIsAnsweredUnlessTheHandlerDid(t *testing.T) {
	for _, answered := range []bool{false, true} {
		t.Run(fmt.Sprint("answered ", answered), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				brain, ws := rawFoot(t, brainOptions{})
				h := newCollector()
				h.answer = answered
				serve(brain, h)
				if err := ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"no_such_frame"}`)); err != nil {
					t.Fatal(err)
				}
				if e := await(t, "the handler's turn", h.invalid); e.Code != common.ErrorCodeUnknownType {
					t.Fatal(e)
				}
				synctest.Wait() // until the handler's answer was taken
				brain.SendControl(finish(newID()))
				f := readFrame(t, ws)
				if answered {
					if f.FrameType() != frames.FrameTypeTransferFinish {
						t.Fatalf("got %s", f.FrameType())
					}
					return
				}
				expectError(t, f, common.ErrorCodeUnknownType)
			})
		})
	}
}

func TestHandlersErrorIsAnsweredWithItsTransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		h := newCollector()
		h.err = func(frames.Frame) error { return fault.New(common.ErrorCodeUnknownTransfer) }
		serve(brain, h)
		id := newID()
		if err := ws.WriteMessage(websocket.TextMessage, encoded(t, finish(id))); err != nil {
			t.Fatal(err)
		}
		f := readFrame(t, ws)
		expectError(t, f, common.ErrorCodeUnknownTransfer)
		if e := f.(*frames.ErrorFrame); e.TransferID == nil || *e.TransferID != id {
			t.Fatalf("%+v", e)
		}
	})
}

func TestHandlersPanicIsAnErrorOfItsFrameAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		h := newCollector()
		h.err = func(frames.Frame) error { panic("oops") }
		serve(brain, h)
		for range 2 {
			if err := ws.WriteMessage(websocket.TextMessage, encoded(t, finish(newID()))); err != nil {
				t.Fatal(err)
			}
			f := readFrame(t, ws)
			expectError(t, f, common.ErrorCodeInternal)
			if strings.Contains(f.(*frames.ErrorFrame).Message, "oops") {
				t.Fatal("the peer was told")
			}
		}
	})
}

// Message buffers are reused; what was decoded from one must not change with it.
func TestFrameOutlivesTheBufferOfItsMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		h := newCollector()
		serve(brain, h)
		source, dir, hash := "source.txt", "dir", "sha256:"+strings.Repeat("0a", 32)
		mode := "0644"
		init := &frames.TransferInit{
			Type: frames.FrameTypeTransferInit, TransferID: newID(), Source: &source, Target: "a/target.txt", DirName: &dir,
			TotalSize: 3, Hash: &hash, Attrs: &common.FileAttrs{Mode: &mode},
		}
		data := &frames.TransferChunk{Type: frames.FrameTypeTransferChunk, TransferID: newID(), Bytes: []byte("abc")}
		for _, f := range []frames.Frame{init, data} {
			if err := ws.WriteMessage(websocket.TextMessage, encoded(t, f)); err != nil {
				t.Fatal(err)
			}
		}
		got := []frames.Frame{h.next(t), h.next(t)}
		for range 20 {
			noise := append([]byte(`{"type":"`), bytes.Repeat([]byte{'z'}, 4000)...)
			if err := ws.WriteMessage(websocket.TextMessage, append(noise, `"}`...)); err != nil {
				t.Fatal(err)
			}
			await(t, "the noise", h.invalid)
			readFrame(t, ws)
		}
		if diff := cmp.Diff([]frames.Frame{init, data}, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestErrorFrameIsNeverAnsweredWithOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		h := newCollector()
		h.err = func(frames.Frame) error { return fault.New(common.ErrorCodeInternal) }
		serve(brain, h)
		for _, message := range [][]byte{
			encoded(t, &frames.ErrorFrame{Code: common.ErrorCodeInternal, Message: "x"}),
		} {
			if err := ws.WriteMessage(websocket.TextMessage, message); err != nil {
				t.Fatal(err)
			}
		}
		h.next(t)
		synctest.Wait()
		brain.invalid(h, &frames.DecodeError{Code: common.ErrorCodeInvalidFrame, Type: frames.FrameTypeError})
		brain.SendControl(finish(newID()))
		if f := readFrame(t, ws); f.FrameType() != frames.FrameTypeTransferFinish {
			t.Fatalf("got %s", f.FrameType())
		}
		if len(h.invalid) != 0 {
			t.Fatal("a broken error frame reached the handler")
		}
	})
}

func TestAtMostFiftyErrorFramesGoOutInAnySecondAndTheRestAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		brain, ws := rawFoot(t, brainOptions{cfg: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}})
		ended := serve(brain, newCollector())
		var arrived []time.Time
		background(t, func() { ws.Close() }, func() {
			for {
				_, message, err := ws.ReadMessage()
				if err != nil {
					return
				}
				if f, err := new(frames.Decoder).DecodeForFoot(message); err != nil || f.FrameType() != frames.FrameTypeError {
					t.Errorf("got %s", message)
				}
				arrived = append(arrived, time.Now())
			}
		})
		const sent = 1000
		for range sent {
			if err := ws.WriteMessage(websocket.TextMessage, []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond) // five seconds in all
		}
		synctest.Wait()
		for i := range arrived {
			if i >= maxErrorsPerSecond && arrived[i].Sub(arrived[i-maxErrorsPerSecond]) < time.Second {
				t.Fatalf("51 error frames within %v", arrived[i].Sub(arrived[i-maxErrorsPerSecond]))
			}
		}
		if n := len(arrived); n < 4*maxErrorsPerSecond || n > 6*maxErrorsPerSecond {
			t.Fatalf("%d error frames in five seconds", n)
		}
		if brain.DroppedErrors() != sent-len(arrived) {
			t.Fatalf("%d arrived and %d were dropped of %d", len(arrived), brain.DroppedErrors(), sent)
		}
		ws.Close()
		await(t, "Serve's end", ended)
		if n := strings.Count(log.String(), "too many unusable frames"); n != 1 {
			t.Fatalf("the limit is logged %d times", n)
		}
	})
}

func TestFloodOfPingsIsAnsweredInBoundedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brain, ws := rawFoot(t, brainOptions{})
		h := newCollector()
		serve(brain, h)
		// The peer pings without ever reading, so that no pong gets out.
		for range 20000 {
			if err := ws.WriteControl(websocket.PingMessage, []byte("ping"), time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if control, data := brain.out.backlog(); control != 0 || data != 0 {
			t.Fatalf("%d and %d frames are queued", control, data)
		}
		if err := ws.WriteMessage(websocket.TextMessage, encoded(t, finish(newID()))); err != nil {
			t.Fatal(err)
		}
		h.next(t)
		expectAlive(t, brain)
	})
}

func TestPeerThatDoesNotReadItsAnswersLosesItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		brain, _ := rawFoot(t, brainOptions{cfg: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}})
		ended := serve(brain, newCollector())
		n := 0
		for ; brain.SendControl(finish(newID())) == nil; n++ {
			if n > maxControlFrames+1 {
				t.Fatal("the queue has no bound")
			}
		}
		if n < maxControlFrames {
			t.Fatalf("closed after %d frames", n)
		}
		var closed *CloseError
		if err := await(t, "Serve's end", ended); !errors.As(err, &closed) || closed.Code != ClosePolicy {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "does not read") {
			t.Fatal("nothing in the log")
		}
	})
}

func TestProtocolViolationOfTheWebSocketEndsTheConnection(t *testing.T) {
	for name, raw := range map[string][]byte{
		"a frame without mask":  {0x81, 0x02, '{', '}'},
		"an unknown opcode":     {0x83, 0x80, 0, 0, 0, 0},
		"a reserved bit":        {0xc1, 0x80, 0, 0, 0, 0},
		"a fragmented ping":     {0x09, 0x80, 0, 0, 0, 0},
		"a continuation alone":  {0x80, 0x80, 0, 0, 0, 0},
		"a length of 2^63":      {0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"a close code of 1006":  {0x88, 0x82, 0, 0, 0, 0, 0x03, 0xee},
		"a close frame of 1 B":  {0x88, 0x81, 0, 0, 0, 0, 0x03},
		"a close with no UTF-8": {0x88, 0x83, 0, 0, 0, 0, 0x03, 0xe8, 0xff},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				brain, ws := rawFoot(t, brainOptions{})
				drain(t, ws)
				ended := serve(brain, newCollector())
				if _, err := ws.NetConn().Write(raw); err != nil {
					t.Fatal(err)
				}
				if err := await(t, "Serve's end", ended); fault.CodeOf(err) != common.ErrorCodeConnectionLost {
					t.Fatal(err)
				}
			})
		})
	}
}

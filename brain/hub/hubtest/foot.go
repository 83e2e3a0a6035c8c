// Package hubtest plays a Foot in tests of the Brain: a WebSocket that sends
// exactly the frames a test scripts and hands over each one it receives. It has
// no file system and obeys no rule by itself, so that it can break every one.
package hubtest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/gen/frames"
)

// Patience bounds every wait of a test.
const Patience = 10 * time.Second

// Foot is one scripted connection.
type Foot struct {
	Welcome *frames.Welcome

	t        testing.TB
	conn     *websocket.Conn
	received chan frames.Frame
	closed   chan struct{} // closed after the last frame
	closeErr error         // why the reading ended; read after closed
}

// Request asks for the WebSocket of a tenant and returns what the server said.
func Request(url, tenant, token string, protocols ...string) (*websocket.Conn, *http.Response, error) {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	dialer := websocket.Dialer{Subprotocols: protocols, HandshakeTimeout: Patience}
	return dialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/brain/"+tenant+"/ws", header)
}

// Hello is the hello of an ordinary Foot.
func Hello() *frames.Hello {
	return &frames.Hello{
		ProtocolVersion: 1,
		ClientVersion:   "test",
		Os:              common.OsLinux,
		Access:          common.AccessEdit,
		Grants:          []common.Grant{},
		Features:        []string{},
	}
}

// Dial connects a Foot and goes through the handshake.
func Dial(t testing.TB, url, tenant, token string) *Foot {
	t.Helper()
	f := DialSilent(t, url, tenant, token)
	f.Send(Hello())
	f.Welcome = Next[*frames.Welcome](f)
	return f
}

// DialWith connects a Foot that offers these extensions.
func DialWith(t testing.TB, url, tenant, token string, features ...string) *Foot {
	t.Helper()
	f := dial(t, url, tenant, token, frames.ParseFeatures(features))
	hello := Hello()
	hello.Features = features
	f.Send(hello)
	f.Welcome = Next[*frames.Welcome](f)
	return f
}

// DialSilent connects a Foot that has not said hello yet.
func DialSilent(t testing.TB, url, tenant, token string) *Foot {
	t.Helper()
	return dial(t, url, tenant, token, 0)
}

func dial(t testing.TB, url, tenant, token string, features frames.FeatureSet) *Foot {
	t.Helper()
	conn, _, err := Request(url, tenant, token, "vancetope.v1")
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	f := &Foot{t: t, conn: conn, received: make(chan frames.Frame, 1024), closed: make(chan struct{})}
	go f.read(features)
	t.Cleanup(f.Cut)
	return f
}

func (f *Foot) read(features frames.FeatureSet) {
	defer close(f.closed)
	decoder := frames.Decoder{Features: features}
	for {
		_, message, err := f.conn.ReadMessage()
		if err != nil {
			f.closeErr = err
			return
		}
		frame, err := decoder.DecodeForFoot(message)
		if err != nil {
			f.closeErr = err
			return
		}
		f.received <- frame
	}
}

// Send sends a frame as it is.
func (f *Foot) Send(frame frames.Frame) {
	f.t.Helper()
	message, err := frame.AppendJSON(nil)
	if err != nil {
		f.t.Fatalf("encode %s: %v", frame.FrameType(), err)
	}
	f.SendText(string(message))
}

// SendText sends a text message as it is.
func (f *Foot) SendText(message string) {
	f.t.Helper()
	if err := f.conn.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		f.t.Fatalf("send: %v", err)
	}
}

// Cut ends the TCP connection without a close frame.
func (f *Foot) Cut() {
	_ = f.conn.NetConn().Close() // it may be closed already
	<-f.closed
}

// Closed waits for the end of the connection and returns the close code and
// reason, or 1006 when it ended without a close frame.
func (f *Foot) Closed() (code int, reason string) {
	f.t.Helper()
	select {
	case <-f.closed:
	case <-time.After(Patience):
		f.t.Fatal("the connection was not closed")
	}
	if ce, ok := f.closeErr.(*websocket.CloseError); ok {
		return ce.Code, ce.Text
	}
	return websocket.CloseAbnormalClosure, f.closeErr.Error()
}

// Next waits for the next frame, which must be a T.
func Next[T frames.Frame](f *Foot) T {
	f.t.Helper()
	var none T
	select {
	case frame := <-f.received:
		want, ok := frame.(T)
		if !ok {
			f.t.Fatalf("got frame %s %+v, want a %T", frame.FrameType(), frame, none)
		}
		return want
	case <-f.closed:
		select { // a frame that came before the end still counts
		case frame := <-f.received:
			if want, ok := frame.(T); ok {
				return want
			}
		default:
		}
		f.t.Fatalf("the connection ended (%v), want a %T", f.closeErr, none)
	case <-time.After(Patience):
		f.t.Fatalf("no frame came, want a %T", none)
	}
	return none
}

// Await waits for the next T and passes over everything else.
func Await[T frames.Frame](f *Foot) T {
	f.t.Helper()
	for timeout := time.After(Patience); ; {
		select {
		case frame := <-f.received:
			if want, ok := frame.(T); ok {
				return want
			}
		case <-f.closed:
			var none T
			f.t.Fatalf("the connection ended (%v), want a %T", f.closeErr, none)
		case <-timeout:
			var none T
			f.t.Fatalf("no %T came", none)
		}
	}
}

// Quiet fails the test when a frame has arrived that nobody asked for.
func (f *Foot) Quiet() {
	f.t.Helper()
	select {
	case frame := <-f.received:
		f.t.Fatalf("unexpected frame %s %+v", frame.FrameType(), frame)
	default:
	}
}

// Hash is the hash of a content as frames carry it.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Offer answers an upload request with the init of content.
func (f *Foot) Offer(r *frames.ClientFileUploadRequest, content []byte) *frames.TransferInit {
	f.t.Helper()
	hash := Hash(content)
	init := &frames.TransferInit{
		TransferID: r.TransferID,
		Target:     r.RemotePath,
		DirName:    &r.DirName,
		TotalSize:  int64(len(content)),
		Hash:       &hash,
	}
	f.Send(init)
	return init
}

// Stream sends content as chunks of at most size bytes.
func (f *Foot) Stream(id common.TransferID, content []byte, size int) {
	f.t.Helper()
	for seq := int64(0); ; seq++ {
		n := min(size, len(content))
		f.Send(&frames.TransferChunk{TransferID: id, Seq: seq, Bytes: content[:n], Last: n == len(content)})
		if content = content[n:]; len(content) == 0 {
			return
		}
	}
}

// Upload plays a whole upload of content as a correct Foot does.
func (f *Foot) Upload(content []byte) *frames.TransferComplete {
	f.t.Helper()
	r := Next[*frames.ClientFileUploadRequest](f)
	f.Offer(r, content)
	if a := Next[*frames.TransferInitResponse](f); !a.Ok {
		f.Send(&frames.TransferFinish{TransferID: r.TransferID, Error: a.Error, ErrorCode: a.ErrorCode})
		return nil
	}
	f.Stream(r.TransferID, content, 64<<10)
	done := Next[*frames.TransferComplete](f)
	f.Send(&frames.TransferFinish{TransferID: r.TransferID, Ok: done.Ok, Error: done.Error, ErrorCode: done.ErrorCode})
	return done
}

// Download plays the receiving of a whole file as a correct Foot does.
func (f *Foot) Download() (*frames.TransferInit, []byte) {
	f.t.Helper()
	init := Next[*frames.TransferInit](f)
	f.Send(&frames.TransferInitResponse{TransferID: init.TransferID, Ok: true})
	var content []byte
	for last := false; !last; {
		chunk := Next[*frames.TransferChunk](f)
		content = append(content, chunk.Bytes...)
		last = chunk.Last
	}
	check := frames.HashCheckOk
	f.Send(&frames.TransferComplete{TransferID: init.TransferID, Ok: true, BytesWritten: int64(len(content)), HashCheck: &check})
	Next[*frames.TransferFinish](f)
	return init, content
}

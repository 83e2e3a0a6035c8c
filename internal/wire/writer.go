package wire

import (
	"time"

	"github.com/gorilla/websocket"
)

// fragmentSize is the largest piece of a message between two of which a ping or a
// pong can go. At 10 kB/s one takes less than seven seconds.
const fragmentSize = 64 << 10

// writeLoop is the one goroutine that writes. It ends after the close frame or
// with the connection.
func (c *Conn) writeLoop() {
	for {
		j := c.out.next()
		if j.kind == jobNone {
			select {
			case <-c.out.wake:
				continue
			case <-c.gone:
				return
			}
		}
		if err := c.write(j); err != nil {
			if err != websocket.ErrCloseSent { // else the reader met a protocol error and says so
				c.lost(lost(err, "writing failed"))
			}
			return
		}
		if j.kind == jobClose {
			c.closeSent()
			return
		}
	}
}

func (c *Conn) write(j job) error {
	switch j.kind {
	case jobPong:
		return c.ws.WriteControl(websocket.PongMessage, j.payload, time.Time{})
	case jobPing:
		return c.ws.WriteControl(websocket.PingMessage, nil, time.Time{})
	case jobClose:
		return c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(j.code, j.reason), time.Time{})
	default:
		err := c.writeMessage(j.payload)
		PutBuffer(j.payload)
		return err
	}
}

// writeMessage writes a text message in fragments and lets the keepalive in
// between.
func (c *Conn) writeMessage(message []byte) error {
	if c.cfg.Tap != nil {
		c.cfg.Tap(Sent, message)
	}
	if len(message) <= fragmentSize {
		return c.ws.WriteMessage(websocket.TextMessage, message)
	}
	w, err := c.ws.NextWriter(websocket.TextMessage)
	if err != nil {
		return err
	}
	for len(message) > 0 {
		piece := message[:min(len(message), fragmentSize)]
		message = message[len(piece):]
		if _, err := w.Write(piece); err != nil {
			return err
		}
		for j := c.out.urgent(); j.kind != jobNone; j = c.out.urgent() {
			if err := c.write(j); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// Package wire owns one WebSocket connection between a Foot and a Brain, from
// either side: dialing or accepting it, the handshake of hello and welcome, the
// one goroutine that writes, the reading loop, keepalive, and the reasons for
// which a connection ends.
//
// It knows frames only as things that can be encoded, decoded and put in a
// lane. It refuses to know transfers: what a frame means is the Handler's, and a
// frame that cannot be used is answered here with an error frame at most.
//
// Three rules hold everything together:
//
//   - One goroutine writes. Control frames go before data frames, data frames are
//     served round robin among their streams, and pongs and pings slip in between
//     the fragments of a long message.
//   - The goroutine that reads never waits for the one that writes. A pong is left
//     in a slot, a control frame in a bounded queue; a peer that makes the queue
//     overflow loses its connection.
//   - Life is measured in bytes, not in messages. A long message that trickles in
//     keeps its connection, and so does a slow peer that goes on taking bytes; a
//     peer that does neither for two ping intervals is dead.
package wire

package bridge

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// ids give the requests of the client ids of our own while they are under way: the
// SDK takes an id for a whole number, and a client that sent 1.5 or one beyond 2^53
// would not know its answer again. To the client its own go back, byte by byte.
type ids struct {
	mu     sync.Mutex
	last   uint64
	theirs map[string]json.RawMessage // by ours
	ours   map[string]string          // by theirs
}

func newIDs() *ids {
	return &ids{theirs: map[string]json.RawMessage{}, ours: map[string]string{}}
}

// take gives a message that came as line our id, and a cancellation that of the
// request which it means.
func (i *ids) take(m jsonrpc.Message, line []byte) error {
	r, ok := m.(*jsonrpc.Request)
	switch {
	case !ok:
		return nil // it answers a request of ours
	case r.IsCall():
		return i.begin(r, line)
	case r.Method == "notifications/cancelled":
		return i.point(r)
	}
	return nil
}

func (i *ids) begin(r *jsonrpc.Request, line []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last++
	our := strconv.FormatUint(i.last, 10)
	id, err := jsonrpc.MakeID(our)
	if err != nil {
		return err
	}
	theirs := bytes.Clone(members["id"])
	i.theirs[our], i.ours[string(theirs)] = theirs, our
	r.ID = id
	return nil
}

func (i *ids) point(r *jsonrpc.Request) error {
	var params map[string]json.RawMessage
	if json.Unmarshal(r.Params, &params) != nil {
		return nil // the SDK says what is wrong with it
	}
	i.mu.Lock()
	our, known := i.ours[string(params["requestId"])]
	i.mu.Unlock()
	if !known {
		our = "none" // it is answered already
	}
	params["requestId"] = json.RawMessage(strconv.Quote(our))
	text, err := json.Marshal(params)
	r.Params = text
	return err
}

// giveBack puts the client's own id into the text of an answer.
func (i *ids) giveBack(answer *jsonrpc.Response, text []byte) ([]byte, error) {
	our, _ := answer.ID.Raw().(string)
	i.mu.Lock()
	theirs, known := i.theirs[our]
	delete(i.theirs, our)
	if i.ours[string(theirs)] == our {
		delete(i.ours, string(theirs))
	}
	i.mu.Unlock()
	if !known {
		return text, nil
	}
	var wire struct {
		Version json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   json.RawMessage `json:"error,omitempty"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return nil, err
	}
	wire.ID = theirs
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(wire)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

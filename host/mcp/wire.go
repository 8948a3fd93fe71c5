package mcp

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Bounds on what a server may leave open.
const (
	maxDropped   = 1024 // cancelled requests whose answer may still come
	maxAsked     = 64   // requests of the server without our answer
	maxRequestID = 256  // bytes of an id of the server
)

// Methods that the wire treats in ways of its own.
const (
	methodToolsCall    = "tools/call"
	methodToolsList    = "tools/list"
	noteCancelled      = "notifications/cancelled"
	noteProgress       = "notifications/progress"
	noteMessage        = "notifications/message"
	noteToolsChanged   = "notifications/tools/list_changed"
	notePromptsChanged = "notifications/prompts/list_changed"
	noteResChanged     = "notifications/resources/list_changed"
)

// wire checks all messages of one connection, both ways: it knows which of our requests
// are open, and hands the SDK nothing that is not strict JSON-RPC and expected. Results
// of calls are kept from the SDK and given to the caller as they came. It is safe for
// concurrent use.
type wire struct {
	unasked  *unasked // what the server may say unasked
	keepList bool     // the SDK needs the tools of tools/list, for headers
	changed  func()
	log      func(level, text string)

	mu       sync.Mutex
	last     int64               // the highest id that we sent
	pending  map[int64]*exchange // our requests without an answer
	dropped  map[int64]struct{}
	order    []int64             // of dropped, oldest first
	asked    map[string]struct{} // the server's requests without our answer, by the text of their id
	progress map[string]*call
	token    int64
}

type exchange struct {
	method string
	call   *call
}

func newWire(keepList bool, changed func(), log func(level, text string)) *wire {
	return &wire{
		keepList: keepList, changed: changed, log: log,
		pending: map[int64]*exchange{}, dropped: map[int64]struct{}{}, asked: map[string]struct{}{}, progress: map[string]*call{},
	}
}

// outgoing notes a message that is about to be sent. ctx is that of its call.
func (w *wire) outgoing(ctx context.Context, msg jsonrpc.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch m := msg.(type) {
	case *jsonrpc.Response:
		id, err := json.Marshal(m.ID.Raw())
		if err != nil {
			return err
		}
		delete(w.asked, string(id))
	case *jsonrpc.Request:
		id, isCall := m.ID.Raw().(int64)
		if !isCall {
			if m.Method == noteCancelled {
				w.cancelled(m.Params)
			}
			return nil
		}
		c := callFrom(ctx)
		w.pending[id] = &exchange{method: m.Method, call: c}
		w.last = max(w.last, id)
		if c != nil {
			c.send(id)
		}
	}
	return nil
}

func (w *wire) cancelled(params json.RawMessage) {
	var p struct {
		ID int64 `json:"requestId"`
	}
	if json.Unmarshal(params, &p) == nil { // our own text
		w.drop(p.ID)
	}
}

// drop says that nobody waits for an answer any longer. The caller holds mu.
func (w *wire) drop(id int64) {
	if _, open := w.pending[id]; !open {
		return
	}
	delete(w.pending, id)
	if len(w.order) >= maxDropped {
		delete(w.dropped, w.order[0])
		w.order = w.order[1:]
	}
	w.dropped[id] = struct{}{}
	w.order = append(w.order, id)
}

// done forgets a call that is over, whatever became of it.
func (w *wire) done(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range c.sentIDs() {
		w.drop(id)
	}
	if c.token != "" {
		delete(w.progress, c.token)
	}
}

// watch gives a progress token for a call.
func (w *wire) watch(c *call) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.token++
	c.token = strconv.FormatInt(w.token, 10)
	w.progress[c.token] = c
	return w.token
}

// incoming checks one message of the server. What it gives is for the SDK; nil means that
// the message was handled here. An error is a violation of the protocol, or a flood: the
// connection has to end. It waits where the server said too much, and is called by who
// reads from the server.
func (w *wire) incoming(data []byte) (jsonrpc.Message, error) {
	e, err := decodeEnvelope(data)
	if err != nil {
		return nil, err
	}
	switch e.kind() {
	case kindResponse:
		return w.response(e)
	case kindRequest:
		msg, err := w.request(e)
		return w.paid(msg, err, len(data))
	default:
		msg, err := w.notification(e)
		return w.paid(msg, err, len(data))
	}
}

// paid is a message that nobody asked for, once the server's budget has room for it.
func (w *wire) paid(msg jsonrpc.Message, err error, size int) (jsonrpc.Message, error) {
	if err == nil {
		err = w.unasked.message(size)
	}
	if err != nil {
		return nil, err
	}
	return msg, nil
}

func (w *wire) response(e *envelope) (jsonrpc.Message, error) {
	id, err := e.answered()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	x, open := w.pending[id]
	if !open {
		if _, late := w.dropped[id]; late {
			delete(w.dropped, id) // its place in order goes with time
			return nil, nil
		}
		if id <= w.last {
			return nil, protocolError("request %d was answered twice", id)
		}
		return nil, protocolError("an answer to request %d, which was never sent", id)
	}
	delete(w.pending, id)
	rid, err := jsonrpc.MakeID(float64(id))
	if err != nil {
		return nil, err
	}
	out := &jsonrpc.Response{ID: rid, Result: e.Result}
	if e.Error != nil {
		wireErr, err := e.failure()
		if err != nil {
			return nil, err
		}
		if x.call != nil {
			x.call.answered(wireErr)
		}
		out.Error = wireErr
		return out, nil
	}
	if x.call != nil {
		x.call.finish(e.Result)
		out.Result, err = w.forSDK(x.method, e.Result)
	}
	return out, err
}

// forSDK is what the SDK gets in place of a result that the caller reads itself: nothing
// that a server wrote, and no permission to remember it.
func (w *wire) forSDK(method string, result json.RawMessage) (json.RawMessage, error) {
	switch method {
	case methodToolsList:
		if w.keepList {
			return forHeaders(result)
		}
		return json.RawMessage(`{"tools":[]}`), nil
	case "resources/list":
		return json.RawMessage(`{"resources":[]}`), nil
	case "resources/templates/list":
		return json.RawMessage(`{"resourceTemplates":[]}`), nil
	case "resources/read":
		return json.RawMessage(`{"contents":[]}`), nil
	case "prompts/list":
		return json.RawMessage(`{"prompts":[]}`), nil
	case "prompts/get":
		return json.RawMessage(`{"messages":[]}`), nil
	case methodToolsCall:
		return json.RawMessage(`{"content":[]}`), nil
	default:
		return result, nil
	}
}

// forHeaders is a page of tools as the SDK needs it to fill in HTTP headers: names and
// schemas that were checked. Without a time to live it asks each time.
func forHeaders(result json.RawMessage) (json.RawMessage, error) {
	items, _, err := decodePage(result, "tools")
	if err != nil {
		return nil, err
	}
	type entry struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"inputSchema"`
	}
	page := map[string][]entry{"tools": {}}
	for _, raw := range items {
		if t, err := decodeTool(raw, func(string) {}); err == nil {
			input := t.Parameters
			if t.Checked != nil {
				input = t.Checked
			}
			page["tools"] = append(page["tools"], entry{t.Name, input})
		}
	}
	return marshal(page)
}

// request is one of the server's own. The SDK answers it, with a refusal unless it is a
// ping; see refuse.
func (w *wire) request(e *envelope) (jsonrpc.Message, error) {
	key, id, err := e.asking()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, twice := w.asked[key]; twice {
		return nil, protocolError("two open requests of the server have the id %s", plaintext.Clip(key, 40))
	}
	if len(w.asked) >= maxAsked {
		return nil, protocolError("more than %d open requests of the server", maxAsked)
	}
	w.asked[key] = struct{}{}
	if e.method != "ping" {
		// Whatever it asks is refused: its parameters are nobody's business.
		e.Params = json.RawMessage(`{}`)
	}
	return &jsonrpc.Request{ID: id, Method: e.method, Params: e.Params}, nil
}

package gateway

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// envelope is what the checks need to know of a message.
type envelope struct {
	method string
	id     json.RawMessage // nil for a notification
	// version is the protocol version in _meta, where a request says it.
	version string
}

// metaVersion is the member of _meta with the protocol version (MCP 2026-07-28).
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// maxID bounds the id of a request: it is kept, and sent back.
const maxID = 256

// checkMessage checks a JSON-RPC message before the SDK sees it: strict JSON without
// duplicate members, one message and no batch, no member of the protocol's own in
// another case beside or in place of the right one (decoders differ in whether they
// take it), an id that is a string or an integer.
func checkMessage(text []byte) (*envelope, error) {
	if err := schema.Check(text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	top, err := members(text, "the message", "jsonrpc", "id", "method", "params", "result", "error")
	if err != nil {
		return nil, err
	}
	if string(top["jsonrpc"]) != `"2.0"` {
		return nil, fmt.Errorf(`%w: jsonrpc is not "2.0"`, ErrMessage)
	}
	e := &envelope{id: top["id"]}
	if e.id != nil {
		if err := checkID(e.id); err != nil {
			return nil, err
		}
	}
	raw, isCall := top["method"]
	_, hasResult := top["result"]
	_, hasError := top["error"]
	if isCall == (hasResult || hasError) || hasResult && hasError {
		return nil, fmt.Errorf("%w: it is neither a request nor a response", ErrMessage)
	}
	if !isCall {
		if e.id == nil {
			return nil, fmt.Errorf("%w: a response without an id", ErrMessage)
		}
		if hasResult {
			_, err = members(top["result"], "the result", "action", "content", "_meta")
		}
		return e, err
	}
	if json.Unmarshal(raw, &e.method) != nil || e.method == "" {
		return nil, fmt.Errorf("%w: method is no string", ErrMessage)
	}
	params, has := top["params"]
	if !has {
		return e, nil
	}
	return e, e.checkParams(params)
}

// checkParams checks the members of params that the protocol itself reads.
func (e *envelope) checkParams(params json.RawMessage) error {
	in, err := members(params, "params", "_meta", "name", "arguments", "cursor", "inputResponses", "requestState", "requestId", "progressToken", "capabilities", "clientInfo", "protocolVersion", "callId", "value", "error")
	if err != nil {
		return err
	}
	if raw, has := in["_meta"]; has {
		meta, err := members(raw, "_meta", "progressToken", metaVersion)
		if err != nil {
			return err
		}
		if raw, has := meta[metaVersion]; has && json.Unmarshal(raw, &e.version) != nil {
			return fmt.Errorf("%w: the protocol version in _meta is no string", ErrMessage)
		}
	}
	if raw, has := in["inputResponses"]; has {
		answers, err := members(raw, "inputResponses")
		if err != nil {
			return err
		}
		for _, answer := range answers {
			if _, err := members(answer, "an input response", "action", "content", "role", "roots", "_meta"); err != nil {
				return err
			}
		}
	}
	return nil
}

// members reads an object and refuses known members in another case.
func members(text []byte, what string, known ...string) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(text, &m); err != nil || m == nil {
		return nil, fmt.Errorf("%w: %s is no object", ErrMessage, what)
	}
	for name := range m {
		for _, k := range known {
			if name != k && strings.EqualFold(name, k) {
				return nil, fmt.Errorf("%w: %s has %q; it is written %q", ErrMessage, what, plaintext.Line(name, 80), k)
			}
		}
	}
	return m, nil
}

func checkID(id json.RawMessage) error {
	bad := len(id) > maxID
	if !bad && id[0] != '"' {
		var n int64
		bad = json.Unmarshal(id, &n) != nil || string(id) == "null"
	}
	if bad {
		return fmt.Errorf("%w: id is neither a string nor an integer, or is too long", ErrMessage)
	}
	return nil
}

// refusal is the JSON-RPC answer to a message that is not let through. Its id, if it
// has one, cannot be relied on.
func refusal(why error) ([]byte, error) {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{
		"code": jsonrpc.CodeInvalidRequest, "message": plaintext.Line(why.Error(), 500),
	}})
	if err != nil {
		return nil, fmt.Errorf("writing a refusal: %w", err)
	}
	return text, nil
}

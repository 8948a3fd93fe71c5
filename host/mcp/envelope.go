package mcp

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// envelope is one JSON-RPC message. Members are nil if they are absent.
type envelope struct {
	Version json.RawMessage            `json:"jsonrpc"`
	ID      json.RawMessage            `json:"id"`
	Method  json.RawMessage            `json:"method"`
	Params  json.RawMessage            `json:"params"`
	Result  json.RawMessage            `json:"result"`
	Error   json.RawMessage            `json:"error"`
	Other   map[string]json.RawMessage `json:",embed"`

	method string
}

const (
	kindNotification = iota
	kindRequest
	kindResponse
)

// decodeEnvelope reads a message strictly: what two readers could understand in two ways
// is refused. That is all of schema.Check (duplicate keys, invalid UTF-8, NUL bytes, more
// than one value, too deep, too many), names that differ from ours by letter case alone,
// and messages that are of two kinds or of none.
func decodeEnvelope(data []byte) (*envelope, error) {
	if err := schema.Check(data); err != nil {
		return nil, protocolError("a message is no strict JSON: %v", err)
	}
	e := &envelope{}
	if err := into(data, e); err != nil {
		return nil, protocolError("a message is no JSON-RPC object: %v", err)
	}
	if name := folded(e.Other, "jsonrpc", "id", "method", "params", "result", "error"); name != "" {
		return nil, protocolError("a message has a member %q, which differs from ours in letter case", name)
	}
	if string(e.Version) != `"2.0"` {
		return nil, protocolError(`a message without "jsonrpc":"2.0"`)
	}
	if e.Method == nil {
		if (e.Result == nil) == (e.Error == nil) {
			return nil, protocolError("a message has no method, and not exactly one of result and error")
		}
		return e, nil
	}
	if e.Result != nil || e.Error != nil {
		return nil, protocolError("a message has a method beside a result or an error")
	}
	if err := into(e.Method, &e.method); err != nil || e.Method[0] != '"' {
		return nil, protocolError("the method of a message is no string")
	}
	if string(e.Params) == "null" {
		e.Params = nil // as good as absent, and some libraries write it
	}
	if e.Params != nil && e.Params[0] != '{' {
		return nil, protocolError("the params of %q are no object", plaintext.Short(e.method, 80))
	}
	return e, nil
}

// into decodes a part of a text that was checked, exact names only.
func into[T any](data []byte, dst *T) error {
	return schema.DecodeInto(data, dst, &schema.DecodeOptions{AllowUnknown: true, Checked: true})
}

// folded gives a member that is one of the known names in another letter case.
func folded(other map[string]json.RawMessage, known ...string) string {
	for name := range other {
		for _, k := range known {
			if strings.EqualFold(name, k) {
				return plaintext.Short(name, 40)
			}
		}
	}
	return ""
}

func (e *envelope) kind() int {
	switch {
	case e.Method == nil:
		return kindResponse
	case e.ID != nil:
		return kindRequest
	default:
		return kindNotification
	}
}

// answered is the id of our request that a response is for. We send positive integers:
// 1.0, 1e0 and "1" are not 1.
func (e *envelope) answered() (int64, error) {
	text := string(e.ID)
	if text == "" || text == "null" {
		what := "an answer without an id"
		if e.Error != nil {
			if f, err := e.failure(); err == nil {
				what += ": " + plaintext.Short(f.Message, 200)
			}
		}
		return 0, protocolError("%s", what)
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != text {
		return 0, protocolError("an answer has the id %s, which was never sent", plaintext.Short(text, 40))
	}
	return id, nil
}

// asking is the id of a request of the server: a string or an integer.
func (e *envelope) asking() (key string, id jsonrpc.ID, err error) {
	if len(e.ID) > maxRequestID {
		return "", id, protocolError("the id of a request has more than %d bytes", maxRequestID)
	}
	var v any
	if e.ID[0] == '"' {
		var s string
		if err := into(e.ID, &s); err != nil {
			return "", id, protocolError("the id of a request: %v", err)
		}
		v = s
	} else {
		n, err := strconv.ParseInt(string(e.ID), 10, 53)
		if err != nil || strconv.FormatInt(n, 10) != string(e.ID) {
			return "", id, protocolError("the id of a request is no string and no integer: %s", plaintext.Short(string(e.ID), 40))
		}
		v = float64(n)
	}
	if id, err = jsonrpc.MakeID(v); err != nil {
		return "", id, protocolError("the id of a request: %v", err)
	}
	canonical, err := json.Marshal(id.Raw())
	return string(canonical), id, err
}

// failure is the error object of a response.
func (e *envelope) failure() (*jsonrpc.Error, error) {
	var f struct {
		Code    int64                      `json:"code"`
		Message string                     `json:"message"`
		Data    json.RawMessage            `json:"data"`
		Other   map[string]json.RawMessage `json:",embed"`
	}
	if err := into(e.Error, &f); err != nil || e.Error[0] != '{' {
		return nil, protocolError("the error of an answer is no object with code and message")
	}
	if name := folded(f.Other, "code", "message", "data"); name != "" {
		return nil, protocolError("an error has a member %q, which differs from ours in letter case", name)
	}
	return &jsonrpc.Error{Code: f.Code, Message: f.Message, Data: f.Data}, nil
}

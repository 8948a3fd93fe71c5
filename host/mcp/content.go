package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// maxContent bounds the items of one result.
const maxContent = 10_000

// badResult is an answer that is strict JSON and not what the protocol says. The
// connection is not at fault.
func badResult(server, format string, args ...any) error {
	return failed(CodeBadResult, ErrProtocol, "the MCP server %s gave a result that cannot be used: %s", server, fmt.Sprintf(format, args...))
}

// asksForInput refuses a result that is a question (2026-07-28, multi round-trip
// requests): there is nobody here to answer it.
func asksForInput(server string, resultType string, requests json.RawMessage) error {
	if resultType != "input_required" && (requests == nil || string(requests) == "null") {
		if resultType != "" && resultType != "complete" {
			return badResult(server, "its resultType %q is not known", plaintext.Short(resultType, 40))
		}
		return nil
	}
	return failed(CodeInput, nil, "the MCP server %s asks for further input of a person or a model, which is off; give it all that it needs in the arguments", server)
}

// decodeCallResult reads the result of a tool. Texts of one that is an error, which becomes an exception that a model reads,
// pass through redact: servers name in them what they were configured with.
func decodeCallResult(server string, raw json.RawMessage, redact func(string) string) (*host.MCPResult, error) {
	var r struct {
		Content    json.RawMessage            `json:"content"`
		Structured json.RawMessage            `json:"structuredContent"`
		IsError    bool                       `json:"isError"`
		Type       string                     `json:"resultType"`
		Requests   json.RawMessage            `json:"inputRequests"`
		Other      map[string]json.RawMessage `json:",embed"`
	}
	if err := into(raw, &r); err != nil {
		return nil, badResult(server, "%v", err)
	}
	if name := folded(r.Other, "content", "structuredContent", "isError", "resultType", "inputRequests"); name != "" {
		return nil, badResult(server, "its member %q differs from the protocol's in letter case", name)
	}
	if err := asksForInput(server, r.Type, r.Requests); err != nil {
		return nil, err
	}
	out := &host.MCPResult{IsError: r.IsError}
	if string(r.Structured) != "null" {
		out.Structured = bytes.Clone(r.Structured)
	}
	var err error
	if !r.IsError {
		redact = nil
	}
	out.Content, err = decodeContents(server, r.Content, redact)
	return out, err
}

func decodeContents(server string, raw json.RawMessage, redact func(string) string) ([]host.MCPContent, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	var items []json.RawMessage
	if err := into(raw, &items); err != nil {
		return nil, badResult(server, "content: %v", err)
	}
	if len(items) > maxContent {
		return nil, badResult(server, "content has more than %d items", maxContent)
	}
	out := make([]host.MCPContent, len(items))
	for i, item := range items {
		c, err := decodeContent(server, item, redact)
		if err != nil {
			return nil, err
		}
		out[i] = *c
	}
	return out, nil
}

// decodeContent takes the binary out of an item, and with redact secrets out of its text.
// All else stays as the server wrote it.
func decodeContent(server string, raw json.RawMessage, redact func(string) string) (*host.MCPContent, error) {
	v, err := schema.Decode(raw)
	if err != nil {
		return nil, badResult(server, "content: %v", err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, badResult(server, "a content item is no object")
	}
	if name := foldedAny(m, "type", "text", "data", "mimeType", "resource", "uri", "blob"); name != "" {
		return nil, badResult(server, "the member %q of a content item differs from the protocol's in letter case", name)
	}
	kind, ok := m["type"].(string)
	if !ok {
		return nil, badResult(server, "a content item has no type")
	}
	c := &host.MCPContent{}
	switch kind {
	case "text":
		if _, ok := m["text"].(string); !ok {
			return nil, badResult(server, "a text item has no text")
		}
	case "image", "audio":
		c.Kind = kind
		err = takeBinary(server, m, "data", c)
	case "resource":
		r, ok := m["resource"].(map[string]any)
		if !ok {
			return nil, badResult(server, "a resource item has no resource")
		}
		err = takeResource(server, r, c)
	case "resource_link":
		c.URI, _ = m["uri"].(string)
		c.MIMEType, _ = m["mimeType"].(string)
	}
	if err != nil {
		return nil, err
	}
	if text, ok := m["text"].(string); ok && redact != nil {
		m["text"] = redact(text)
	}
	c.JSON, err = marshal(m)
	return c, err
}

func takeResource(server string, r map[string]any, c *host.MCPContent) error {
	if name := foldedAny(r, "uri", "mimeType", "text", "blob"); name != "" {
		return badResult(server, "the member %q of a resource differs from the protocol's in letter case", name)
	}
	uri, ok := r["uri"].(string)
	if !ok {
		return badResult(server, "a resource has no uri")
	}
	c.URI = uri
	c.MIMEType, _ = r["mimeType"].(string)
	_, text := r["text"].(string)
	_, blob := r["blob"]
	switch {
	case blob && text:
		return badResult(server, "a resource has text and blob")
	case blob:
		c.Kind = "blob"
		return takeBinary(server, r, "blob", c)
	case !text:
		return badResult(server, "a resource has neither text nor blob")
	}
	return nil
}

// takeBinary moves base64 text out of m into c.
func takeBinary(server string, m map[string]any, key string, c *host.MCPContent) error {
	text, ok := m[key].(string)
	if !ok {
		return badResult(server, "%s is missing", key)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return badResult(server, "%s is no base64", key)
	}
	delete(m, key)
	c.Data = data
	if c.MIMEType == "" {
		c.MIMEType, _ = m["mimeType"].(string)
	}
	return nil
}

// marshal writes JSON without the escapes for HTML.
func marshal(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

func foldedAny(m map[string]any, known ...string) string {
	other := map[string]json.RawMessage{}
	for name := range m {
		other[name] = nil
	}
	for _, k := range known {
		delete(other, k)
	}
	return folded(other, known...)
}

func decodeResource(server string, raw json.RawMessage) ([]host.MCPContent, error) {
	var r struct {
		Contents json.RawMessage            `json:"contents"`
		Type     string                     `json:"resultType"`
		Requests json.RawMessage            `json:"inputRequests"`
		Other    map[string]json.RawMessage `json:",embed"`
	}
	if err := into(raw, &r); err != nil {
		return nil, badResult(server, "%v", err)
	}
	if name := folded(r.Other, "contents", "resultType", "inputRequests"); name != "" {
		return nil, badResult(server, "its member %q differs from the protocol's in letter case", name)
	}
	if err := asksForInput(server, r.Type, r.Requests); err != nil {
		return nil, err
	}
	var items []json.RawMessage
	if err := into(r.Contents, &items); err != nil || r.Contents[0] != '[' {
		return nil, badResult(server, "contents is no array")
	}
	if len(items) > maxContent {
		return nil, badResult(server, "contents has more than %d items", maxContent)
	}
	out := make([]host.MCPContent, len(items))
	for i, item := range items {
		// The contents of a resource are what a resource item holds.
		c, err := decodeContent(server, json.RawMessage(`{"type":"resource","resource":`+string(item)+`}`), nil)
		if err != nil {
			return nil, err
		}
		out[i] = *c
	}
	return out, nil
}

func decodePrompt(server string, raw json.RawMessage) (*host.MCPPrompt, error) {
	var r struct {
		Description string                     `json:"description"`
		Messages    json.RawMessage            `json:"messages"`
		Type        string                     `json:"resultType"`
		Requests    json.RawMessage            `json:"inputRequests"`
		Other       map[string]json.RawMessage `json:",embed"`
	}
	if err := into(raw, &r); err != nil {
		return nil, badResult(server, "%v", err)
	}
	if name := folded(r.Other, "description", "messages", "resultType", "inputRequests"); name != "" {
		return nil, badResult(server, "its member %q differs from the protocol's in letter case", name)
	}
	if err := asksForInput(server, r.Type, r.Requests); err != nil {
		return nil, err
	}
	var items []struct {
		Role    string                     `json:"role"`
		Content json.RawMessage            `json:"content"`
		Other   map[string]json.RawMessage `json:",embed"`
	}
	if err := into(r.Messages, &items); err != nil || r.Messages[0] != '[' {
		return nil, badResult(server, "messages is no array of messages")
	}
	if len(items) > maxContent {
		return nil, badResult(server, "messages has more than %d items", maxContent)
	}
	p := &host.MCPPrompt{Description: r.Description, Messages: make([]host.MCPMessage, len(items))}
	for i, item := range items {
		if name := folded(item.Other, "role", "content"); name != "" || item.Content == nil {
			return nil, badResult(server, "a message is not {role, content}")
		}
		c, err := decodeContent(server, item.Content, nil)
		if err != nil {
			return nil, err
		}
		p.Messages[i] = host.MCPMessage{Role: item.Role, Content: *c}
	}
	return p, nil
}

package gateway

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// Members of _meta that the gateway writes.
const (
	metaHandle = "io.cloister/handle" // of a content item: the handle that stands in the text
	metaCode   = "io.cloister/code"   // of a result: the code of a failure, for programs
)

// errorResult is a failure for the model.
func errorResult(text, code string) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	if code != "" {
		res.Meta = mcp.Meta{metaCode: code}
	}
	return res
}

// attached gives binaries as MCP content.
func attached(list []host.Attachment) []mcp.Content {
	out := make([]mcp.Content, 0, len(list))
	for _, a := range list {
		out = append(out, binary(a.Kind, a.MIMEType, a.URI, a.Data, mcp.Meta{metaHandle: a.Handle}))
	}
	return out
}

func binary(kind, mimeType, uri string, data []byte, meta mcp.Meta) mcp.Content {
	switch kind {
	case "image":
		return &mcp.ImageContent{Data: data, MIMEType: mimeType, Meta: meta}
	case "audio":
		return &mcp.AudioContent{Data: data, MIMEType: mimeType, Meta: meta}
	}
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mimeType, Blob: data}, Meta: meta}
}

// toolResult gives what a tool gave, as MCP has it. A tool of an MCP server keeps its
// own content; any other has its JSON as text, and as structured content where that
// is an object.
func toolResult(res *host.CallResult) *mcp.CallToolResult {
	out := &mcp.CallToolResult{}
	if res.Content != nil || res.Structured != nil {
		for i := range res.Content {
			out.Content = append(out.Content, upstream(&res.Content[i]))
		}
		if isObject(res.Structured) {
			out.StructuredContent = res.Structured
		}
		if out.Content == nil && res.Structured != nil {
			out.Content = []mcp.Content{&mcp.TextContent{Text: string(res.Structured)}}
		}
		return out
	}
	text := string(res.Value)
	var s string
	if json.Unmarshal(res.Value, &s) == nil {
		text = s
	}
	out.Content = append([]mcp.Content{&mcp.TextContent{Text: text}}, attached(res.Attachments)...)
	if isObject(res.Value) {
		out.StructuredContent = res.Value
	}
	return out
}

// upstream hands a content item of a server on. One of a kind that MCP does not have
// becomes text.
func upstream(c *host.MCPContent) mcp.Content {
	if c.Data != nil {
		return binary(c.Kind, c.MIMEType, c.URI, c.Data, nil)
	}
	// The SDK reads content items only as part of a result.
	wrapped, err := json.Marshal(map[string]any{"content": []json.RawMessage{c.JSON}})
	var res mcp.CallToolResult
	if err == nil && json.Unmarshal(wrapped, &res) == nil && len(res.Content) == 1 {
		return res.Content[0]
	}
	return &mcp.TextContent{Text: string(c.JSON)}
}

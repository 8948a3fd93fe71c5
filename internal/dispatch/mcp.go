package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/plainjson"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// CallMCP is the call of an MCP server's tool.
func CallMCP(client api.MCPClient, t *api.MCPTool) Invocation {
	return func(ctx context.Context, c *Call) (json.RawMessage, error) {
		res, err := client.CallTool(ctx, t, c.tc.Input, func(p api.MCPProgress) {
			ReportProgress(ctx, api.Progress{Done: p.Progress, Total: p.Total, Message: p.Message})
		})
		if err != nil {
			return nil, err
		}
		return c.mcpValue(res)
	}
}

// ListMCP is the call of resources/list and prompts/list.
func ListMCP(list func(ctx context.Context) (json.RawMessage, error)) Invocation {
	return func(ctx context.Context, _ *Call) (json.RawMessage, error) { return list(ctx) }
}

// ReadResource is the call of resources/read.
func ReadResource(client api.MCPClient) Invocation {
	return func(ctx context.Context, c *Call) (json.RawMessage, error) { return c.readResource(ctx, client) }
}

func (c *Call) readResource(ctx context.Context, client api.MCPClient) (json.RawMessage, error) {
	var in struct {
		URI string `json:"uri"`
	}
	if err := schema.DecodeInto(c.tc.Input, &in, &schema.DecodeOptions{Checked: true}); err != nil {
		return nil, &api.ToolError{Name: "TypeError", Message: err.Error(), Code: api.CodeInvalidInput}
	}
	items, err := client.ReadResource(ctx, in.URI)
	if err != nil {
		return nil, err
	}
	list, _, err := c.contentList(items)
	if err != nil {
		return nil, err
	}
	// A resource item is the contents with a type around them: MCP clients expect the contents.
	contents := make([]json.RawMessage, 0, len(list))
	for _, it := range list {
		var item struct {
			Resource json.RawMessage `json:"resource"`
		}
		if err := json.Unmarshal(it, &item); err != nil || item.Resource == nil {
			return nil, &api.ToolError{Message: "the server's resource has no contents", Code: api.CodeInvalidToolResult}
		}
		contents = append(contents, item.Resource)
	}
	c.mcp = &api.MCPResult{Content: items}
	return plainjson.Encode(map[string]any{"contents": contents})
}

// GetPrompt is the call of prompts/get.
func GetPrompt(client api.MCPClient) Invocation {
	return func(ctx context.Context, c *Call) (json.RawMessage, error) { return c.getPrompt(ctx, client) }
}

func (c *Call) getPrompt(ctx context.Context, client api.MCPClient) (json.RawMessage, error) {
	var in struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if err := schema.DecodeInto(c.tc.Input, &in, &schema.DecodeOptions{Checked: true}); err != nil {
		return nil, &api.ToolError{Name: "TypeError", Message: err.Error(), Code: api.CodeInvalidInput}
	}
	p, err := client.GetPrompt(ctx, in.Name, in.Arguments)
	if err != nil {
		return nil, err
	}
	type message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	out := struct {
		Description string    `json:"description,omitempty"`
		Messages    []message `json:"messages"`
	}{p.Description, []message{}}
	for i := range p.Messages {
		list, _, err := c.contentList([]api.MCPContent{p.Messages[i].Content})
		if err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, message{p.Messages[i].Role, list[0]})
	}
	return plainjson.Encode(out)
}

// maxContentItems bounds the items of one result.
const maxContentItems = 10_000

// contentList writes content items for a guest. Beside them, it returns the placeholders for the binaries in them.
func (c *Call) contentList(items []api.MCPContent) (list []json.RawMessage, placeholders []string, err error) {
	if len(items) > maxContentItems {
		return nil, nil, &api.ToolError{Message: fmt.Sprintf("the result has %d content items, more than %d", len(items), maxContentItems), Code: api.CodeToolOutputTooLarge}
	}
	list, placeholders = make([]json.RawMessage, len(items)), make([]string, len(items))
	for i := range items {
		if list[i], placeholders[i], err = c.root.files.contentJSON(c.run.d, &items[i]); err != nil {
			return nil, nil, &api.ToolError{Message: "the server's result cannot be read", Code: api.CodeInvalidToolResult}
		}
	}
	return list, placeholders, nil
}

// mcpValue is what a cell gets of an MCP tool's result. A failure is thrown.
func (c *Call) mcpValue(res *api.MCPResult) (json.RawMessage, error) {
	if res.IsError {
		return nil, &api.ToolError{Message: errorText(res), Code: api.CodeMCPToolError}
	}
	if c.ref.Structured != nil {
		if res.Structured == nil {
			return nil, &api.ToolError{Message: "the tool declares an output schema and gave no structuredContent", Code: api.CodeInvalidToolResult}
		}
		if err := checkJSON(c.ref.Structured, res.Structured, "result (structuredContent)"); err != nil {
			return nil, err
		}
	}
	list, placeholders, err := c.contentList(res.Content)
	if err != nil {
		return nil, err
	}
	c.mcp = res // with structuredContent as the server gave it
	return plainjson.Encode(struct {
		Structured json.RawMessage   `json:"structuredContent,omitempty"`
		Content    []json.RawMessage `json:"content"`
	}{withoutBinaries(res.Structured, res.Content, placeholders), list})
}

// errorText is what a failed tool says.
func errorText(res *api.MCPResult) string {
	var b strings.Builder
	for i := range res.Content {
		var item struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(res.Content[i].JSON, &item) != nil || item.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(plaintext.Clip(item.Text, maxErrorText))
		if b.Len() > maxErrorText {
			break
		}
	}
	if b.Len() == 0 {
		return "the tool reported an error without a text"
	}
	return plaintext.Clip(b.String(), maxErrorText)
}

// maxErrorText bounds what is read of a tool's error, in bytes.
const maxErrorText = 8 << 10

package host

import (
	"context"
	"encoding/json"

	"github.com/cloister-wasm/cloister/api"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// mcpPseudoTools are resources and prompts of a server as entries of the catalog, so
// that policy, approvals and trace hold for them too.
func mcpPseudoTools(s *mcpServer) []catalog.Entry {
	var out []catalog.Entry
	add := func(name, description, parameters string, invoke func(ctx context.Context, c *call) (json.RawMessage, error)) {
		ref := &toolRef{approval: s.Approval, mcp: true, invoke: invoke}
		out = append(out, catalog.Entry{
			Name: name, Description: description, Source: catalog.SourceMCP, Owner: s.Name, Tier: catalog.MCP,
			Parameters: json.RawMessage(parameters), Ref: ref,
		})
	}
	if s.Resources {
		add("resources/list", "Lists the resources and resource templates of the MCP server "+s.Name+".", `{"type":"object","additionalProperties":false}`,
			func(ctx context.Context, _ *call) (json.RawMessage, error) {
				return s.Client.ListResources(ctx)
			})
		add("resources/read", "Reads a resource of the MCP server "+s.Name+".",
			`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"],"additionalProperties":false}`, s.readResource)
	}
	if s.Prompts {
		add("prompts/list", "Lists the prompts of the MCP server "+s.Name+".", `{"type":"object","additionalProperties":false}`,
			func(ctx context.Context, _ *call) (json.RawMessage, error) {
				return s.Client.ListPrompts(ctx)
			})
		add("prompts/get", "Gives a prompt of the MCP server "+s.Name+" with its arguments filled in.",
			`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}},"required":["name"],"additionalProperties":false}`, s.getPrompt)
	}
	return out
}

func (s *mcpServer) readResource(ctx context.Context, c *call) (json.RawMessage, error) {
	var in struct {
		URI string `json:"uri"`
	}
	if err := schema.DecodeInto(c.tc.Input, &in, &schema.DecodeOptions{Checked: true}); err != nil {
		return nil, &api.ToolError{Name: "TypeError", Message: err.Error(), Code: "invalid_input"}
	}
	items, err := s.Client.ReadResource(ctx, in.URI)
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
			return nil, &api.ToolError{Message: "the server's resource has no contents", Code: "invalid_tool_result"}
		}
		contents = append(contents, item.Resource)
	}
	c.mcp = &api.MCPResult{Content: items}
	return json.Marshal(map[string]any{"contents": contents})
}

func (s *mcpServer) getPrompt(ctx context.Context, c *call) (json.RawMessage, error) {
	var in struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if err := schema.DecodeInto(c.tc.Input, &in, &schema.DecodeOptions{Checked: true}); err != nil {
		return nil, &api.ToolError{Name: "TypeError", Message: err.Error(), Code: "invalid_input"}
	}
	p, err := s.Client.GetPrompt(ctx, in.Name, in.Arguments)
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
	return json.Marshal(out)
}

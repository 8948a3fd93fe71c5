package toolset

import (
	"encoding/json"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/dispatch"
)

// mcpPseudoTools are resources and prompts of a server as entries of the catalog, so
// that policy, approvals and trace hold for them too.
func mcpPseudoTools(s *mcpServer) []catalog.Entry {
	var out []catalog.Entry
	add := func(name, description, parameters string, invoke dispatch.Invocation) {
		ref := &dispatch.Tool{Approval: s.Approval, MCP: true, Invoke: invoke}
		out = append(out, catalog.Entry{
			Name: name, Description: description, Source: catalog.SourceMCP, Owner: s.Name, Tier: catalog.MCP,
			Parameters: json.RawMessage(parameters), Ref: ref,
		})
	}
	if s.Resources {
		add("resources/list", "Lists the resources and resource templates of the MCP server "+s.Name+".", `{"type":"object","additionalProperties":false}`,
			dispatch.ListMCP(s.Client.ListResources))
		add("resources/read", "Reads a resource of the MCP server "+s.Name+".",
			`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"],"additionalProperties":false}`, dispatch.ReadResource(s.Client))
	}
	if s.Prompts {
		add("prompts/list", "Lists the prompts of the MCP server "+s.Name+".", `{"type":"object","additionalProperties":false}`,
			dispatch.ListMCP(s.Client.ListPrompts))
		add("prompts/get", "Gives a prompt of the MCP server "+s.Name+" with its arguments filled in.",
			`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}},"required":["name"],"additionalProperties":false}`, dispatch.GetPrompt(s.Client))
	}
	return out
}

package host

import (
	"github.com/cloister-wasm/cloister/api"
)

// MCPServer is an MCP server as the host sees it: what it offers, and the way to
// call it. Package host/mcp connects to real ones.
type MCPServer struct {
	// Name is the owner in catalog ids, "mcp:<Name>:<tool>", and in policies.
	Name string
	// Tools are the tools that the server lists. All texts in them are by the server.
	Tools []api.MCPTool
	// Instructions is what the server says of itself to a model, empty if it says nothing: a text of the server's as
	// descriptions are. Cells read it at the head of the server's declaration, never in a prompt. Options.Lock holds it too.
	Instructions string
	// Resources and Prompts say that the server has such: MCP.<server>.resources and
	// MCP.<server>.prompts.
	Resources, Prompts bool
	// Approval is that of resources and prompts.
	Approval api.Approval
	// Client makes the calls. It must be safe for concurrent use.
	Client api.MCPClient
	// Err says why the server is not available; it then has no tools, and is named
	// in Host.MCPStatus.
	Err error
}
